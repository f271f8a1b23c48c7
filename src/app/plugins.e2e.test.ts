// The whole daemon with plugins: approved by the command line, run in the real sandbox, and their fate.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, glob, mkdir, readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, onTestFinished, type TestContext, test } from 'vitest';
import { mcpServers } from '../../config/sections/mcp.ts';
import type { RunEvent } from '../core/events.ts';
import { openJournal } from '../journal/open.ts';
import { systemClock } from '../lib/clock.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { needs } from '../testing/needs.ts';
import { type MadePlugin, makePlugin, toolNamed } from '../testing/plugin.ts';
import { byLoad } from '../testing/sample.ts';
import { type Script, scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';
import { probe } from '../tools/mcp/look.ts';
import { approve as approveServer } from '../tools/mcp/pin.ts';
import { readPlugin } from '../tools/plugins/code.ts';
import { approvePart, approvePlugin, forgetPlugin, type Part } from '../tools/plugins/pin.ts';
import { StagedPlugin } from '../tools/plugins/store.ts';
import type { DaemonOptions } from './daemon.ts';

const OWNER = { owner: [{ channel: 'test', chat_id: 'chat-1', sender_ids: ['user-1'] }] };

function needsSandbox(context: TestContext): void {
  needs(context, 'bwrap', '--ro-bind', '/', '/', '--unshare-all', '--proc', '/proc', 'true');
}

async function approve(dataDir: string, made: MadePlugin, flags: readonly ('network' | 'effects')[] = []): Promise<void> {
  await mkdir(join(dataDir, 'plugins'), { recursive: true });
  await makePlugin(join(dataDir, 'plugins'), made);
  await approveFiles(dataDir, made.name, flags);
}

async function approveFiles(dataDir: string, name: string, flags: readonly ('network' | 'effects')[] = []): Promise<void> {
  await using staged = await StagedPlugin.of(dataDir, join(dataDir, 'plugins', name));
  await staged.keep();
  await using opened = await openJournal({ dir: dataDir, clock: systemClock, checks: false, sync: 'in-commit' });
  await approvePlugin(opened, staged.code, { flags, by: 'cli' });
}

async function scene(
  dataDir: string,
  script: Script,
  sections: Record<string, unknown> = { sandbox: {} },
  daemon: Partial<DaemonOptions> & { readonly secret?: () => string } = {},
) {
  const model = scriptedModel(script);
  const secret = daemon.secret?.() ?? 'none';
  const redact = (text: string): string => text.replaceAll(secret, '[gone]');
  const options = { dataDir, model, gateway: OWNER, policy: { mode: 'full' }, sections };
  const rig = await testDaemon({ ...options, daemon: { ...daemon, redact } });
  return {
    ...{ ...rig, model },
    told: () => model.requests.at(-1)?.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : [])) ?? [],
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}

async function dataDirectory(): Promise<string> {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  return join(dir.path, 'data');
}

const hello = (args: Record<string, unknown> = {}) => ({ toolCalls: [{ name: 'plugin__greet__hello', arguments: args }] });

test('a tool of an approved plugin is run in the sandbox, with its arguments, in the workspace of the session', async (context) => {
  needsSandbox(context);
  const dataDir = await dataDirectory();
  const script =
    '#!/bin/sh\ncat > note; echo working >&2; printf \'{"output":"%s in %s","success":true}\' "$1" "$GATEHOUSE_WORK_DIR"\n';
  await approve(dataDir, { name: 'greet', script });
  const events: RunEvent[] = [];
  await using at = await scene(dataDir, [hello({ text: 'hi' }), 'done'], undefined, {
    observe: (event) => void events.push(event),
  });
  await at.channel.deliver({ platformId: 'm1', text: 'greet' });
  await at.daemon.gateway.idle();
  expect(at.told()).toEqual(['hello in /workspace']);
  expect(events.filter(({ type }) => type === 'tool.progress')).toMatchObject([
    { tool: 'plugin__greet__hello', text: 'working' },
  ]);
  const notes: string[] = [];
  for await (const path of glob('workspaces/*/*/note', { cwd: dataDir })) notes.push(path);
  expect(await readFile(join(dataDir, notes[0] ?? ''), 'utf8')).toBe('{"text":"hi"}');
});

