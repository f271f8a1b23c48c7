import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../testing/fakes.ts';
import { removeWorkspace, sessionWorkspace } from './workspace.ts';

test('what a call was killed at is removed by the next one, and nothing of another session', async () => {
  await using dir = await tempDir();
  const [gone, other] = [sessionWorkspace(dir.path, 'test:1#work'), sessionWorkspace(dir.path, 'test:1#home')];
  await mkdir(`${gone}.gone-killed`);
  await writeFile(`${gone}.gone-killed/secret`, 'x');
  await removeWorkspace(dir.path, 'test:1#work');
  expect(await readdir(dirname(gone))).toEqual([other.slice(dirname(gone).length + 1)]);
  await mkdir(`${gone}.gone-killed`);
  // Also where nothing has its name any more.
  await removeWorkspace(dir.path, 'test:1#work');
  expect(existsSync(`${gone}.gone-killed`)).toBe(false);
});
