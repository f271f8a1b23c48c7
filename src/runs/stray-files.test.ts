import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { tempDir } from '../testing/fakes.ts';
import { removeStrays } from './stray-files.ts';

test('a write under way stays where the clock was an hour ahead at the start', async () => {
  await using dir = await tempDir();
  const sessions = join(dir.path, 'users', 'u', 'sessions');
  await mkdir(sessions, { recursive: true });
  const name = '.0123456789abcdef.tmp';
  await writeFile(join(sessions, name), 'half');
  vi.spyOn(performance, 'timeOrigin', 'get').mockReturnValue(performance.timeOrigin + 3_600_000);
  onTestFinished(() => void vi.restoreAllMocks());
  await removeStrays(dir.path, false);
  expect(await readdir(sessions)).toEqual([name]);
  await removeStrays(dir.path, true);
  expect(await readdir(sessions)).toEqual([]);
});
