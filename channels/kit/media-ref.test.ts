import { expect, test } from 'vitest';
import { mediaRef } from './media-ref.ts';

test('what is unknown is left out, and a name is no longer than a file system holds', () => {
  const unknown = { name: undefined, mime: undefined, size: undefined };
  expect(mediaRef({ kind: 'photo', ref: 'f1', ...unknown })).toEqual({ kind: 'photo', ref: 'f1' });
  expect(mediaRef({ kind: 'document', ref: 'f1', name: 'n'.repeat(300), mime: 'text/plain', size: 0 })).toEqual({
    ...{ kind: 'document', ref: 'f1', mime: 'text/plain', size: 0 },
    name: 'n'.repeat(255),
  });
});
