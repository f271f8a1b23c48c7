import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { FakeClock, MemoryLogger } from '../testing/fakes.ts';
import { releaseMemory } from './release-memory.ts';

const RELEASE = { type: 'major', execution: 'sync', flavor: 'last-resort' };

const MIB = 1024 * 1024;

/** A heap that holds `held` MiB until it is collected, and then 40. */
function scene(isAtRest: () => boolean) {
  const collected: unknown[] = [];
  const heap = { held: 40 };
  const clock = new FakeClock();
  const stop = new AbortController();
  const collect = ((options: unknown) => {
    collected.push(options);
    heap.held = 40;
  }) as unknown as NonNullable<typeof globalThis.gc>;
  const done = releaseMemory({
    clock,
    logger: new MemoryLogger(),
    isAtRest,
    signal: stop.signal,
    collect,
    held: () => heap.held * MIB,
  });
  return { collected, heap, clock, stop, done };
}

test('memory of the start is given back once, at the first ten seconds without a turn', async () => {
  let atRest = false;
  const { collected, clock } = scene(() => atRest);
  await clock.advance(5_000);
  expect(collected).toEqual([]);
  atRest = true;
  await clock.advance(9_000);
  expect(collected).toEqual([]);
  await clock.advance(1_000);
  expect(collected).toEqual([RELEASE]);
  await clock.advance(3_600_000);
  expect(collected).toEqual([RELEASE]);
});

test('messages that follow each other are no rest, though nothing runs between them', async () => {
  let looks = 0;
  const { collected, heap, clock } = scene(() => {
    looks += 1;
    return looks % 90 !== 0;
  });
  await clock.advance(120_000);
  expect([looks > 1_000, collected]).toEqual([true, []]);
  heap.held = 100;
  await clock.advance(400_000);
  expect([looks > 4_000, collected]).toEqual([true, []]);
});

test('what each burst leaves is given back at the rest that follows it', async () => {
  let atRest = true;
  const { collected, heap, clock } = scene(() => atRest);
  await clock.advance(10_000);
  for (let burst = 1; burst <= 3; burst += 1) {
    atRest = false;
    heap.held = 100;
    await clock.advance(60_000);
    expect(collected.length).toBe(burst);
    atRest = true;
    await clock.advance(16_000);
    expect(collected.length).toBe(burst + 1);
  }
});

test('a heap that grew little, or that V8 has shrunk meanwhile, is left alone', async () => {
  const { collected, heap, clock } = scene(() => true);
  await clock.advance(10_000);
  heap.held = 71;
  await clock.advance(60_000);
  heap.held = 100;
  await clock.advance(8_000);
  heap.held = 45;
  await clock.advance(60_000);
  expect(collected).toEqual([RELEASE]);
});

test('a daemon that works all the time, and one that stops, are left alone', async () => {
  const busy = scene(() => false);
  await busy.clock.advance(301_000);
  expect(busy.collected).toEqual([]);
  busy.stop.abort(new Error('stopping'));
  await busy.done;
  const stopped = scene(() => true);
  stopped.stop.abort(new Error('stopping'));
  await stopped.done;
  expect([busy.collected, stopped.collected]).toEqual([[], []]);
});

test('the V8 of this Node knows the flag by which compilers are freed at once', () => {
  const flags = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8', maxBuffer: 8 * 1024 * 1024 });
  expect(flags).toContain('--maglev-destroy-on-background ');
});
