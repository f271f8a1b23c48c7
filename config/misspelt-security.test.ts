import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CHANNELS } from '../channels/registry.ts';
import { tempDir } from '../src/testing/fakes.ts';
import { loadConfig } from './load.ts';
import { ConfigError, formatProblem } from './problem.ts';

/** Section of the config, its content in lines of their own, the line that is wrong, and what was meant. */
type Case = readonly [section: string, lines: readonly string[], wrong: number, meant: string];

const CLIENT = (...lines: readonly string[]) => ['"coder": {', ...lines, '}'];
const SERVER = (...lines: readonly string[]) => ['"files": {', ...lines, '}'];
const AT = '"url": "https://a.example/",';
const TELEGRAM = (...lines: readonly string[]) => ['"channels": [{ "type": "telegram",', ...lines, '}]'];
/** Ends the senders, and adds a channel of mail with another name than its type. */
const MAIL = [
  '}',
  '}, "gateway": { "channels": [{ "type": "email", "name": "post", "settings": { "trust_from": true,',
  '"imap_host": "a", "smtp_host": "a", "from_address": "b@example.org" } }]',
];

/** A variable of the environment, which is not set. */
const UNSET = ['$', '{NOT_SET}'].join('');

const CASES: readonly Case[] = [
  ['toolpolicy', [], 0, 'tool_policy'],
  ['tool_polcy', [], 0, 'tool_policy'],
  ['tool_policy', ['"denny": ["shell"]'], 1, 'deny'],
  ['tool_policy', ['"Deny": ["shell"]'], 1, 'deny'],
  ['tool_policy', ['"deny": ["shel"]'], 1, 'shell'],
  ['tool_policy', ['"deny": ["group:runtimes"]'], 1, 'group:runtime'],
  ['tool_policy', ['"deny": "shell"'], 1, ''],
  ['tool_policy', ['"mode": "read_only"'], 1, 'read-only'],
  ['tool_policy', ['"mode": "Guarded"'], 1, 'guarded'],
  ['tool_policy', ['"require_tag": ["fs"]'], 1, 'require_tags'],
  ['tool_policy', ['"sender": { "telegram:1": { "mode": "read-only" } }'], 1, 'senders'],
  ['tool_policy', ['"senders": {', '"telegram:1": { "mod": "read-only" }', '}'], 2, 'mode'],
  ['tool_policy', ['"guest": []'], 1, 'guests'],
  ['tool_policy', ['"member": []'], 1, 'members'],
  ['tool_policy_by_providr', [], 0, 'tool_policy_by_provider'],
  ['tool_policy_by_provider', ['"groq": {', '"deni": ["shell"]', '}'], 2, 'deny'],
  ['sandbox', ['"mod": "bwrap"'], 1, 'mode'],
  ['sandbox', ['"mode": "bubblewrap"'], 1, 'bwrap'],
  ['sandbox', ['"allow_networks": false'], 1, 'allow_network'],
  ['sandbox', ['"memory": 512'], 1, 'memory_mb'],
  ['sandbox', ['"pid": 10'], 1, 'pids'],
  ['sandbox', ['"read_allow_path": ["/srv"]'], 1, 'read_allow_paths'],
  ['sanbox', [], 0, 'sandbox'],
  ['web', ['"web_fetsh": {}'], 1, 'web_fetch'],
  ['web', ['"web_fetch": {', '"deny_domain": ["a.example"]', '}'], 2, 'deny_domains'],
  ['web', ['"browser": {', '"deny_domain": ["a.example"]', '}'], 2, 'deny_domains'],
  ['web', ['"web_fetch": {', '"allow_domains": ["https://a.example/x"]', '}'], 2, 'a domain'],
  ...['*', 'ads.*', '*ads.example', 'ads.example,', 'ads..example', '.', '*.'].map(
    (text): Case => ['web', ['"browser": {', `"deny_domains": ["${text}"]`, '}'], 2, 'a domain'],
  ),
  ['hooks', [], 0, ''],
  ['mcp_client', [], 0, 'mcp_clients'],
  ['mcp_clients', CLIENT('"denny": ["shell"]'), 2, 'deny'],
  ['mcp_clients', CLIENT('"deny": ["shel"]'), 2, 'shell'],
  ['mcp_clients', CLIENT('"deny": ["mcp__files"]'), 2, 'mcp__files__*'],
  ['mcp_clients', CLIENT('"mode": "readonly"'), 2, 'read-only'],
  ['mcp_clients', CLIENT('"mode": "full"'), 2, 'guarded'],
  ['mcp_clients', CLIENT('"chat": []'), 2, 'chats'],
  ['mcp_clients', CLIENT('"chats": [{ "channel": "telegrm", "chat_id": "1" }]'), 2, 'cli'],
  ['mcp_clients', CLIENT('"model": "small"'), 2, 'models'],
  ['mcp_server', [], 0, 'mcp_servers'],
  ['mcp_servers', SERVER('"command": "x",', '"pins": "approve"'), 3, 'pin'],
  ['mcp_servers', SERVER('"command": "x",', '"pin": "approved"'), 3, 'approve'],
  ['mcp_servers', SERVER('"command": "x",', '"tool": { "deny": ["a"] }'), 3, 'tools'],
  ['mcp_servers', SERVER('"command": "x",', '"tools": { "deny": ["mcp__files__rm"] }'), 3, 'as the server names it'],
  ['mcp_servers', SERVER('"command": "x",', '"tools": { "deny": ["group:fs"] }'), 3, 'as the server names it'],
  ['mcp_servers', SERVER('"url": "https://a.example/",', '"env": ["KEY"]'), 3, 'remove it'],
  ['mcp_servers', SERVER(AT, '"oath": {}'), 3, 'oauth'],
  ['mcp_servers', SERVER(AT, '"oauth": { "scope": ["a"] }'), 3, 'scopes'],
  ['mcp_servers', SERVER(AT, '"oauth": { "issuers": "https://b.example" }'), 3, 'issuer'],
  ['mcp_servers', SERVER(AT, '"oauth": {},', '"bearer_env": "TOKEN"'), 4, 'keep one of the two'],
  ['mcp_servers', SERVER(AT, '"oauth": {},', '"headers_env": { "Authorization": "TOKEN" }'), 4, 'keep one of the two'],
  ['mcp_servers', SERVER('"command": "x",', '"oauth": {}'), 3, 'remove it'],
  ['mcp_servers', SERVER(AT, '"oauth": { "client_id": "a", "client_secret_env": "SECRET" }'), 3, 'add what'],
  ['mcp_servers', SERVER(AT, '"oauth": { "grant": "client_credentials" }'), 3, 'client_secret_env'],
  ['mcp_servers', SERVER(AT, '"oauth": { "client_secret_env": "sk-live-0123456789abcdef" }'), 3, ''],
  ['mcp_servers', SERVER('"url": "http://a.example/",', '"oauth": {}'), 2, 'use https'],
  ['mcp_servers', SERVER('"url": "http://127.0.0.1:1/",', '"oauth": {}'), 2, 'allow_private'],
  ['mcp_servers', SERVER(AT, '"oauth": { "issuer": "http://b.example" }'), 3, 'use https'],
  ['gateway', TELEGRAM('"allowed_sender": ["1"]'), 2, 'allowed_senders'],
  ['gateway', TELEGRAM('"allowed_group": ["1"]'), 2, 'allowed_groups'],
  ['gateway', TELEGRAM('"group_mod": "mention"'), 2, 'group_mode'],
  ['gateway', ['"owner": [{ "channel": "telegram", "chat_id": "1",', '"sender_id": ["1"] }]'], 2, 'sender_ids'],
  ['gateway', ['"http": {', '"hots": "127.0.0.1"', '}'], 2, 'host'],
  ['limits', ['"person_turns": 1'], 1, 'person_turns_at_once'],
  ['budgets', [], 0, 'budget'],
  ['policy', ['"deny": ["shell"]'], 0, 'tool_policy'],
  ['security', ['"sandbox": "bwrap"'], 1, 'top level'],
  ['security', ['"accept": ["login-in-clera"]'], 1, 'login-in-clear'],
  ['securty', ['"accept": []'], 0, 'security'],
  ['permissions', [], 0, 'remove the key'],
  ['gateway', TELEGRAM('"blocked_senders": ["1"]'), 2, 'people block'],
  ['gateway', TELEGRAM('"require_mention": true'), 2, 'remove the key'],
  ['gateway', ['"pairing": false'], 1, 'remove the key'],
  ['tool_policy', ['"deny": ["mcp__fils__*"]', '}, "mcp_servers": { "files": { "command": "x" }'], 1, 'mcp__files__'],
  ['tool_policy', ['"deny": ["mcp__file__rm"]', '}, "mcp_servers": { "files": { "command": "x" }'], 1, 'mcp__files__'],
  ['tool_policy', ['"deny": ["mcp__files"]', '}, "mcp_servers": { "files": { "command": "x" }'], 1, 'mcp__files__*'],
  ['tool_policy', ['"deny": ["mcp__fils"]', '}, "mcp_servers": { "files": { "command": "x" }'], 1, 'mcp__files__*'],
  ['tool_policy', ['"deny": ["mcp__files__"]'], 1, 'mcp__files__*'],
  ['tool_policy', ['"deny": ["mcp__"]'], 1, 'mcp__*'],
  ['tool_policy', ['"deny": ["mcp__*__delete"]'], 1, 'no tool'],
  ['tool_policy', ['"deny": ["plugin__greet"]'], 1, 'plugin__greet__*'],
  ['tool_policy', ['"deny": ["mcp__files__files.rm"]'], 1, 'mcp__files__files_rm'],
  ['tool_policy', ['"senders": {', `"cli:${UNSET}": { "mode": "read-only" }`, '}'], 2, 'put the id itself here'],
  ...['cli:*', 'cli: local', 'cli:local '].map(
    (sender): Case => ['tool_policy', ['"senders": {', `"${sender}": { "mode": "read-only" }`, '}'], 2, 'is no person'],
  ),
  ['tool_policy', ['"senders": {', '"post:Ann@Example.org": { "mode": "read-only" }', ...MAIL], 2, '"post:ann@example.org"'],
  ['tool_policy', [`"deny": ["${UNSET}"]`], 1, ''],
  ['tool_policy', ['"senders": {', '"cli:1": { "deny": ["shel"] }', '}'], 2, 'shell'],
  ['tool_policy', ['"deny": ["Shell"]'], 1, 'shell'],
  ['sandbox', [`"mode": "${UNSET}"`], 1, 'bwrap'],
  ['sandbox', ['"allow_network": "no"'], 1, 'false'],
  ['sandbox', ['"memory_mb": 0'], 1, '64'],
  ['sandbox', ['"readAllowPaths": ["/srv"]'], 1, 'read_allow_paths'],
  ['sandbox', ['"read_allow_paths": ["srv"]'], 1, 'absolute'],
  ['sandbox', ['"timeout": 5'], 1, ''],
  ['disk', ['"reserve": 5'], 1, ''],
  ['limits', ['"person_messages": "5"'], 1, 'a number'],
  ['limits', ['"tool_calls": 5'], 1, ''],
  ['web', ['"web_fetch": {', `"deny_domains": ["${UNSET}"]`, '}'], 2, ''],
  ['web', ['"web_fetch": {', '"deny_domains": "a.example"', '}'], 2, 'a list'],
  ['web', ['"web_search": {', '"braev": { "api_key_env": "KEY" }', '}'], 2, 'brave'],
  ['mcp_servers', SERVER('"command": "node_modules/.bin/x"'), 2, 'an absolute path'],
  ['mcp_servers', SERVER('"command": "x",', '"trust_annotation": false'), 3, 'trust_annotations'],
  ['mcp_servers', SERVER('"command": "x",', '"tools": { "denied": ["a"] }'), 3, 'deny'],
  ['mcp_servers', SERVER('"url": "https://a.example/",', '"bearer": "KEY"'), 3, 'bearer_env'],
  ['mcp_servers', SERVER('"command": "x",', '"env": ["LD_PRELOAD"]'), 3, 'no program is given it'],
  ['budget', ['"daily": { "usd": 1 }'], 1, ''],
  ['tasks', ['"max_token": 5'], 1, 'max_tokens'],
  ['tasks', ['"max_iteration": 5'], 1, 'max_iterations'],
  ['task', ['"max_tokens": 5'], 0, 'tasks'],
  ['subagents', ['"max_at_onces": 5'], 1, 'max_at_once'],
  ['subagents', ['"max_tokens": 5'], 1, 'tasks'],
  ['subagent', ['"max_tokens_of_request": 5'], 0, 'subagents'],
  ['gateway', ['"tasks": {', '"max_tokens": 5', '}'], 1, 'top level'],
];

