// Servers that break the protocol or abuse it, each beside two good ones that must not notice.

import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mcpServers } from '../../../config/sections/mcp.ts';
import type { McpStatus } from '../../core/status.ts';
import type { Tool, ToolResult } from '../../core/tool.ts';
import { type OpenedJournal, openJournal } from '../../journal/open.ts';
import { quickClock } from '../../testing/channel-host.ts';
import { MemoryLogger, tempDir, until } from '../../testing/fakes.ts';
import { nth, testSample } from '../../testing/sample.ts';
import { runScope, toolCall } from '../../testing/tool-scope.ts';
import { McpServers } from './servers.ts';

const SERVER = join(import.meta.dirname, '../../testing/mcp-server.ts');
const PACKAGES = join(import.meta.dirname, '../../../node_modules/@modelcontextprotocol');
const clock = quickClock(6);
const logger = new MemoryLogger();

let dir: Awaited<ReturnType<typeof tempDir>>;
let opened: OpenedJournal;
let servers: McpServers;
const GOOD = ['notes', 'files'];
let cases = 0;
/** Lines of the log when the good servers were up. */
let begun = 0;

beforeAll(async () => {
  dir = await tempDir();
  opened = await openJournal({ dir: dir.path, clock });
  const { journal, pins } = opened;
  const env = { PATH: process.env['PATH'] ?? '' };
  servers = new McpServers({
    ...{ dataDir: dir.path, env, clock, logger, journal, pins, version: '1.0.0' },
    secret: (name) => `secret of ${name}`,
    redact: (text) => text.replaceAll('secret of TOKEN', '[redacted]'),
  });
  await servers.apply(mcpServers.parse(good()));
  for (const name of GOOD) await until(`${name} is up`, () => statusOf(name).state === 'up', 110_000);
  // A busy machine may start them too slowly for the limit; once they are up, nothing may end them.
  begun = logger.lines.length;
});

afterAll(async () => {
  await servers[Symbol.asyncDispose]();
  await opened[Symbol.asyncDispose]();
  await dir[Symbol.asyncDispose]();
});

function good(): Record<string, unknown> {
  const entry = (name: string, ...args: readonly string[]) => ({
    ...{ command: process.execPath, args: [join(PACKAGES, name, 'dist/index.js'), ...args], pin: 'first-use' },
  });
  return { notes: entry('server-memory'), files: entry('server-filesystem', dir.path) };
}

/** Its name differs in each case, so that nothing was approved of it. */
async function play(mode: string, entry: Record<string, unknown> = {}): Promise<string> {
  cases += 1;
  const name = `evil${cases}`;
  const evil = { command: process.execPath, args: [SERVER, mode], pin: 'first-use', timeout_secs: 10, ...entry };
  await servers.apply(mcpServers.parse({ ...good(), [name]: evil }));
  return name;
}

function statusOf(name: string): McpStatus {
  const found = servers.status().find(({ server }) => server === name);
  if (!found) throw new Error(`no server ${name}`);
  return found;
}

async function settled(name: string): Promise<McpStatus> {
  await until(`${name} is up or down`, () => statusOf(name).state !== 'starting');
  return statusOf(name);
}

function toolOf(id: string): Tool {
  const tool = servers
    .sources()
    .flatMap((source) => source.tools(runScope()))
    .find(({ name }) => name === id);
  if (!tool) throw new Error(`no tool ${id}`);
  return tool;
}

async function call(id: string, signal = new AbortController().signal): Promise<ToolResult> {
  return await toolOf(id).run({}, toolCall({ workspace: dir.path, signal }));
}

/** Both answer, on the connections that they have had from the beginning. */
async function goodServersAnswer(): Promise<void> {
  for (const name of GOOD) await until(`${name} is up`, () => statusOf(name).state === 'up');
  expect(await call('mcp__notes__read_graph')).toMatchObject({ ok: true });
  expect(await call('mcp__files__list_allowed_directories')).toMatchObject({ ok: true });
  const lost = logger.lines
    .slice(begun)
    .filter(({ event, data }) => event === 'mcp.down' && GOOD.includes(String(data['server'])));
  expect(lost).toEqual([]);
}

const BROKEN = [
  ['silent', /did not answer within 30 s/],
  ['deaf', /did not answer within 30 s/],
  ['other-id', /did not answer within 30 s/],
  ['endless-line', /a line of more than 1048576 bytes/],
  ['huge-line', /a line of more than 1048576 bytes/],
  ['noise', /more than 100 lines that are no messages/],
  ['flood', /more than 2000 messages in 10 s/],
  // On a busy machine it is not heard through its own flood.
  ['question-flood', /more than 2000 messages in 10 s|did not answer within 30 s/],
  ['deep-line', /nested too deeply/],
  ['deep-object', /nested too deeply/],
  ['sudden', /ended with status 3; the last that it said is: no database there$/],
  ['refuses', /pay first/],
  ['other-version', /protocol version/i],
  ['odd-handshake', /did not answer within 30 s/],
  ['silent-list', /tools\/list was not answered within 30 s/],
  ['sudden-list', /ended with status 4/],
  ['no-list', /expected array/],
] as const;

