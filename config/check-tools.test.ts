import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { tempDir } from '../src/testing/fakes.ts';
import { loadConfig } from './load.ts';
import { ConfigError } from './problem.ts';

/** Lines of the problems that stop the start; empty = it starts. */
async function errorsOf(config: object): Promise<readonly string[]> {
  await using dir = await tempDir();
  await writeFile(join(dir.path, 'c.json'), JSON.stringify(config, null, 1));
  const schemas = { cli: z.strictObject({}) };
  try {
    await loadConfig({
      ...{ cwd: dir.path, home: dir.path, env: {}, file: 'c.json', channelTypes: Object.keys(schemas) },
      channelSettings: async (type) => (type === 'cli' ? schemas.cli : undefined),
      providers: new Map(['anthropic', 'openai'].map((name) => [name, name] as const)),
    });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    expect(error.code).toBe('GH1101');
    const errors = error.problems.filter(({ severity }) => severity === 'error');
    expect(errors.every(({ file, line }) => file?.endsWith('c.json') && line !== undefined)).toBe(true);
    return errors.map(({ path, message, hint }) => `${path}: ${message} → ${hint}`);
  }
}

/** Capitals, `*` and blanks inside an id may be a person's. */
const SENDERS = { 'cli:local': { mode: 'read-only', deny: ['cron'] }, 'cli:Ann B': {}, 'cli:a*': {}, 'cli:@ann': {} };

test('a policy that says what it means starts', async () => {
  expect(
    await errorsOf({
      tool_policy: {
        ...{ allow: ['group:fs', 'mcp__files__*', '*'], deny: ['shell', 'web_*'], require_tags: ['fs'], mode: 'full' },
        ...{ members: ['grep'], guests: ['group:search'], senders: SENDERS },
      },
      tool_policy_by_provider: { anthropic: { deny: ['react'] }, 'openai/gpt-6': {}, 'my-own-model': {} },
      context_filter: ['fs'],
      gateway: { channels: [{ type: 'cli', tool_policy: { deny: ['group:chat'] } }] },
    }),
  ).toEqual([]);
});

test('a domain may have any form that hosts are written in', async () => {
  const domains = ['a.example', '*.a.example', '.a.example', 'a.example.', 'A.Example', 'bücher.example', '1.1.1.1', 'localhost'];
  const web = { allow_domains: [...domains, '_dmarc.example', 'a--b.example', '例え.テスト'], deny_domains: domains };
  expect(await errorsOf({ web: { web_fetch: web, browser: web } })).toEqual([]);
});

test('a chat that tasks notify, and the person, are of a channel there is', async () => {
  const notify = (sender: string, channel: string) => errorsOf({ tasks: { notify: { [sender]: { channel, chat_id: '1' } } } });
  expect(await notify('cli:me', 'cli')).toEqual([]);
  expect(await notify('cli:me', 'clli')).toEqual([expect.stringContaining('"clli" is not known')]);
  expect(await notify('cli: me', 'cli')).toEqual([expect.stringContaining('write "cli:me"')]);
  expect(await notify('clli:me', 'cli')).toEqual([expect.stringContaining('"clli" is not known')]);
  expect(await notify('me', 'cli')).toEqual([expect.stringContaining('must be a channel')]);
});

test('a channel that is called as clients are stops the start: its people could pass for one', async () => {
  for (const name of ['mcp', 'api']) {
    const [error] = await errorsOf({ gateway: { channels: [{ type: 'cli', name }] } });
    expect(error).toContain('could pass for one');
  }
  expect(await errorsOf({ tool_policy: { senders: { 'mcp:coder': { mode: 'full' } } } })).toHaveLength(1);
  const chats = [{ channel: 'cli', chat_id: '1' }];
  expect(await errorsOf({ mcp_clients: { coder: { chats, allow: ['mcp__files__*'], deny: ['group:fs'] } } })).toEqual([]);
  for (const name of ['', '-a', 'a/b', 'a:b', 'a#b', 'a%b', 'a b', 'ä', 'a'.repeat(33), 'a.b'])
    expect(await errorsOf(JSON.parse(`{"mcp_clients": {${JSON.stringify(name)}: {}}}`)), name).toHaveLength(1);
  expect(await errorsOf({ mcp_clients: { coder: {}, Coder: {} } })).toHaveLength(1);
});

