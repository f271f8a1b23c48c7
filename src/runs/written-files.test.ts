import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { SessionMessage } from '../core/session.ts';
import { storedStem } from '../media/fetch-file.ts';
import { tempDir } from '../testing/fakes.ts';
import { sessionWorkspacePath } from './workspace.ts';
import { eraseUploads, eraseWritten, writtenAlone } from './written-files.ts';

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

test('a file that another made with a program stays where a person who is erased only changed it', async () => {
  await using dir = await tempDir();
  await writeFile(join(dir.path, 'plan.txt'), 'of Ben');
  const others = calling('1', 'shell', { command: 'make > plan.txt' });
  const own = [calling('2', 'edit_file', { path: 'plan.txt' }), calling('3', 'diff_edit', { path: 'plan.txt' })];
  expect(await eraseWritten(dir.path, [others, ...own], new Set(own))).toBe(0);
  expect(await readFile(join(dir.path, 'plan.txt'), 'utf8')).toBe('of Ben');
});

test('a directory that a program made of what came with a message goes with it', async () => {
  await using dir = await tempDir();
  const uploads = join(sessionWorkspacePath(dir.path, 'test:group'), 'uploads');
  const stem = storedStem({ id: 'test/bot/m-1' }, 0);
  await mkdir(join(uploads, stem), { recursive: true });
  for (const name of [`${stem}.zip`, `${stem}/page.txt`, 'other.txt']) await writeFile(join(uploads, name), 'x');
  await eraseUploads('test:group', [], { runs: ['test/bot/m-1'], names: [] }, dir.path);
  expect(await readdir(uploads)).toEqual(['other.txt']);
});

test('of a request of several people the files of the one who began it go, and those of the others stay', async () => {
  await using dir = await tempDir();
  const uploads = join(sessionWorkspacePath(dir.path, 'test:group'), 'uploads');
  await mkdir(uploads, { recursive: true });
  const files = ['test/bot/1', 'test/bot/2'].map((id) => `${storedStem({ id }, 0)}.png`);
  for (const name of files) await writeFile(join(uploads, name), 'x');
  const content = '[from Eve] one\n---\nQueued #1:\n[from Ben] two';
  const media = files.map((name) => `uploads/${name}`);
  const line = { id: 'test/bot/1:in', role: 'user', content, by: 'test:eve', media, timestamp: '' } as const;
  expect(await eraseUploads('test:group', [line], { runs: [], names: ['Eve'] }, dir.path)).toBe(1);
  expect(await readdir(uploads)).toEqual(files.slice(1));
});