test('the plugin of docs/tools.md works as it is written there', async (context) => {
  needsSandbox(context);
  const dataDir = await dataDirectory();
  await mkdir(join(dataDir, 'plugins'), { recursive: true });
  const page = await readFile(join(import.meta.dirname, '../../docs/tools.md'), 'utf8');
  const [, make = ''] = /^```sh\n(mkdir greet .*?)^gatehouse plugins add/ms.exec(page) ?? [];
  await promisify(execFile)('/bin/sh', ['-ec', make], { cwd: join(dataDir, 'plugins') });
  await approveFiles(dataDir, 'greet');
  await using at = await scene(dataDir, [hello({ name: 'Ada' }), 'done']);
  await at.channel.deliver({ platformId: 'm1', text: 'greet' });
  await at.daemon.gateway.idle();
  expect(at.told()).toEqual(['Good morning, Ada']);
});

/**
 * Tools that are believed to stay in the workspace, so that no call of theirs is asked about: one a case of
 * the script.
 */
async function greetWith(dataDir: string, cases: Readonly<Record<string, string>>, more: Record<string, unknown> = {}) {
  const branches = Object.entries(cases).map(([name, text]) => `${name}) ${text};;`);
  const tools = Object.keys(cases).map((name) => toolNamed(name, { effect: 'workspace' }));
  const script = `#!/bin/bash\ncase "$1" in\n${branches.join('\n')}\nesac\n`;
  await approve(dataDir, { name: 'greet', script, manifest: { tools, ...more } }, ['effects']);
}

const calls = (...names: readonly string[]): Script => [
  ...names.map((name) => ({ toolCalls: [{ name: `plugin__greet__${name}`, arguments: {} }] })),
  'done',
];

