import { expect, test } from 'vitest';
import type { SessionMessage } from '../core/session.ts';
import { writtenAlone } from './written-files.ts';

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
