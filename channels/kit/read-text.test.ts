import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readText } from './read-text.ts';

test('a letter that two pieces share is read whole', async () => {
  const bytes = Buffer.from('schön');
  expect(await readText(Readable.from([bytes.subarray(0, 4), bytes.subarray(4)]), 6)).toBe('schön');
});

test('A9 an answer without end is left at the limit, and its connection is closed', async () => {
  const endless = Readable.from(
    (function* () {
      for (;;) yield Buffer.alloc(1_024);
    })(),
  );
  await expect(readText(endless, 10_000)).rejects.toMatchObject({ code: 'ANSWER_TOO_LARGE' });
  expect(endless.destroyed).toBe(true);
});

test('an answer that breaks off is no answer', async () => {
  const broken = new Readable({ read: () => broken.destroy(new Error('ECONNRESET')) });
  await expect(readText(broken, 10)).rejects.toThrow('ECONNRESET');
});
