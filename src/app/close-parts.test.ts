import { expect, test } from 'vitest';
import { FakeClock, MemoryLogger } from '../testing/fakes.ts';
import { closeParts, stopWork } from './close-parts.ts';

const never = () => new Promise<void>(() => undefined);

function scene(hangs: readonly string[]) {
  const [clock, logger, closed] = [new FakeClock(0), new MemoryLogger(), [] as string[]];
  const part = (name: string): AsyncDisposable => ({
    [Symbol.asyncDispose]: async () => {
      closed.push(name);
      if (hangs.includes(name)) await never();
    },
  });
  const stop = async () => {
    closed.push('turns');
    if (hangs.includes('turns')) await never();
  };
  const parts = { journal: part('journal'), channels: part('channels'), models: part('models') };
  const late = () =>
    logger.lines.filter(({ event }) => event === 'close.late').map(({ data }) => [data?.['part'], data?.['code']]);
  return { clock, closed, late, done: closeParts({ stop, parts, graceMs: 15_000, clock, logger }) };
}

const ALL = ['turns', 'models', 'channels', 'journal'];

test('work stops first, then the parts close in reverse, without a wait', async () => {
  const at = scene([]);
  await at.done;
  expect([at.closed, at.late(), at.clock.now()]).toEqual([ALL, [], 0]);
});

test('a part that hangs is named, and those after it are closed all the same', async () => {
  const at = scene(['channels']);
  await at.clock.advance(18_000);
  await at.done;
  expect([at.closed, at.late()]).toEqual([ALL, [['channels', 'GH1006']]]);
});

test('when everything hangs the end comes before the service manager kills', async () => {
  const at = scene(ALL);
  for (const ms of [18_000, 250, 250, 250]) await at.clock.advance(ms);
  await at.done;
  expect(at.late().map(([part]) => part)).toEqual(ALL);
  // TimeoutStopSec of the unit is 20 s.
  expect(at.clock.now()).toBe(18_750);
});

test('what begins work may wait for a turn: both are told to end', async () => {
  const [told, turnEnded] = [[] as string[], Promise.withResolvers<void>()];
  const erasing: AsyncDisposable = {
    [Symbol.asyncDispose]: async () => {
      told.push('erasing');
      await turnEnded.promise;
      told.push('erasing ended');
    },
  };
  const stop = async () => {
    told.push('turns');
    turnEnded.resolve();
  };
  // One after the other they would wait for ever.
  await Promise.race([stopWork([erasing], stop), new Promise((resolve) => setTimeout(resolve, 1_000))]);
  expect(told).toEqual(['erasing', 'turns', 'erasing ended']);
});

test('turns are stopped also where what begins work fails to end', async () => {
  const told: string[] = [];
  const ticker: AsyncDisposable = { [Symbol.asyncDispose]: () => Promise.reject(new Error('the ticker broke')) };
  await expect(stopWork([ticker], async () => void told.push('turns'))).rejects.toThrow('the ticker broke');
  expect(told).toEqual(['turns']);
});
