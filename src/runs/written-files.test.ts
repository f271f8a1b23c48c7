import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Erasure } from '../core/erasure.ts';
import type { SessionMessage } from '../core/session.ts';
import { storedStem } from '../media/fetch-file.ts';
import { tempDir } from '../testing/fakes.ts';
import { sessionWorkspacePath } from './workspace.ts';
import { eraseUploads, writtenAlone } from './written-files.ts';

function calling(id: string, name: string, args: unknown): SessionMessage {
  const text = typeof args === 'string' ? args : JSON.stringify(args);
  return { id, role: 'assistant', content: '', tool_calls: [{ id, name, arguments: text }], timestamp: '' };
}

test('files that calls of a person wrote are theirs, documents that were made of others included, unless another wrote them too', () => {
  const own = [
    calling('1', 'write_file', { path: 'note.md', content: 'x' }),
    calling('2', 'write_file', { path: 'shared.md', content: 'x' }),
    calling('3', 'convert_markdown_to_docx', { source_path: 'docs.d/note.md' }),
    calling('4', 'convert_markdown_to_docx', { source_path: 'note.md', target_path: 'letter.docx' }),
    calling('5', 'write_file', 'no JSON'),
    calling('6', 'read_file', { path: 'read.md' }),
  ];
  const others = [calling('7', 'edit_file', { path: 'shared.md' })];
  expect(writtenAlone([...own, ...others], new Set(own))).toEqual(['note.md', 'docs.d/note.docx', 'letter.docx']);
});

test('a path is read as the tools read it: one that they refuse wrote nothing, and two ways to write one are one', () => {
  const own = [
    calling('1', 'write_file', { path: 'notes/../plan.txt', content: 'x' }),
    calling('2', 'write_file', { path: './mine//a.txt', content: 'x' }),
    calling('3', 'write_file', { path: 'both.txt', content: 'x' }),
  ];
  const others = [calling('4', 'write_file', { path: 'both.txt/', content: 'y' })];
  expect(writtenAlone([...own, ...others], new Set(own))).toEqual(['mine/a.txt']);
});

test('a directory that a program made of what came with a message goes with it', async () => {
  await using dir = await tempDir();
  const uploads = join(sessionWorkspacePath(dir.path, 'test:group'), 'uploads');
  const stem = storedStem({ id: 'test/bot/m-1' }, 0);
  await mkdir(join(uploads, stem), { recursive: true });
  for (const name of [`${stem}.zip`, `${stem}/page.txt`, 'other.txt']) await writeFile(join(uploads, name), 'x');
  await eraseUploads('test:group', [], { runs: ['test/bot/m-1'] } as unknown as Erasure, dir.path);
  expect(await readdir(uploads)).toEqual(['other.txt']);
});