test('what a plugin prints becomes the result as it means it, and anything else as it is', async (context) => {
  needsSandbox(context);
  const dataDir = await dataDirectory();
  const cases = {
    file: 'echo \'{"output":"made","success":true,"file_modified":"a.txt"}\'',
    fails: 'echo \'{"output":"no such person","success":false}\'',
    text: 'echo plain words',
    types: 'echo \'{"output":7,"success":"yes"}\'',
    deep: 'head -c 200000 /dev/zero | tr "\\0" "["',
    status: 'echo almost; echo because >&2; exit 3',
    nothing: ':',
  };
  await greetWith(dataDir, cases);
  await using at = await scene(dataDir, calls(...Object.keys(cases)));
  await at.channel.deliver({ platformId: 'm1', text: 'greet' });
  await at.daemon.gateway.idle();
  const told = at.told();
  expect([...told.slice(0, 4), ...told.slice(5)]).toEqual([
    'made\n(changed: a.txt)',
    'Error: no such person',
    'plain words',
    '{"output":7,"success":"yes"}',
    'Error: plugin greet ended with status 3\nalmost\nbecause',
    '(no output)',
  ]);
  expect(told[4]).toMatch(/^\[{100}/);
  expect(told[4]?.length).toBeLessThan(51_000);
});

test('A39 A27 a plugin sees its own files, its workspace and the variables it was given, and no other', async (context) => {
  needsSandbox(context);
  process.env['GATEHOUSE_TEST_KEY'] = 'canary-of-the-environment';
  const dataDir = await dataDirectory();
  const look = `cat /proc/*/environ ${dataDir}/*.db ${dataDir}/plugins/*/* ${dataDir}/plugin-copies/*/* 2>&1 | tr '\\0' '\\n'`;
  const cases = {
    look,
    env: 'env | sort | tr "\\n" " "',
    own: 'ls /program; cat /program/data/words; touch /program/x || echo no; echo x >> "$0" || echo no; ls -A / /workspace',
    path: `echo "$0 $PWD"; ls ${dirname(dataDir)} 2>&1`,
  };
  await makePlugin(join(dataDir, 'plugins'), { name: 'other', script: '#!/bin/sh\n: canary of another plugin\n' });
  await makePlugin(join(dataDir, 'plugins'), { name: 'greet', script: '', files: { 'data/words': 'own words\n' } });
  await greetWith(dataDir, cases, { env: ['GREET_TOKEN'] });
  await using at = await scene(dataDir, calls(...Object.keys(cases)), { sandbox: {} }, { secret: () => 'token-of-greet' });
  await at.channel.deliver({ platformId: 'm1', text: 'look' });
  await at.daemon.gateway.idle();
  const [seen = '', env = '', own = '', path = ''] = at.told();
  expect(seen).not.toContain('canary');
  // What it was given is taken out of what the model reads.
  expect(
    env
      .trim()
      .split(' ')
      .filter((line) => !/^(?:SHLVL|PWD|OLDPWD|_|GATEHOUSE_PROCESS\w*)=/.test(line)),
  ).toEqual([
    'GATEHOUSE_WORK_DIR=/workspace',
    'GREET_TOKEN=[gone]',
    'HOME=/tmp',
    'LANG=C.UTF-8',
    expect.stringMatching(/^PATH=/),
    'TERM=dumb',
  ]);
  expect(own).toMatch(/^data\nmain\nplugin\.json\nown words\n/);
  expect(own.match(/^no$/gm)).toHaveLength(2);
  expect(path).toContain('/program/main /workspace');
  expect(path).not.toContain('journal');
});

test('A39 what floods, never ends or hides what it started ends within its limits', async (context) => {
  needsSandbox(context);
  const dataDir = await dataDirectory();
  const mark = `32${process.pid}7`;
  const cases = {
    flood: `yes 0123456789 | head -c ${byLoad(10, 100)}000000`,
    progress: `yes 0123456789 | head -c ${byLoad(3, 30)}000000 >&2; echo '{"output":"still here","success":true}'`,
    forks: `trap "" TERM; (setsid sleep ${mark} & ) ; (nohup sleep ${mark} >/dev/null 2>&1 & ) ; sleep ${mark}`,
    leaves: `(setsid sleep ${mark} >/dev/null 2>&1 &) ; echo gone`,
  };
  await greetWith(dataDir, cases, { timeout_secs: 3 });
  const before = process.memoryUsage().rss;
  await using at = await scene(dataDir, calls(...Object.keys(cases)));
  await at.channel.deliver({ platformId: 'm1', text: 'go on' });
  await at.daemon.gateway.idle();
  const [flood = '', progress, forks, leaves] = at.told();
  // Either it was quick and its middle is left out, or its time was over: in both cases little is kept.
  expect(flood).toMatch(/bytes omitted|timed out after 3 s/);
  expect(Buffer.byteLength(flood)).toBeLessThan(51_000);
  expect(progress).toMatch(/still here|timed out after 3 s/);
  expect(forks).toContain('timed out after 3 s');
  expect(leaves).toBe('gone');
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'args']);
  expect(stdout.split('\n').filter((line) => line.includes(mark))).toEqual([]);
  expect((process.memoryUsage().rss - before) / 1024 ** 2).toBeLessThan(150);
});

test('the network is there only where the plugin wants it and it was allowed, whatever other programs have', async (context) => {
  needsSandbox(context);
  const server = createServer((socket) => socket.end('from outside\n')).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const script = `#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3 || echo no network\n`;
  for (const [wants, flags, config, expected] of [
    [true, ['network'], {}, 'from outside'],
    [true, [], {}, 'no network'],
    [true, [], { allow_network: true }, 'no network'],
    [false, [], { allow_network: true }, 'no network'],
  ] as const) {
    const dataDir = await dataDirectory();
    await approve(dataDir, { name: 'greet', script, manifest: { requires_network: wants } }, flags);
    await using at = await scene(dataDir, [hello(), 'done'], { sandbox: config });
    await at.channel.deliver({ platformId: 'm1', text: 'greet' });
    await at.daemon.gateway.idle();
    expect(at.told()[0], JSON.stringify({ wants, flags, config })).toContain(expected);
  }
});

