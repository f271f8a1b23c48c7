import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openJournal } from '../../journal/open.ts';
import { sessionWorkspace } from '../../runs/workspace.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';
import { filesOfRoot, isNotRoot, otherUsersDirectory } from '../../testing/files-of-root.ts';

test.skipIf(isNotRoot)('files that root gives a task are those of the user of the data directory', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.openJournal = openJournal;
  await cli.write('.gatehouse/config.json', JSON.stringify({ gateway: { channels: [{ type: 'telegram' }] } }));
  await otherUsersDirectory(cli.dataDir);
  await cli.write('notes.md', 'one');
  const { task } = JSON.parse((await cli.run('tasks', 'add', 'Read it', '--file', 'notes.md', '--json')).stdout);
  expect(await readdir(join(sessionWorkspace(cli.dataDir, task.workspace), 'uploads'))).toEqual(['notes.md']);
  expect((await filesOfRoot(cli.dataDir)).filter((name) => name.startsWith('workspaces'))).toEqual([]);
});
