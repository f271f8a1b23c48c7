import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../../../src/testing/fakes.ts';
import { LoginStore, RECEIVED } from './store.ts';

const DAY_MS = 24 * 3_600_000;

test('messages are forgotten after 15 days, also by a daemon that is never restarted', async () => {
  await using dir = await tempDir();
  using store = await LoginStore.open(join(dir.path, 'login.db'), { create: true, now: 100 * DAY_MS });
  const there = () => [store?.received('in') !== undefined, store?.sent('out') !== undefined];
  store?.write({ [RECEIVED]: { in: Buffer.from('in') } }, 100 * DAY_MS);
  store?.keepSent('out', Buffer.from('out'), 100 * DAY_MS);
  store?.write({ session: { a: 1 } }, 115 * DAY_MS);
  expect(there()).toEqual([true, true]);
  store?.write({ session: { a: 2 } }, 116 * DAY_MS);
  expect(there()).toEqual([false, false]);
});