// One of each kind: it says nothing, too much, nonsense, or ends.
const KINDS = new Set<string>(['silent', 'huge-line', 'flood', 'deep-line', 'sudden-list', 'no-list']);

testSample(BROKEN, ([mode]) => KINDS.has(mode))(
  'A38 a server that is %s is down with the reason, and the others go on',
  async ([mode, detail]) => {
    const name = await play(mode);
    await until(`${name} is down`, () => statusOf(name).state === 'down');
    expect(statusOf(name).detail).toMatch(detail);
    // One that floods may have listed its tools before.
    if (mode !== 'question-flood' && mode !== 'flood') expect(statusOf(name).offered).toEqual([]);
    await goodServersAnswer();
  },
);

test.each([
  ['endless-list', /more than 50 pages/, 0],
  ['round-list', /no end/, 1],
  ['many-tools', /500 tools or more/, 500],
  ['no-tools', /has no tools/, 0],
] as const)('A38 of a list that is %s what is read has an end, which is told', async (mode, detail, count) => {
  const status = await settled(await play(mode));
  expect(status).toMatchObject({ state: 'up', detail: expect.stringMatching(detail) });
  expect(status.offered).toHaveLength(count);
  await goodServersAnswer();
});

const TOOLS = [
  [
    'odd-tools',
    [/not valid/, /not valid/, /not valid/, /not valid/, /not valid/, /not valid/, /not valid/, /not that of an object/],
  ],
  ['deep-schema', [/more than 10 levels/]],
  ['bottomless-schema', [/more than 10 levels/]],
  ['wide-schema', [/more than 65536 bytes/]],
  ['far-ref', [/another document/]],
  ['own-names', Array.from({ length: 5 }, () => /that of a tool of Gatehouse itself/)],
  ['unseen-names', Array.from({ length: 6 }, () => /people cannot see/)],
] as const;

testSample(TOOLS, nth(2))(
  'A38 with tools that are %s, those are skipped with the reason and the good one is offered',
  async ([mode, reasons]) => {
    const name = await play(mode);
    const { offered, skipped } = await settled(name);
    expect(offered).toEqual([`mcp__${name}__do`]);
    expect(skipped.map(({ reason }) => reason)).toEqual(reasons.map((reason) => expect.stringMatching(reason)));
    await goodServersAnswer();
  },
);

test('A38 of two tools with one name neither is offered, also where the names only become one', async () => {
  const { offered, skipped } = await settled(await play('twins'));
  expect(offered).toEqual([]);
  expect(skipped).toHaveLength(2);
});

test('A38 long names are shortened to what every provider takes', async () => {
  const name = await play('long-name');
  const { offered, skipped } = await settled(name);
  expect(offered).toHaveLength(2);
  expect(offered[0]).toMatch(/^mcp__evil\d+__n+_[0-9a-f]{8}$/);
  expect(offered[0]?.length).toBe(64);
  expect(skipped).toHaveLength(1);
});

test('A32 A38 the words of a tool reach the model bounded, and without what people cannot see', async () => {
  const unseen = await play('unseen-words');
  await settled(unseen);
  expect(toolOf(`mcp__${unseen}__do`).description).toBe(`[MCP server ${unseen}] says this`);
  const long = await play('long-words');
  await settled(long);
  expect(toolOf(`mcp__${long}__do`).description.length).toBeLessThan(2_100);
});

test('A38 names and schemas with __proto__ change no object', async () => {
  const name = await play('proto');
  const { offered } = await settled(name);
  expect(offered).toContain(`mcp__${name}__do`);
  expect(({} as Record<string, unknown>)['bad']).toBeUndefined();
});

