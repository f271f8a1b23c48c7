import { z } from 'zod';
import { PRIVATE, UNTRUSTED } from '../core/authority.ts';
import { openParent } from '../workspace/path.ts';
import { readBounded } from './change-file.ts';
import { languageOf } from './code-languages.ts';
import { outlineOf } from './code-outline.ts';
import { defineTool, ToolFailure } from './define.ts';

/** Spec G1. */
const MAX_BYTES = 1024 ** 2;
const MOST_ITEMS = 1_000;
const NAME_CHARS = 120;

export const codeStructureTool = defineTool({
  name: 'code_structure',
  description:
    'List the functions and classes of a source file with their lines: TypeScript, JavaScript, Python, Go, Rust, Java, C, C++. Read from the text, so unusual layouts may be missed.',
  schema: z.strictObject({ path: z.string().describe('Path relative to the workspace') }),
  tags: ['search'],
  effect: 'none',
  reads: UNTRUSTED | PRIVATE,
  async run({ path }, { workspace, signal }) {
    const language = languageOf(path);
    if (!language)
      throw new ToolFailure(
        'only files of TypeScript, JavaScript, Python, Go, Rust, Java, C and C++ have a structure that is known',
      );
    const { parent, name } = await openParent(workspace, path);
    await using _ = parent;
    await using file = await parent.openFile(name);
    const bytes = await readBounded(file, path, signal, MAX_BYTES);
    if (bytes.includes(0)) throw new ToolFailure(`${JSON.stringify(path)} is a binary file (${bytes.length} bytes)`);
    const code = bytes.toString('utf8').replace(/\r\n?/g, '\n');
    const items = outlineOf(code, language);
    const lines = items.slice(0, MOST_ITEMS).map(({ kind, name: named, from, to, level }) => {
      const place = to > from ? `${from}-${to}` : `${from}`;
      return `${'  '.repeat(Math.min(level, 20))}${place} ${kind} ${named.slice(0, NAME_CHARS)}`;
    });
    if (items.length === 0) lines.push('(no function or class was found)');
    if (items.length > MOST_ITEMS) lines.push(`[${items.length - MOST_ITEMS} more not shown]`);
    return `${language.name}, ${code.split('\n').length - (code.endsWith('\n') ? 1 : 0)} lines\n${lines.join('\n')}`;
  },
});
