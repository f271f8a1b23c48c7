import { expect, test } from 'vitest';
import { readAtMost } from './read-at-most.ts';

test('a body within the limit is read whole, and no body is an empty one', async () => {
  const { bytes, complete } = await readAtMost(new Response('12345').body, 5);
  expect([bytes.toString(), complete]).toEqual(['12345', true]);
  expect(await readAtMost(null, 5)).toEqual({ bytes: Buffer.alloc(0), complete: true });
});

test('F28 a body above the limit is cut there and cancelled', async () => {
  let cancelled = false;
  let pulls = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      pulls += 1;
      controller.enqueue(Buffer.from('abc'));
    },
    cancel: () => {
      cancelled = true;
    },
  });
  const { bytes, complete } = await readAtMost(endless, 5);
  expect([bytes.toString(), complete, cancelled]).toEqual(['abcab', false, true]);
  expect(pulls).toBeLessThan(5);
});
