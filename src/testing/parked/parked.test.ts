import { expect, test } from 'vitest';
import { measureParked } from './measure.ts';

// The figures of ten thousand are `npm run soak:parked`'s.
test('parked runs hold no turn, no lane and no timer, and each goes on when its wait is over', async () => {
  const figures = await measureParked(150, 1);
  expect(figures).toMatchObject({ parked: 150, held: 0 });
  // The process itself may hold one at the moment of the look; one for each run would be 150.
  expect(figures.timers).toBeLessThan(10);
  // Each of them was answered, also in a chat whose own run waits for the owner. How soon, the soak compares.
  expect(Math.min(figures.quietP95, figures.othersP95, figures.askedP95)).toBeGreaterThan(0);
});
