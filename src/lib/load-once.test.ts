import { expect, test } from 'vitest';
import { loadOnce } from './load-once.ts';

test('what was loaded is kept, also while it is loading, and a failure is not', async () => {
  let calls = 0;
  const load = loadOnce(async () => {
    calls += 1;
    if (calls === 1) throw new Error('no descriptor');
    return calls;
  });
  expect((await Promise.allSettled([load(), load()])).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await Promise.all([load(), load()])).toEqual([2, 2]);
  expect(await load()).toBe(2);
});