test('a plugin whose files change is refused at its next call, and offered again once that is approved', async (context) => {
  needsSandbox(context);
  const dataDir = await dataDirectory();
  const made = { name: 'greet', script: '#!/bin/sh\necho first\n' };
  await approve(dataDir, made);
  const script: Script = ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : hello());
  await using at = await scene(dataDir, script);
  const said = async (id: string) => {
    await at.channel.deliver({ platformId: id, text: '/reset' });
    await at.channel.deliver({ platformId: `${id}b`, text: 'greet' });
    await at.daemon.gateway.idle();
    return at.told().at(-1);
  };
  expect(await said('m1')).toBe('first');
  await appendFile(join(dataDir, 'plugins/greet/main'), 'echo EVIL\n');
  expect(await said('m2')).toContain('is not what was approved any more');
  expect(await said('m3')).toMatch(/^Error: unknown tool plugin__greet__hello/);
  expect(at.daemon.plugins.status()).toMatchObject([{ plugin: 'greet', state: 'changed', offered: [] }]);
  expect(at.logger.lines.filter(({ event }) => event === 'plugin.not-approved')).toHaveLength(1);

  await approve(dataDir, { ...made, script: '#!/bin/sh\necho second\n' });
  await until('it is seen', () => at.daemon.plugins.status()[0]?.state === 'enabled');
  expect(await said('m4')).toBe('second');

  // Nothing is awaited: the daemon may not have seen it yet.
  await using opened = await openJournal({ dir: dataDir, clock: systemClock, checks: false, sync: 'in-commit' });
  await forgetPlugin(opened, 'greet', 'cli');
  expect(await said('m5')).toMatch(/is not what was approved any more|unknown tool/);
});

test('what may reach others is asked about once the run has read what a plugin printed, and below mode full at once', async (context) => {
  needsSandbox(context);
  const dataDir = await dataDirectory();
  await approve(dataDir, { name: 'greet', script: '#!/bin/sh\necho hi\n' });
  await using at = await scene(dataDir, [hello({ text: 'a' }), hello({ text: 'b' }), 'done']);
  await at.channel.deliver({ platformId: 'm1', text: 'greet' });
  const question = await until('a question', () => at.channel.sent.find(({ text }) => text.includes('May I use')));
  expect(at.model.requests).toHaveLength(2);
  expect(question.text).toContain(
    'May I use plugin__greet__hello? For test:user-1: a program needs a yes: untrusted and private',
  );
  expect(question.text).toContain('1.0.0 of plugin greet');
  await at.channel.deliver({ platformId: 'm2', text: `/allow ${/\/allow (\w+)/.exec(question.text)?.[1]}` });
  await until('the answer', () => at.channel.sent.at(-1)?.text === 'done');
  expect(at.told()).toEqual(['hi', 'hi']);
});

test('a plugin as a script of Node answers with what it was asked', async (context) => {
  needsSandbox(context);
  const dataDir = await dataDirectory();
  const node = process.execPath;
  const script = `#!${node}
let text = '';
for await (const chunk of process.stdin) text += chunk;
const { shout } = await import('./lib/shout.mjs');
console.error('working');
console.log(JSON.stringify({ output: shout(JSON.parse(text).text), success: true }));
`;
  // A name that ends in .mjs is none that an executable has; Node takes the words of the package for it.
  const files = { 'package.json': '{"type":"module"}', 'lib/shout.mjs': 'export const shout = (text) => text.toUpperCase();' };
  await approve(dataDir, { name: 'greet', script, files });
  const sandbox = { read_allow_paths: [dirname(node)], memory_mb: 100_000 };
  await using at = await scene(dataDir, [hello({ text: 'good morning' }), 'done'], { sandbox });
  await at.channel.deliver({ platformId: 'm1', text: 'greet' });
  await at.daemon.gateway.idle();
  expect(at.told()).toEqual(['GOOD MORNING']);
});

test('where the config has no sandbox for programs on purpose, a plugin runs bare', async () => {
  const dataDir = await dataDirectory();
  await approve(dataDir, { name: 'greet', script: '#!/bin/sh\necho "$GATEHOUSE_WORK_DIR"; pwd; echo "$HOME"\n' });
  await using at = await scene(dataDir, [hello(), 'done'], { sandbox: { mode: 'none' } });
  await at.channel.deliver({ platformId: 'm1', text: 'greet' });
  await at.daemon.gateway.idle();
  const [place, cwd, home] = at.told()[0]?.split('\n') ?? [];
  expect(place).toBe(cwd);
  expect(home).toMatch(/gatehouse-home-/);
  expect(place).toContain(join(dataDir, 'workspaces'));
});

