// The whole daemon, with servers of MCP from npm as they are, and people on a channel.
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { configSchema } from '../../config/schema.ts';
import { mcpServers } from '../../config/sections/mcp.ts';
import type { ModelRequest } from '../core/model.ts';
import type { Tool } from '../core/tool.ts';
import { openJournal } from '../journal/open.ts';
import { systemClock } from '../lib/clock.ts';
import { estimateRequestTokens } from '../llm/tokens.ts';
import { startChild } from '../testing/child-daemon.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { isFullLoad } from '../testing/full-load.ts';
import { needs } from '../testing/needs.ts';
import { nth, testSample } from '../testing/sample.ts';
import { type Script, scriptedModel } from '../testing/scripted-model.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';
import { probe } from '../tools/mcp/look.ts';
import { approve, approvedOf, forget } from '../tools/mcp/pin.ts';

const PACKAGES = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol');

/** A server from npm, which counts as approved as it is first seen. */
function fromNpm(name: string, ...args: readonly string[]): Record<string, unknown> {
  return { command: process.execPath, args: [join(PACKAGES, name, 'dist/index.js'), ...args], pin: 'first-use' };
}

const FULL = { members: ['mcp__*'], senders: { 'test:user-1': { mode: 'full' } } };
const PATH = process.env['PATH'] ?? '';

async function daemonWith(
  options: Pick<Parameters<typeof testDaemon>[0], 'dataDir' | 'policy' | 'sections'> & {
    readonly script: Script;
    readonly mcp: Record<string, unknown>;
    readonly secret?: (name: string) => string;
    readonly extraTools?: readonly Tool[];
    /** The person who writes owns the gateway. */
    readonly owner?: true;
  },
) {
  const { script, policy = FULL, secret = (name) => name, owner, extraTools = [], ...more } = options;
  const model = scriptedModel(script);
  const gateway = owner ? { owner: [{ channel: 'test', chat_id: 'chat-1', sender_ids: ['user-1'] }] } : {};
  const rig = await testDaemon({
    ...more,
    policy,
    model,
    gateway,
    daemon: { programEnv: { PATH }, secret, extraTools: [() => extraTools] },
  });
  const channels = [{ type: 'test', allowed_senders: ['user-1', '*'] }];
  const config = configSchema.parse({ gateway: { channels, ...gateway }, tool_policy: policy, mcp_servers: options.mcp });
  return { ...rig, model, config };
}

/** As one of a plugin or a later version, with more words than it needs. */
function furtherTool(n: number): Tool {
  const parameters = { type: 'object', properties: { text: { type: 'string', description: 'words '.repeat(50) } } };
  return {
    ...{ name: `further_tool_number_${n}`, description: 'words '.repeat(50), parameters, tags: [], effect: 'outside' },
    ...{ outputBytes: 100, run: async () => ({ ok: true, output: '' }) },
  };
}

function up({ logger }: Pick<TestDaemon, 'logger'>, count = 1): Promise<unknown> {
  return until('servers are up', () => logger.lines.filter(({ event }) => event === 'mcp.up').length >= count);
}

test('a tool of an MCP server is called for a message, and its result reaches the model and the chat', async () => {
  await using dir = await tempDir();
  await using rig = await daemonWith({
    dataDir: dir.path,
    mcp: { everything: fromNpm('server-everything') },
    script: [
      { toolCalls: [{ id: 't1', name: 'mcp__everything__echo', arguments: { message: 'a word' } }] },
      ({ messages }) => `it said: ${messages.at(-1)?.content}`,
    ],
  });
  await up(rig);
  await rig.channel.deliver({ text: 'say it' });
  await rig.daemon.gateway.idle();
  expect(rig.channel.texts()).toEqual(['it said: Echo: a word']);
});

test('two servers of MCP are used in one turn, and what they changed is there', async () => {
  await using dir = await tempDir();
  const shared = join(dir.path, 'shared');
  await mkdir(shared);
  await writeFile(join(shared, 'note.txt'), 'the tea is green');
  const entities = [{ name: 'tea', entityType: 'drink', observations: ['green'] }];
  await using rig = await daemonWith({
    dataDir: join(dir.path, 'data'),
    mcp: {
      files: fromNpm('server-filesystem', shared),
      notes: { ...fromNpm('server-memory'), env: ['MEMORY_FILE_PATH'] },
    },
    secret: () => join(dir.path, 'memory.jsonl'),
    script: [
      { toolCalls: [{ id: 't1', name: 'mcp__files__read_text_file', arguments: { path: join(shared, 'note.txt') } }] },
      { toolCalls: [{ id: 't2', name: 'mcp__notes__create_entities', arguments: { entities } }] },
      { toolCalls: [{ id: 't3', name: 'mcp__files__read_text_file', arguments: { path: '/etc/hostname' } }] },
      ({ messages }) =>
        messages
          .filter(({ role }) => role === 'tool')
          .map(({ content }) => content.slice(0, 60))
          .join(' | '),
    ],
  });
  await up(rig, 2);
  await rig.channel.deliver({ text: 'remember the note' });
  // What a program of this machine said is private and foreign, so each further call wants a yes.
  for (const nth of [0, 1]) {
    await until('a question', () => rig.channel.texts().length > 2 * nth);
    const code = /`\/allow (\w+)`/.exec(rig.channel.texts().at(-1) ?? '')?.[1];
    await rig.channel.deliver({ text: `/allow ${code}` });
    await rig.daemon.gateway.idle();
  }
  expect(rig.channel.texts().at(-1)).toMatch(/^the tea is green.* \| .*"tea".* \| Error: Access denied/s);
  expect(await readFile(join(dir.path, 'memory.jsonl'), 'utf8')).toContain('"name":"tea"');
});

