import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import type { SendResult } from '../../src/core/channel.ts';
import { TestHost } from '../../src/testing/channel-host.ts';
import { FakeClock } from '../../src/testing/fakes.ts';
import { DeadlineError } from './deadline.ts';
import { Lifecycle, NOT_LEFT, Sends } from './lifecycle.ts';

const SENT: SendResult = { kind: 'sent', platformId: '1' };
const { signal } = new AbortController();
const aborted = (inner: AbortSignal): Promise<void> =>
  new Promise((resolve) => inner.addEventListener('abort', () => resolve(), { once: true }));
const states = (host: TestHost): readonly string[] => host.states.map(({ state }) => state);

test('a start resolves once settled, and lives on until the stop, which closes last', async () => {
  const [life, host] = [new Lifecycle(), new TestHost()];
  const order: string[] = [];
  await life.start(host, signal, async (inner, settled) => {
    settled();
    await aborted(inner);
    order.push('live ended');
  });
  expect(life.host).toBe(host);
  await life.stop(() => void order.push('closed'));
  await life.stop(() => undefined);
  expect(order).toEqual(['live ended', 'closed']);
  expect([life.host, states(host)]).toEqual([undefined, ['starting', 'stopped']]);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

test('a channel is started once: not again, and not after a stop', async () => {
  const [life, host] = [new Lifecycle(), new TestHost()];
  await life.start(host, signal, async () => undefined);
  await expect(life.start(host, signal, async () => undefined)).rejects.toMatchObject({ code: 'GH1004' });
  const stopped = new Lifecycle();
  await stopped.stop(() => undefined);
  await expect(stopped.start(host, signal, async () => undefined)).rejects.toMatchObject({ code: 'GH1004' });
});

test('a start that is aborted rejects with the reason', async () => {
  const abort = new AbortController();
  const started = new Lifecycle().start(new TestHost(), abort.signal, (inner) => aborted(inner));
  abort.abort(new Error('no longer wanted'));
  await expect(started).rejects.toThrow('no longer wanted');
});

test('a life that breaks is told to the host as a defect, and the stop still closes', async () => {
  const [life, host] = [new Lifecycle(), new TestHost()];
  const defect = new TypeError('undefined is not a function');
  await life.start(host, signal, () => Promise.reject(defect));
  expect(host.failures).toEqual([defect]);
  let closed = false;
  await life.stop(() => {
    closed = true;
  });
  expect(closed).toBe(true);
});

test('a stop waits for sends under way and lets none leave that comes after it', async () => {
  const life = new Lifecycle();
  const gate = Promise.withResolvers<SendResult>();
  const sending = life.sends.run(signal, () => gate.promise);
  let closed = false;
  const stopping = life.stop(() => {
    closed = true;
  });
  expect(await life.sends.run(signal, () => Promise.reject(new Error('must not leave')))).toMatchObject({
    kind: 'retry',
    scope: 'account',
  });
  expect(closed).toBe(false);
  gate.resolve(SENT);
  expect(await sending).toEqual(SENT);
  await stopping;
  expect(closed).toBe(true);
});

test('nothing leaves after an abort', async () => {
  const left = () => Promise.reject(new Error('must not leave'));
  expect(await new Sends().run(AbortSignal.abort(), left)).toEqual(NOT_LEFT);
});

test('a call ends with its caller, with the channel and at its deadline, and leaves nothing on either signal', async () => {
  const [life, clock, caller] = [new Lifecycle(), new FakeClock(), new AbortController()];
  const call = (): Promise<never> => life.call({ clock, ms: 500, signal: caller.signal }, () => new Promise(() => undefined));
  const late = expect(call()).rejects.toThrow(DeadlineError);
  await clock.advance(500);
  await late;
  expect([getEventListeners(life.stopping, 'abort'), getEventListeners(caller.signal, 'abort')]).toEqual([[], []]);
  const stopped = expect(call()).rejects.toThrow('channel stopped');
  await life.stop(() => undefined);
  await stopped;
});
