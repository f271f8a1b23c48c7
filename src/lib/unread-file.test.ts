import { expect, test } from 'vitest';
import { unreadFileResult } from './unread-file.ts';

test.each([
  ['ENOENT', 'the attachment is not there any more'],
  ['ENOTDIR', 'the attachment is not there any more'],
  ['EISDIR', 'the attachment is not a file'],
  ['EACCES', 'the attachment may not be read by the user that the daemon runs as'],
  ['EPERM', 'the attachment may not be read by the user that the daemon runs as'],
  ['ELOOP', 'the attachment is a symbolic link that leads back to itself'],
  ['ENAMETOOLONG', 'the attachment has a path that is too long'],
  ['ERR_FS_FILE_TOO_LARGE', 'the attachment is too large to be read'],
])('a file that %s stands against is refused at once, for it will be so the next time', (code, detail) => {
  expect(unreadFileResult(code, 'the attachment')).toEqual({ kind: 'refused', reason: 'invalid', detail });
});

test.each(['EMFILE', 'ENFILE', 'EIO', 'EAGAIN', 'EBUSY', 'ENOMEM', 'ESTALE', 'ETIMEDOUT', 'a code of tomorrow'])(
  'a file that cannot be read for %s is sent later',
  (code) => {
    const reason = `the copy of a.txt cannot be read now (${code})`;
    expect(unreadFileResult(code, 'the copy of a.txt')).toEqual({ kind: 'retry', reason, scope: 'part' });
  },
);
