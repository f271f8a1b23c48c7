import { expect, test } from 'vitest';
import { leastCpuMs } from '../../testing/cpu-time.ts';
import { sentIds } from './call-ids.ts';
import type { Step } from './history.ts';

test('three thousand calls that the provider gave one id are told apart at once', () => {
  const call = { providerIds: ['call_0'], name: 'echo', arguments: '{}', result: 'r', images: [] };
  const calls = Array.from({ length: 3_000 }, (_, n) => ({ ...call, id: `call_${n}` }));
  const steps: readonly Step[] = [{ role: 'assistant', text: '', state: {}, calls }];
  const ids = () => [...sentIds(steps, { accepts: /^\w{1,40}$/, length: 9 }).values()];
  expect(new Set(ids()).size).toBe(3_000);
  expect(leastCpuMs(300, ids)).toBeLessThan(300);
});