const CALLS = [
  ['good', true, /^done$/],
  ['greeting', true, /^done$/],
  ['twice', true, /^done$/],
  ['loud-error', true, /^done$/],
  ['silent-call', false, /no answer within 10 s.*whether the call took effect is unknown/],
  ['wrong-id', false, /no answer within 10 s/],
  ['endless-progress', false, /no answer within 50 s/],
  ['dies-in-call', false, /ended with SIGKILL.*whether the call took effect is unknown/],
  ['huge-line-call', false, /a line of more than 1048576 bytes/],
  ['odd-result', false, /no valid answer/],
  ['null-result', false, /gave no answer|no valid answer/],
  ['deep-result', false, /nested too deeply/],
  ['many-parts', true, /\[4000 more parts not shown\]$/],
  [
    'odd-parts',
    true,
    /^\[image, image\/png, 3 bytes, not shown\]\n\[resource a b: file:\/\/\/etc\/passwd\]\n\[part of an unknown kind: strange\]\na/,
  ],
  ['failing', false, /^no such thing$/],
  ['refusing', false, /refused the call: .*not like this/],
  ['structured', false, /not what the tool promises: n is not of type number/],
  ['ref-loop', false, /too large to be checked/],
  ['slow-pattern', true, /aaaa!/],
  ['asks-model', true, /done with .*may not use the model.*\n\[The server asked for sampling\/createMessage and was refused/],
  [
    'asks-person',
    true,
    /\[The server asked for elicitation\/create \(“your password\?”\) and was refused.*Ask the person yourself/,
  ],
  ['asks-roots', true, /done with .*is told of no directories/],
  ['asks-all', true, /\[The server asked for shell\/run and was refused/],
] as const;

testSample(CALLS, nth(3))('A38 a call of a server that is %s ends, and the others go on', async ([mode, ok, output]) => {
  const name = await play(mode, mode === 'endless-progress' ? { timeout_secs: 5 } : {});
  await settled(name);
  const result = await call(`mcp__${name}__do`);
  expect(result).toEqual({ ok, output: expect.stringMatching(output) });
  // Controls other than the end of a line never reach the model.
  expect(result.output).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
  await goodServersAnswer();
});

test('a server that died in a call is started again, and the next call works', async () => {
  const name = await play('dies-in-call', { args: [SERVER, 'dies-in-call'] });
  await settled(name);
  expect(await call(`mcp__${name}__do`)).toMatchObject({ ok: false });
  const ups = () => logger.lines.filter(({ event, data }) => event === 'mcp.down' && data['server'] === name).length;
  await until('it was seen to be down', () => ups() > 0);
  await until('it is up again', () => statusOf(name).state === 'up');
  expect(await call(`mcp__${name}__told`)).toMatchObject({ ok: true });
});

test('a call that is given up is cancelled at the server', async () => {
  const name = await play('silent-call');
  await settled(name);
  const ending = new AbortController();
  const pending = call(`mcp__${name}__do`, ending.signal);
  await until('it was told of the call', async () =>
    (await call(`mcp__${name}__told`)).output.includes('tools/call {"name":"do"'),
  );
  ending.abort(new Error('stopped'));
  await expect(pending).rejects.toThrow('stopped');
  await until('it was told', async () => (await call(`mcp__${name}__told`)).output.includes('notifications/cancelled'));
});

test('A38 a tool that changes its words after the approval is offered no more, and not called', async () => {
  const name = await play('changes');
  await settled(name);
  const before = toolOf(`mcp__${name}__do`);
  expect(await call(`mcp__${name}__do`)).toMatchObject({ ok: true });
  await until('the change was seen', () => statusOf(name).waiting.length === 1);
  expect(statusOf(name)).toMatchObject({
    offered: [`mcp__${name}__told`],
    waiting: [{ tool: `mcp__${name}__do`, standing: 'changed' }],
  });
  const context = toolCall({ workspace: dir.path });
  expect(await before.run({}, context)).toEqual({
    ok: false,
    output: expect.stringContaining('is not what was approved any more'),
  });
});

test('without first-use nothing is offered before it was approved', async () => {
  const name = await play('good', { pin: 'approve' });
  const { offered, waiting } = await settled(name);
  expect(offered).toEqual([]);
  expect(waiting.map(({ standing }) => standing)).toEqual(['new', 'new']);
});

test('A27 A28 a server is given the variables that its entry names, and no others', async () => {
  process.env['CANARY_OF_THIS_TEST'] = 'CANARY';
  const name = await play('environment', { env: ['TOKEN'] });
  await settled(name);
  const { output } = await call(`mcp__${name}__do`);
  expect(output).toBe(`GATEHOUSE_PROCESS PATH TOKEN in ${join(dir.path, 'mcp', name)}`);
});

test.each(['stubborn', 'parent'])('a server that is %s is gone with its processes once it is taken out', async (mode) => {
  const name = await play(mode);
  await settled(name);
  const { output } = await call(`mcp__${name}__told`);
  const child = Number(/child (\d+)/.exec(output)?.[1] ?? 0);
  await servers.apply(mcpServers.parse(good()));
  await until('its group is gone', () => child === 0 || !isAlive(child));
  expect(servers.status().map(({ server }) => server)).toEqual(['files', 'notes']);
  await goodServersAnswer();
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // ESRCH
  }
}
