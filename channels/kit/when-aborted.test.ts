import { test } from 'vitest';
import { whenAborted } from './when-aborted.ts';

test('the end of a signal is waited for, also of one that ended before', async () => {
  const stop = new AbortController();
  const waiting = whenAborted(stop.signal);
  stop.abort();
  await waiting;
  await whenAborted(stop.signal);
});
