import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { callKey, callsOf, outputEnding, pictureName, searchEnding } from '../core/call-key.ts';
import type { SessionMessage } from '../core/session.ts';
import { tempDir } from '../testing/fakes.ts';
import { eraseFilesOfCalls, filesOfCalls } from './call-files.ts';

const [EVES, BENS] = [callKey('test/bot/1', 'c1'), callKey('test/bot/2', 'c1')];

async function fill(workspace: string): Promise<void> {
  for (const call of [EVES, BENS]) {
    await mkdir(join(workspace, '.gatehouse/outputs'), { recursive: true });
    await writeFile(join(workspace, `.gatehouse/outputs/shell${outputEnding(call)}`), 'long');
    await mkdir(join(workspace, `research/words${searchEnding(call)}`), { recursive: true });
    await writeFile(join(workspace, `research/words${searchEnding(call)}`, '1.md'), 'a page');
    await mkdir(join(workspace, 'screenshots'), { recursive: true });
    await writeFile(join(workspace, 'screenshots', pictureName(call)), 'a picture');
  }
}

test('files that a call left are found by the call, and those of other calls stay', async () => {
  await using dir = await tempDir();
  await fill(dir.path);
  const own = [
    `.gatehouse/outputs/shell${outputEnding(EVES)}`,
    `research/words${searchEnding(EVES)}`,
    `screenshots/${pictureName(EVES)}`,
  ];
  expect(await filesOfCalls(dir.path, [EVES])).toEqual(own);
  expect(await eraseFilesOfCalls(dir.path, [EVES])).toBe(3);
  expect(await readdir(join(dir.path, '.gatehouse/outputs'))).toEqual([`shell${outputEnding(BENS)}`]);
  expect(await readdir(join(dir.path, 'research'))).toEqual([`words${searchEnding(BENS)}`]);
  expect(await readdir(join(dir.path, 'screenshots'))).toEqual([pictureName(BENS)]);
  expect(await eraseFilesOfCalls(dir.path, [EVES])).toBe(0);
});

test('A21 a link in place of the directory is not followed, and a workspace that is gone has no files', async () => {
  await using dir = await tempDir();
  const workspace = join(dir.path, 'workspace');
  await fill(join(dir.path, 'other'));
  await mkdir(join(workspace, '.gatehouse'), { recursive: true });
  await symlink(join(dir.path, 'other/.gatehouse/outputs'), join(workspace, '.gatehouse/outputs'));
  expect(await eraseFilesOfCalls(workspace, [EVES])).toBe(0);
  expect(await eraseFilesOfCalls(join(dir.path, 'gone'), [EVES])).toBe(0);
});

test('a line names its calls by its run, also after its words were erased', () => {
  const line: SessionMessage = { id: 'test/bot/1#t1.0', role: 'tool', content: '', tool_call_id: 'c1', timestamp: '' };
  expect(callsOf(line)).toEqual([EVES]);
  const calls = { ...line, role: 'assistant', tool_calls: [{ id: 'c1', name: 'shell', arguments: '{}' }] } as const;
  expect(callsOf(calls)).toEqual([EVES, EVES]);
  expect(callsOf({ ...line, id: 'test/bot/1#c9#t1.0' })).toEqual([EVES, callKey('test/bot/1#c9', 'c1')]);
});