/** `hooks` is a list. */
const HOOKS: readonly (readonly [hook: object, meant: string])[] = [
  [{ event: 'before_tool', command: ['x'] }, 'before_tool_call'],
  [{ event: 'before_tool_call', command: 'x' }, 'a list'],
  [{ event: 'before_tool_call', command: ['x'], tool_filters: ['shell'] }, 'tool_filter'],
  [{ event: 'before_tool_call', command: ['x'], tool_filter: ['shel'] }, 'shell'],
  [{ event: 'before_tool_call', command: ['x'], tool_filter: ['mcp__files'] }, 'mcp__files__*'],
  [{ event: 'before_tool_call', command: [] }, 'at least 1'],
];

test('there are thirty cases and more', () => {
  expect(CASES.length + HOOKS.length).toBeGreaterThanOrEqual(30);
});

test.each(HOOKS)('so does a hook: %j', async (hook, meant) => {
  await using dir = await tempDir();
  const file = join(dir.path, 'c.json');
  await writeFile(file, JSON.stringify({ hooks: [hook] }, null, 1));
  const error = await loadConfig({
    ...{ file, cwd: dir.path, home: dir.path, env: {}, channelTypes: [], channelSettings: async () => undefined },
  }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ConfigError);
  expect((error as ConfigError).problems.map((one) => formatProblem(one)).join('\n')).toContain(meant);
});

test.each(CASES)(
  'a security key that is misspelt or half right stops the start with its line and what was meant: %s %j',
  async (section, lines, wrong, meant) => {
    await using dir = await tempDir();
    const file = join(dir.path, 'c.json');
    await writeFile(file, ['{', `"${section}": {`, ...lines, '}', '}'].join('\n'));
    const channelSettings = async (type: string) => (await CHANNELS[type]?.())?.settings;
    const options = { file, cwd: dir.path, home: dir.path, env: {}, channelTypes: Object.keys(CHANNELS), channelSettings };
    const error = await loadConfig(options).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(ConfigError);
    const told = (error as ConfigError).problems.filter(({ severity }) => severity === 'error').map((one) => formatProblem(one));
    const here = told.filter((text) => text.includes(`c.json:${wrong + 2}:`));
    expect(here.join('\n'), told.join('\n')).toContain(meant);
    expect(here).not.toEqual([]);
  },
);