test('a tool that was not approved, and one that the config does not give to the person, is not offered', async () => {
  await using dir = await tempDir();
  const everything = {
    ...fromNpm('server-everything'),
    tools: { allow: ['echo', 'get-*'], deny: ['get-tiny*', 'get-e*', 'get-a*', 'get-r*', 'get-st*'] },
  };
  const offered = async (mcp: Record<string, unknown>, policy: Record<string, unknown>): Promise<string> => {
    await using rig = await daemonWith({
      dataDir: join(dir.path, `${Math.random()}`),
      mcp: { everything: mcp },
      policy,
      script: ['fine'],
    });
    await up(rig);
    await rig.channel.deliver({ text: 'hello' });
    await rig.daemon.gateway.idle();
    expect(rig.channel.texts()).toEqual(['fine']);
    return JSON.stringify(rig.model.requests[0]?.tools ?? []);
  };
  expect(await offered(everything, FULL)).toContain('mcp__everything__echo');
  expect(await offered({ ...everything, pin: 'approve' }, FULL)).not.toContain('mcp__everything__');
  expect(await offered(everything, {})).not.toContain('mcp__everything__');
  const denied = await offered(everything, { ...FULL, deny: ['mcp__everything__e*'] });
  expect(denied).not.toContain('mcp__everything__echo');
  expect(denied).toContain('mcp__everything__');
});

test('in mode guarded a person is asked before a tool of a server runs', async () => {
  await using dir = await tempDir();
  await using rig = await daemonWith({
    dataDir: dir.path,
    mcp: { everything: fromNpm('server-everything') },
    policy: { members: ['mcp__*'] },
    owner: true,
    script: [
      { toolCalls: [{ id: 't1', name: 'mcp__everything__echo', arguments: { message: 'a word' } }] },
      ({ messages }) => `it said: ${messages.at(-1)?.content}`,
    ],
  });
  await up(rig);
  await rig.channel.deliver({ text: 'say it', platformId: 'm-1' });
  await until('the question is there', () => rig.channel.texts().some((text) => text.includes('mcp__everything__echo')));
  const code = /\/allow ([A-Z0-9]+)/.exec(rig.channel.texts().join('\n'))?.[1];
  await rig.channel.deliver({ text: `/allow ${code}`, platformId: 'm-2' });
  await until('the answer is there', () => rig.channel.texts().includes('it said: Echo: a word'));
});

test('a changed config starts, replaces and ends servers while the others keep their connection', async () => {
  await using dir = await tempDir();
  const notes = fromNpm('server-memory');
  await using rig = await daemonWith({ dataDir: dir.path, mcp: { notes }, script: ['fine'] });
  await up(rig);
  const reload = (mcp: Record<string, unknown>) =>
    rig.daemon.reload({ ...rig.config, mcp_servers: mcpServers.parse(mcp) }, new AbortController().signal);
  const files = fromNpm('server-filesystem', dir.path);
  expect(await reload({ notes, files })).toEqual([{ key: 'mcp_servers.files', cost: 'live', detail: 'added' }]);
  await up(rig, 2);
  expect(rig.daemon.mcp.status()).toMatchObject([
    { server: 'files', state: 'up' },
    { server: 'notes', state: 'up' },
  ]);
  expect(await reload({ notes, files: { ...files, timeout_secs: 5 } })).toEqual([
    { key: 'mcp_servers.files', cost: 'restart-part', lost: 0 },
  ]);
  await up(rig, 3);
  expect(await reload({ notes })).toEqual([{ key: 'mcp_servers.files', cost: 'live', detail: 'removed' }]);
  expect(rig.daemon.mcp.status().map(({ server }) => server)).toEqual(['notes']);
  expect(rig.logger.lines.filter(({ event, data }) => event === 'mcp.up' && data['server'] === 'notes')).toHaveLength(1);
});

