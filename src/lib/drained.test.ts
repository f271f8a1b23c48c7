import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { drained } from './drained.ts';

test('a wait for a stream ends when it takes more, or with it, and leaves no listener', async () => {
  let taken = (): void => undefined;
  const stream = new Writable({
    highWaterMark: 1,
    write: (_chunk, _encoding, done) => {
      taken = done;
    },
  });
  const before = stream.listenerCount('close');
  expect(stream.write('a')).toBe(false);
  const first = drained(stream);
  taken();
  await first;
  expect([stream.listenerCount('close'), stream.listenerCount('drain')]).toEqual([before, 0]);
  stream.write('b');
  const last = drained(stream);
  stream.destroy();
  await last;
  expect([stream.listenerCount('close'), stream.listenerCount('drain')]).toEqual([before, 0]);
});