const WRONG: readonly (readonly [object, string])[] = [
  [{ tool_policy: { deney: ['shell'] } }, 'did you mean "deny"?'],
  [{ tool_polcy: { deny: ['shell'] } }, 'did you mean "tool_policy"?'],
  [{ toolpolicy: { deny: ['shell'] } }, 'did you mean "tool_policy"?'],
  [{ context_filters: ['fs'] }, 'did you mean "context_filter"?'],
  [{ tool_policy_by_providers: {} }, 'did you mean "tool_policy_by_provider"?'],
  [{ tools: { byProvider: { anthropic: { deny: ['shell'] } } } }, '"tool_policy_by_provider"'],
  [{ deny: ['shell'] }, '"deny" belongs under "tool_policy"'],
  [{ tool_policy: { deny: ['shel'] } }, 'did you mean "shell"?'],
  [{ tool_policy: { deny: ['Write_File'] } }, 'did you mean "write_file"?'],
  [{ tool_policy: { deny: ['group:file'] } }, 'did you mean "group:fs"?'],
  [{ tool_policy: { deny: ['group:shel*'] } }, 'known: '],
  [{ tool_policy: { deny: ['group:serch'] } }, 'did you mean "group:search"?'],
  [{ tool_policy: { deny: ['wr1te*'] } }, 'known: '],
  [{ tool_policy: { deny: ['*file'] } }, 'is no tool'],
  [{ tool_policy: { deny: ['toString'] } }, 'is no tool'],
  [{ tool_policy: { deny: ['group:constructor'] } }, 'is no tool'],
  [{ tool_policy: { deny: [''] } }, 'must have at least 1'],
  [{ tool_policy: { deny: 'shell' } }, 'must be a list'],
  [{ tool_policy: { deny: [['shell']] } }, 'must be text'],
  [{ tool_policy: { deny: null } }, 'must be a list'],
  [{ tool_policy: [] }, 'must be an object'],
  [{ tool_policy: { mode: 'readonly' } }, 'did you mean "read-only"?'],
  [{ tool_policy: { mode: 'Full' } }, 'did you mean "full"?'],
  [{ tool_policy: { members: ['red_file'] } }, 'did you mean "read_file"?'],
  [{ tool_policy: { guests: ['lst_dir'] } }, 'did you mean "list_dir"?'],
  [{ tool_policy: { require_tags: 'fs' } }, 'must be a list'],
  [{ tool_policy: { senders: { '4711': { mode: 'full' } } } }, 'for example "telegram:4711"'],
  [{ tool_policy: { senders: { 'cly:4711': { mode: 'full' } } } }, 'did you mean "cli"?'],
  [{ tool_policy: { senders: { 'cli:local': { mod: 'full' } } } }, 'did you mean "mode"?'],
  [{ tool_policy: { senders: { 'cli:local': { deny: ['shell '] } } } }, 'did you mean "shell"?'],
  [{ tool_policy_by_provider: { anthropic: { deny: ['shel'] } } }, 'did you mean "shell"?'],
  [{ tool_policy_by_provider: { anthropik: { deny: ['shell'] } } }, 'did you mean "anthropic"?'],
  [{ tool_policy_by_provider: { 'opnai/gpt-6': { deny: ['shell'] } } }, 'did you mean "openai"?'],
  [{ tool_policy_by_provider: { anthropic: { denny: ['shell'] } } }, 'did you mean "deny"?'],
  [{ gateway: { channels: [{ type: 'cli', tool_policy: { deny: ['reac'] } }] } }, 'did you mean "react"?'],
  [{ gateway: { channels: [{ type: 'cli', tool_polcy: { deny: ['react'] } }] } }, 'did you mean "tool_policy"?'],
];

test.each(WRONG)('%j stops the start and says what was meant', async (config, said) => {
  const errors = await errorsOf(config);
  expect(errors).toHaveLength(1);
  expect(errors[0]).toContain(said);
});
