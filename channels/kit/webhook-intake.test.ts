import { expect, test } from 'vitest';
import type { WebhookRequest } from '../../src/core/channel.ts';
import { FakeClock, MemoryLogger } from '../../src/testing/fakes.ts';
import { answerWith, createWebhookIntake, refusedRequest, type WebhookContent } from './webhook-intake.ts';

const REQUEST: WebhookRequest = {
  method: 'POST',
  target: '/hooks/x',
  query: new URLSearchParams(),
  headers: {},
  body: Buffer.alloc(0),
};

function scene(content: WebhookContent, options: { signal?: AbortSignal } = {}) {
  const [clock, logger] = [new FakeClock(), new MemoryLogger()];
  const errors: unknown[] = [];
  const handle = createWebhookIntake({
    read: () => content,
    holdMs: 2_500,
    refused: { status: 401, event: 'x.refused' },
    onNotStored: (error) => errors.push(error),
    ...{ ...options, clock, logger },
  });
  const caller = new AbortController();
  return { clock, logger, errors, caller, ask: () => handle(REQUEST, caller.signal) };
}

const LATER = { status: 503, headers: { 'retry-after': '5' } };

test('F1 messages are acknowledged once they are durable, and not before', async () => {
  const gate = Promise.withResolvers<void>();
  const { ask } = scene({ kind: 'messages', store: () => gate.promise });
  let answered = false;
  const asked = ask().finally(() => {
    answered = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(answered).toBe(false);
  gate.resolve();
  expect(await asked).toEqual({ status: 200 });
});

test('F1 what is not stored in time, or not at all, is left with the platform', async () => {
  const slow = scene({ kind: 'messages', store: () => new Promise(() => undefined) });
  const asked = slow.ask();
  await slow.clock.advance(2_500);
  expect(await asked).toEqual(LATER);
  const broken = scene({ kind: 'messages', store: () => Promise.reject(new Error('disk full')) });
  expect([await broken.ask(), broken.errors]).toEqual([LATER, [new Error('disk full')]]);
  expect(await scene({ kind: 'messages', store: async () => false }).ask()).toEqual(LATER);
  expect(await scene({ kind: 'later' }).ask()).toEqual(LATER);
});

test('a caller that hangs up ends the wait, unless the channel waits by a signal of its own', async () => {
  const gate = Promise.withResolvers<void>();
  const content: WebhookContent = { kind: 'messages', store: () => gate.promise };
  const [gone, held] = [scene(content), scene(content, { signal: new AbortController().signal })];
  const [first, second] = [gone.ask(), held.ask()];
  gone.caller.abort(new Error('hung up'));
  held.caller.abort(new Error('hung up'));
  expect(await first).toEqual(LATER);
  gate.resolve();
  expect(await second).toEqual({ status: 200 });
});

test('A9 a refused request learns its status alone, and the log is not filled', async () => {
  const { ask, logger } = scene(refusedRequest('the signature is wrong'));
  for (let time = 0; time < 50; time += 1) expect(await ask()).toEqual({ status: 401 });
  expect(logger.lines.map(({ event, data }) => [event, data['reason']])).toEqual([['x.refused', 'the signature is wrong']]);
});

test('what needs no commit is answered as it is', async () => {
  expect(await scene(answerWith(200, 'hello', { 'content-type': 'text/plain' })).ask()).toEqual({
    status: 200,
    body: 'hello',
    headers: { 'content-type': 'text/plain' },
  });
  expect(await scene(answerWith(405)).ask()).toEqual({ status: 405 });
});
