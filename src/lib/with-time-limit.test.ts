import { getEventListeners } from 'node:events';
import { setImmediate as nextTick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { FakeClock } from '../testing/fakes.ts';
import { collectGarbage } from '../testing/garbage.ts';
import { withTimeLimit } from './with-time-limit.ts';

test('an adapter that leaves a listener on the signal of a send leaves nothing on the one that lives as long as delivery', async () => {
  const { signal } = new AbortController();
  const left: WeakRef<AbortSignal>[] = [];
  for (let n = 0; n < 100; n += 1) {
    const send = async (limit: AbortSignal): Promise<string> => {
      left.push(new WeakRef(limit));
      limit.addEventListener('abort', () => limit.reason);
      await nextTick();
      return 'sent';
    };
    expect(await withTimeLimit(send, 30_000, { clock: new FakeClock(), signal })).toBe('sent');
  }
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  const held = () => left.filter((ref) => ref.deref() !== undefined).length;
  await collectGarbage(() => held() < 10);
  expect(held()).toBeLessThan(10);
});

test('a call ends with the signal of its caller, or after its time and a second of grace', async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const reasons: unknown[] = [];
  const hang = (limit: AbortSignal): Promise<never> => {
    limit.addEventListener('abort', () => reasons.push(limit.reason));
    return new Promise(() => undefined);
  };
  const late = withTimeLimit(hang, 1_000, { clock, signal: stop.signal });
  await clock.advance(2_000);
  expect(await late).toBeUndefined();
  const stopped = withTimeLimit(hang, 1_000, { clock, signal: stop.signal });
  stop.abort('the end');
  await clock.advance(1_000);
  expect(await stopped).toBeUndefined();
  expect(reasons).toEqual([new Error('time limit'), 'the end']);
});