test('without a sandbox no tool of a plugin is offered', async () => {
  const dataDir = await dataDirectory();
  await approve(dataDir, { name: 'greet', script: '#!/bin/sh\n' });
  await using at = await scene(dataDir, [hello(), 'done'], {});
  await at.channel.deliver({ platformId: 'm1', text: 'greet' });
  await at.daemon.gateway.idle();
  expect(at.told()[0]).toMatch(/^Error: unknown tool plugin__greet__hello/);
  expect(at.daemon.plugins.status()).toMatchObject([{ state: 'enabled' }]);
});

test('servers and hooks of a plugin run once each was approved by itself, and end with that of the plugin', async () => {
  const dataDir = await dataDirectory();
  const memory = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol/server-memory/dist/index.js');
  const files = {
    server: `#!/bin/sh\nexec ${process.execPath} ${memory} "$@"\n`,
    hook: '#!/bin/sh\ngrep -q forbidden && { echo "the plugin says no"; exit 1; }; exit 0\n',
  };
  const manifest = {
    tools: [],
    mcp_servers: { notes: { command: './server' } },
    hooks: [{ event: 'message_in', command: ['./hook'] }],
  };
  await approve(dataDir, { name: 'greet', script: '', manifest, files });
  const PATH = process.env['PATH'] ?? '';
  const script: Script = ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? `it has ${messages.at(-1)?.content}`
      : { toolCalls: [{ name: 'mcp__greet_notes__read_graph', arguments: {} }] };
  await using at = await scene(dataDir, script, {}, { programEnv: { PATH }, env: { PATH } });
  const said = async (id: string, text: string) => {
    await at.channel.deliver({ platformId: `${id}a`, text: '/reset' });
    await at.channel.deliver({ platformId: id, text });
    await at.daemon.gateway.idle();
    return at.channel.sent.at(-1)?.text;
  };
  const digest = (await readPlugin(join(dataDir, 'plugins/greet'))).digest;
  const decide = async (part: Part) => {
    await using opened = await openJournal({ dir: dataDir, clock: systemClock, checks: false, sync: 'in-commit' });
    await approvePart(opened.journal, { name: 'greet', digest }, part, 'cli');
  };
  expect(await said('m1', 'something forbidden')).toContain('it has Error: unknown tool');
  expect(at.daemon.mcp.status()).toEqual([]);

  await decide('server/notes');
  const server = await until('it is up', () => at.daemon.mcp.status().find(({ state }) => state === 'up'));
  // Its words are approved as those of any server.
  expect(server).toMatchObject({ server: 'greet_notes', offered: [] });
  const { entry } = mcpServers.parse({ entry: { command: join(dataDir, 'plugins/greet/server') } });
  const known = { dataDir, env: { PATH }, secret: (name: string) => name, clock: systemClock, logger: at.logger, version: '1' };
  const { tools } = await probe('greet_notes', entry ?? expect.fail(), known, AbortSignal.timeout(30_000));
  {
    await using opened = await openJournal({ dir: dataDir, clock: systemClock, checks: false, sync: 'in-commit' });
    await approveServer(opened.journal, 'greet_notes', tools, 'cli');
  }
  await until('its tools are offered', () => at.daemon.mcp.status()[0]?.offered.includes('mcp__greet_notes__read_graph'));
  expect(await said('m2', 'something forbidden')).toContain('"entities"');

  await decide('hook/0');
  await until('the hook is asked', async () => {
    // Of twenty commands a minute each try takes one.
    await sleep(200);
    return (await said(`h${Math.random()}`, 'forbidden'))?.includes('the plugin says no');
  });
  expect(await said('m3', 'allowed')).toContain('"entities"');

  await using opened = await openJournal({ dir: dataDir, clock: systemClock, checks: false, sync: 'in-commit' });
  await forgetPlugin(opened, 'greet', 'cli');
  await until('the server is gone', () => at.daemon.mcp.status().length === 0);
  expect(await said('m4', 'something forbidden')).toContain('it has Error: unknown tool');
});
