import { expect, test } from 'vitest';
import { FakeClock } from '../../testing/fakes.ts';
import { paidModel } from '../../testing/paid-model.ts';
import { SlotState } from './slot.ts';

test('a slot is as dear as its model is on the day', async () => {
  const clock = new FakeClock(Date.parse('2026-01-01'));
  const later = { from: '2026-01-02', price: { in: 8, out: 40 } };
  const slot = new SlotState({ model: paidModel([], { price: { in: 4, out: 20, later } }) }, { clock });
  expect(slot.cost).toBe(8);
  await clock.advance(24 * 3_600_000);
  expect(slot.cost).toBe(16);
});
