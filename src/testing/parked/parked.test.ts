import { expect, onTestFinished, test, vi } from 'vitest';
import type { ToolKit } from '../../core/tool.ts';
import { garbageCollector } from '../garbage.ts';
import { waitingTools } from '../waiting-tools.ts';
import { missedOf } from './judge.ts';
import { measureParked } from './measure.ts';

// The figures of ten thousand are `npm run soak:parked`'s.
test('parked runs hold no turn, no lane and no timer, and each goes on when its wait is over', async () => {
  const figures = await measureParked(150, { rounds: 1 });
  expect(figures).toMatchObject({ parked: 150, held: 0 });
  // The process itself may hold one at the moment of the look; one for each run would be 150.
  expect(figures.timers).toBeLessThan(10);
  // Each of them was answered, also in a chat whose own run waits for the owner. How soon, the soak compares.
  expect(Math.min(figures.quietP95, figures.othersP95, figures.askedP95)).toBeGreaterThan(0);
});

test('a tool that keeps something for each parked run is caught', async () => {
  vi.stubGlobal('gc', garbageCollector());
  onTestFinished(() => void vi.unstubAllGlobals());
  const kept: (readonly string[])[] = [];
  const tools: ToolKit = (scope) => {
    kept.push(Array.from({ length: 10_000 }, () => scope.session));
    return waitingTools(scope);
  };
  const figures = await measureParked(40, { rounds: 1, tools });
  expect(kept.length).toBeGreaterThanOrEqual(80);
  expect(missedOf(figures)).toContain('more than 2 kB of the heap each');
});