test('an approval of the command line reaches the running daemon, and taking it back too', async () => {
  await using dir = await tempDir();
  await using rig = await daemonWith({
    dataDir: dir.path,
    mcp: { notes: { ...fromNpm('server-memory'), pin: 'approve' } },
    script: ['fine'],
  });
  await up(rig);
  expect(rig.daemon.mcp.status()[0]).toMatchObject({ offered: [], waiting: { length: 11 } });
  await using other = await openJournal({ dir: dir.path, clock: systemClock });
  const entry = mcpServers.parse({ notes: fromNpm('server-memory') })['notes'];
  if (!entry) throw new Error('no entry');
  const about = {
    version: '1',
    clock: systemClock,
    dataDir: dir.path,
    env: { PATH },
    secret: (name: string) => name,
    logger: rig.logger,
  };
  const { tools } = await probe('notes', entry, about, new AbortController().signal);
  await approve(other.journal, 'notes', tools, 'cli');
  await until('all are offered', () => rig.daemon.mcp.status()[0]?.offered.length === 11);
  await forget(other.journal, 'notes', await approvedOf('notes', other.pins), 'cli');
  await until('none is offered', () => rig.daemon.mcp.status()[0]?.offered.length === 0);
});

test.skipIf(!isFullLoad())(
  'what each call pays for prompt and tools stays below 1,000 tokens with five servers, forty tools of theirs and thirty more',
  async (context) => {
    needs(context, 'bwrap', '--ro-bind', '/', '/', '--unshare-all', '--proc', '/proc', 'true');
    await using dir = await tempDir();
    const servers = Object.fromEntries(['one', 'two', 'three'].map((name) => [name, fromNpm('server-filesystem', dir.path)]));
    await using rig = await daemonWith({
      dataDir: join(dir.path, 'data'),
      mcp: {
        ...servers,
        everything: fromNpm('server-everything'),
        notes: { ...fromNpm('server-memory'), env: ['MEMORY_FILE_PATH'] },
      },
      owner: true,
      policy: { mode: 'full' },
      sections: { sandbox: {} },
      secret: () => join(dir.path, 'memory.jsonl'),
      extraTools: Array.from({ length: 30 }, (_, n) => furtherTool(n)),
      script: ['hello'],
    });
    await up(rig, 5);
    await rig.channel.deliver({ text: 'hi' });
    await rig.daemon.gateway.idle();
    const offered = rig.daemon.mcp.status().flatMap(({ offered: tools }) => tools);
    expect(offered.length).toBeGreaterThanOrEqual(40);
    const [request] = rig.model.requests;
    const said = request?.messages.at(-1);
    const tokens = estimateRequestTokens({
      ...request,
      messages: (request?.messages ?? []).filter((one) => one !== said),
    } as ModelRequest);
    expect(tokens).toBeLessThanOrEqual(1_000);
  },
);

test('a server that a killed daemon left, and that goes on without it, is ended by the next start', async () => {
  const mark = `deaf-${process.pid}`;
  const servers = async () =>
    (await promisify(execFile)('ps', ['-eo', 'args'])).stdout.split('\n').filter((args) => args.includes(mark));
  const args = [join(import.meta.dirname, '../testing/mcp-server.ts'), 'deaf', mark];
  await using dir = await tempDir();
  const gateway = { channels: [{ type: 'cli' }], http: { port: 0 } };
  const config = { gateway, mcp_servers: { deaf: { command: process.execPath, args, pin: 'first-use' } } };
  await using daemon = await startChild({ dir: dir.path, config, stdin: 'pipe' });
  const { pid } = await daemon.ready();
  await until('the server runs', async () => (await servers()).length > 0);
  process.kill(pid, 'SIGKILL');
  await daemon.ended;
  await sleep(300);
  expect(await servers()).toHaveLength(1);
  await using again = await startChild({ dir: dir.path, config: { gateway }, stdin: 'pipe' });
  await again.ready();
  await sleep(1_000);
  expect(await servers()).toEqual([]);
});

/** Of the suite of the protocol's own makers, played against the client that the daemon uses. */
testSample(['initialize', 'tools_call', 'sse-retry', 'elicitation-sep1034-client-defaults'], nth(4, 1))(
  'the conformance suite of MCP passes: %s',
  async (scenario) => {
    const suite = join(PACKAGES, 'conformance/dist/index.js');
    const client = join(import.meta.dirname, '../testing/mcp-conformance-client.ts');
    const guard = join(import.meta.dirname, '../cli/node-guard.mjs');
    const command = [process.execPath, '--import', guard, client].join(' ');
    await using dir = await tempDir();
    const args = [suite, 'client', '--command', command, '--scenario', scenario, '--output-dir', dir.path];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: dir.path });
    expect(stdout + stderr).toMatch(/Passed: ([1-9]\d*)\/\1, 0 failed/);
  },
);
