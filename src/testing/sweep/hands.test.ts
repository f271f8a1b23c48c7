import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { tempDir } from '../fakes.ts';
import { leftRunning } from './hands.ts';

it('a program that works in the directory is found, also where its arguments do not name it', async () => {
  await using dir = await tempDir();
  const child = spawn('sleep', ['60'], { cwd: dir.path, stdio: 'ignore' });
  await once(child, 'spawn');
  const other = spawn('sleep', ['60'], { cwd: '/', stdio: 'ignore' });
  await once(other, 'spawn');
  const found = leftRunning(dir.path);
  child.kill('SIGKILL');
  other.kill('SIGKILL');
  expect(found).toEqual([expect.stringMatching(`^ *${child.pid} .* sleep 60$`)]);
  await once(child, 'close');
  expect(leftRunning(dir.path)).toEqual([]);
});
