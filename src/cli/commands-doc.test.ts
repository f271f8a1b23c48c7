import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { COMMAND_LIST } from '../gateway/commands/index.ts';
import { packageRoot } from '../lib/package-info.ts';
import { renderCommandsDoc } from './commands-doc.ts';

test('docs/commands.md is the table of commands (npm run generate)', async () => {
  expect(await readFile(join(packageRoot(), 'docs', 'commands.md'), 'utf8')).toBe(renderCommandsDoc());
});

/**
 * Commands that are asked of the owner and the admins of a group, by the files that ask; `/sessions` only
 * shows.
 */
async function forAdmins(): Promise<readonly string[]> {
  const dir = join(packageRoot(), 'src/gateway/commands');
  const files = (await readdir(dir)).filter((name) => !name.endsWith('.test.ts'));
  const sources = await Promise.all(files.map((name) => readFile(join(dir, name), 'utf8')));
  const asking = sources.filter((source) => source.includes('mayChange('));
  const names = COMMAND_LIST.map(({ name }) => name).filter((name) => name !== 'sessions');
  return names.filter((name) => asking.some((source) => source.includes(`name: '${name}'`)));
}

test('each command that only the owner and the admins of a group may use there is named in docs and config', async () => {
  const commands = await forAdmins();
  expect(commands).toContain('new');
  const [, paragraph = ''] = /^(In a group, [\s\S]+?)`\/model`/m.exec(renderCommandsDoc()) ?? [];
  const schema = await readFile(join(packageRoot(), 'config/schema.json'), 'utf8');
  const [, described = ''] = /"group_admins": \{\s*"description": "([^"]+)"/.exec(schema) ?? [];
  const missing = (text: string): readonly string[] => commands.filter((name) => !new RegExp(`/${name}\\b`).test(text));
  expect([missing(paragraph), missing(described)]).toEqual([[], []]);
});
