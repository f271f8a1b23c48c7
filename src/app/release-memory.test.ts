import { expect, test } from 'vitest';
import { FakeClock } from '../testing/fakes.ts';
import { releaseMemory } from './release-memory.ts';

function scene(isAtRest: () => boolean) {
  const collected: unknown[] = [];
  const clock = new FakeClock();
  const stop = new AbortController();
  const collect = ((options: unknown) => void collected.push(options)) as unknown as NonNullable<typeof globalThis.gc>;
  const done = releaseMemory({ clock, isAtRest, signal: stop.signal, collect });
  return { collected, clock, stop, done };
}

test('memory of the start is given back once, at the first ten seconds without a turn', async () => {
  let atRest = false;
  const { collected, clock, done } = scene(() => atRest);
  await clock.advance(5_000);
  expect(collected).toEqual([]);
  atRest = true;
  await clock.advance(9_000);
  expect(collected).toEqual([]);
  await clock.advance(1_000);
  await done;
  await clock.advance(60_000);
  expect(collected).toEqual([{ type: 'major', execution: 'sync', flavor: 'last-resort' }]);
});

test('messages that follow each other are no rest, though nothing runs between them', async () => {
  let looks = 0;
  const { collected, clock } = scene(() => {
    looks += 1;
    return looks % 90 !== 0;
  });
  await clock.advance(120_000);
  expect([looks > 1_000, collected]).toEqual([true, []]);
});

test('a daemon that works all the time, and one that stops, are left alone', async () => {
  const busy = scene(() => false);
  await busy.clock.advance(301_000);
  await busy.done;
  const stopped = scene(() => true);
  stopped.stop.abort(new Error('stopping'));
  await stopped.done;
  expect([busy.collected, stopped.collected]).toEqual([[], []]);
});
