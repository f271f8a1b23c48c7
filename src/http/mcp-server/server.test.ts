// Clients that mean harm, on the socket itself: the whole daemon, a channel in memory, no bridge in between.
import { once } from 'node:events';
import { chmod, lstat, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { countingTool } from '../../testing/agent-run.ts';
import { gate, tempDir, until } from '../../testing/fakes.ts';
import { type Script, scriptedModel } from '../../testing/scripted-model.ts';
import { testDaemon } from '../../testing/test-daemon.ts';
import { Bridge } from './bridge.ts';
import type { RpcMessage } from './lines.ts';
import { socketPath } from './socket-file.ts';

const MIB = 1024 * 1024;

interface Answer extends RpcMessage {
  readonly result?: { readonly content?: readonly { readonly text: string }[]; readonly isError?: boolean };
  readonly error?: { readonly code: number; readonly message: string };
}

function daemonIn(dataDir: string, clients: object, script: Script = () => 'hello') {
  return testDaemon({ dataDir, model: scriptedModel(script), sections: { mcp_clients: clients } });
}

/** A connection without manners. */
class Raw implements AsyncDisposable {
  readonly socket: Socket;
  readonly lines: Answer[] = [];
  #rest = '';

  constructor(path: string) {
    this.socket = connect(path);
    this.socket.on('error', () => undefined);
    this.socket.setEncoding('utf8').on('data', (text: string) => {
      const lines = (this.#rest + text).split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) this.lines.push(JSON.parse(line) as Answer);
    });
  }

  static async of(path: string, as: string): Promise<Raw> {
    const raw = new Raw(path);
    raw.write({ as, id: 'raw' });
    await until('it is let in', () => raw.lines.length > 0);
    expect(raw.lines.shift()).toEqual({ ok: true });
    return raw;
  }

  write(...lines: readonly unknown[]): void {
    this.socket.write(lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''));
  }

  call(id: number, name: string, args: unknown = {}): void {
    this.write({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });
  }

  answer(id: number | null): Promise<Answer> {
    return until(`${id} is answered`, () => this.lines.find((line) => line.id === id));
  }

  async text(id: number, name: string, args: unknown = {}): Promise<string> {
    this.call(id, name, args);
    return (await this.answer(id)).result?.content?.[0]?.text ?? '';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.socket.closed) return;
    this.socket.destroy();
    await once(this.socket, 'close');
  }
}

test.concurrent('a thousand calls at once: sixteen run, the others are refused, and another client is answered meanwhile', async () => {
  await using dir = await tempDir();
  const answering = gate();
  const isSlow = (text: string) => text.includes('slow');
  await using rig = await daemonIn(dir.path, { bad: {}, good: {} }, async ({ messages }) => {
    if (isSlow(messages.at(-1)?.content ?? '')) await answering.opened;
    return 'done';
  });
  await using bad = await Raw.of(socketPath(dir.path), 'bad');
  await using good = await Raw.of(socketPath(dir.path), 'good');
  for (let n = 1; n <= 1_000; n += 1) bad.call(n, 'ask', { text: 'slow', session: `s${n}` });
  await until('the others are refused', () => bad.lines.length >= 984);
  expect(bad.lines.every(({ error }) => error?.code === -32_000)).toBe(true);
  expect(await good.text(1, 'ask', { text: 'quick' })).toBe('done');
  answering.open();
  await until('all are answered', () => bad.lines.length === 1_000);
  expect(bad.lines.filter(({ result }) => result?.content?.[0]?.text === 'done')).toHaveLength(16);
  await rig.daemon.gateway.idle();
});

test.concurrent('a client has as much waiting as a person may, and one that is blocked is refused whatever the config says', async () => {
  await using dir = await tempDir();
  const answering = gate();
  const model = scriptedModel(() => answering.opened.then(() => 'done'));
  await using rig = await testDaemon({
    ...{
      dataDir: dir.path,
      model,
      sections: { mcp_clients: { coder: {} } },
      limits: { person_messages: 3, person_turns_at_once: 1 },
    },
  });
  await using coder = await Raw.of(socketPath(dir.path), 'coder');
  for (const n of [1, 2, 3])
    expect(await coder.text(n, 'ask', { text: `${n}`, session: `s${n}`, wait_secs: 0 })).toContain('still at work');
  expect(await coder.text(4, 'ask', { text: '4', wait_secs: 0 })).toContain('too much of yours waits');
  await until('one turn runs', () => model.requests.length === 1);
  await rig.daemon.journal.commit([{ kind: 'shut-out', who: { channel: 'mcp', senderId: 'coder' }, as: 'blocked', by: 'cli' }]);
  await rig.daemon.gateway.look();
  expect(await coder.text(5, 'ask', { text: '5' })).toContain('blocked');
  answering.open();
  await rig.daemon.gateway.idle();
  expect(model.requests).toHaveLength(1);
});

test.concurrent('a client that may read chats counts as having read them: what it asks for needs a yes to leave', async () => {
  await using dir = await tempDir();
  const look = countingTool({ name: 'mcp__web__look', effect: 'none', act: 'network' });
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'looked' : { toolCalls: [{ name: 'mcp__web__look', arguments: { at: 'a page' } }] },
  );
  const chats = [{ channel: 'test', chat_id: 'chat-1' }];
  await using _rig = await testDaemon({
    ...{ dataDir: dir.path, model, daemon: { extraTools: [() => [look]] } },
    gateway: { owner: [{ channel: 'test', chat_id: 'chat-1' }] },
    sections: { mcp_clients: { plain: { allow: ['mcp__*'] }, reader: { allow: ['mcp__*'], chats } } },
  });
  await using plain = await Raw.of(socketPath(dir.path), 'plain');
  await using reader = await Raw.of(socketPath(dir.path), 'reader');
  expect(await plain.text(1, 'ask', { text: 'look' })).toBe('looked');
  expect(await reader.text(1, 'ask', { text: 'look' })).toContain('untrusted and private things were read');
  expect(look.runs).toBe(1);
});

test.concurrent('a line of 100 MB ends its connection and is never held', async () => {
  await using dir = await tempDir();
  await using _rig = await daemonIn(dir.path, { bad: {}, good: {} });
  await using bad = await Raw.of(socketPath(dir.path), 'bad');
  await using good = await Raw.of(socketPath(dir.path), 'good');
  const before = process.memoryUsage().rss;
  const chunk = Buffer.alloc(MIB, 'a');
  for (let n = 0; n < 100 && !bad.socket.destroyed; n += 1)
    if (!bad.socket.write(chunk))
      await Promise.race([once(bad.socket, 'drain'), once(bad.socket, 'close')]).catch(() => undefined);
  await until('it is out', () => bad.socket.closed);
  expect(await good.text(1, 'ask', { text: 'hi' })).toBe('hello');
  expect(process.memoryUsage().rss - before).toBeLessThan(150 * MIB);
});

test.concurrent('lines that are no messages are refused one by one, and the connection goes on', async () => {
  await using dir = await tempDir();
  await using _rig = await daemonIn(dir.path, { bad: {} });
  await using bad = await Raw.of(socketPath(dir.path), 'bad');
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
  const WRONG: readonly (readonly [string, number])[] = [
    ['no json', -32_700],
    ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32_600],
    ['null', -32_600],
    ['{"id":1,"method":"ping"}', -32_600],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', -32_600],
    ['{"jsonrpc":"2.0","id":{},"method":"ping"}', -32_600],
    ['{"jsonrpc":"2.0","id":7,"method":"ping","params":3}', -32_600],
    [`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"ask","arguments":{"text":${deep}}}}`, -32_600],
    ['{"jsonrpc":"2.0","id":9,"method":"no/such"}', -32_601],
    ['{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":7}}', -32_603],
  ];
  bad.write(...WRONG.map(([line]) => line));
  await until('all are refused', () => bad.lines.length === WRONG.length);
  expect(bad.lines.map(({ error }) => error?.code).toSorted()).toEqual(WRONG.map(([, code]) => code).toSorted());
  expect((await bad.answer(8)).error?.message).toContain('nested');
  for (const [n, args] of [
    {},
    { text: '' },
    { text: 3 },
    { text: 'a', key: '\u0000' },
    { text: 'a', session: '' },
    { txt: 'a' },
    [],
    'a',
  ].entries()) {
    bad.call(100 + n, 'ask', args);
    const { result, error } = await bad.answer(100 + n);
    expect(result?.isError === true || error !== undefined, JSON.stringify(args)).toBe(true);
  }
  expect(await bad.text(200, '__proto__')).toContain('there is no tool');
  expect(await bad.text(201, 'read_chat', { chat: 'test:chat-1' })).toContain('there is no tool');
  expect(await bad.text(202, 'result', { id: 'api/other/x' })).toContain('no ask of yours');
  expect(await bad.text(203, 'result', { id: 'test/bot/m1' })).toContain('no ask of yours');
  expect(await bad.text(204, 'ask', { text: 'hi', session: '../../x#y%2F/z', key: '../k' })).toBe('hello');
});

test.concurrent('a client that reads nothing is dropped, and what waited for it is given up', async () => {
  await using dir = await tempDir();
  await using rig = await daemonIn(dir.path, { bad: {}, good: {} });
  await using bad = await Raw.of(socketPath(dir.path), 'bad');
  await using good = await Raw.of(socketPath(dir.path), 'good');
  bad.socket.pause();
  const list = Array.from({ length: 500 }, (_, id) => `{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`).join('\n');
  for (let n = 0; n < 200 && !bad.socket.destroyed; n += 1) {
    bad.write(list);
    await new Promise((resolve) => setImmediate(resolve));
  }
  // The daemon's end alone is closed: this one learns of it once it reads.
  await until('it is dropped', () => rig.logger.lines.some(({ event }) => event === 'mcp-clients.left'));
  expect(await good.text(1, 'ask', { text: 'hi' })).toBe('hello');
});

test.concurrent('who is not in the config, says nothing that makes sense, or has enough connections is not let in', async () => {
  await using dir = await tempDir();
  await using _rig = await daemonIn(dir.path, { coder: {} });
  const path = socketPath(dir.path);
  for (const as of ['desk', 'Coder', '__proto__', 'constructor', '']) {
    await using raw = new Raw(path);
    raw.write({ as, id: 'raw' });
    await until('it is refused', () => raw.socket.closed);
    expect(raw.lines).toMatchObject([{ ok: false, code: 'GH1003' }]);
  }
  for (const line of ['GET / HTTP/1.1', '{}', '{"as":"coder"}', '{"as":"coder","id":"../x"}', '[]']) {
    await using raw = new Raw(path);
    raw.write(line);
    await until('it is out', () => raw.socket.closed);
    expect(raw.lines).toEqual([]);
  }
  await using stack = new AsyncDisposableStack();
  for (let n = 0; n < 8; n += 1) stack.use(await Raw.of(path, 'coder'));
  await using ninth = new Raw(path);
  ninth.write({ as: 'coder', id: 'raw' });
  await until('it is refused', () => ninth.socket.closed);
  expect(ninth.lines).toMatchObject([{ ok: false, code: 'GH2306' }]);
});

test.concurrent('the socket is for the user of the daemon alone, takes the place of one that was left, and goes with the daemon', async () => {
  await using dir = await tempDir();
  const path = socketPath(dir.path);
  {
    // As a killed daemon leaves it.
    const left = createServer().listen(`${path}x`);
    await once(left, 'listening');
    await rename(`${path}x`, path);
    left.close();
    await chmod(path, 0o777);
  }
  {
    await using _rig = await daemonIn(dir.path, { coder: {} });
    expect((await lstat(path)).mode & 0o777).toBe(0o600);
    await using raw = await Raw.of(path, 'coder');
    expect(await raw.text(1, 'ask', { text: 'hi' })).toBe('hello');
  }
  await expect(lstat(path)).rejects.toThrow('ENOENT');
  {
    await using _rig = await daemonIn(dir.path, {});
    await expect(lstat(path)).rejects.toThrow('ENOENT');
  }
  // What is no socket is not ours to remove.
  await writeFile(path, 'mine');
  await using rig = await daemonIn(dir.path, { coder: {} });
  expect(rig.logger.lines.find(({ event }) => event === 'mcp-clients.not-served')?.data).toMatchObject({ code: 'GH2306' });
  expect(await readFile(path, 'utf8')).toBe('mine');
  await rm(path);
});

test.concurrent('a data directory whose path is too long for a socket costs the clients, and nothing else', async () => {
  await using dir = await tempDir();
  const long = join(dir.path, 'd'.repeat(120));
  await mkdir(long);
  await using rig = await daemonIn(long, { coder: {} });
  const told = rig.logger.lines.find(({ event }) => event === 'mcp-clients.not-served')?.data;
  expect(told).toMatchObject({ code: 'GH2306', hint: expect.stringContaining('ln -s') });
  await rig.channel.deliver({ text: 'hi' });
  await rig.daemon.gateway.idle();
  expect(rig.channel.texts()).toEqual(['hello']);
});

test.concurrent('the bridge passes over a line of 100 MB, and holds no more of what its client does not read', async () => {
  await using dir = await tempDir();
  await using _rig = await daemonIn(dir.path, { coder: {} });
  const [input, output] = [new PassThrough(), new PassThrough()];
  const stop = new AbortController();
  const common = { client: 'coder', socket: socketPath(dir.path), input, output, clock: systemClock };
  const running = new Bridge({ ...common, newId: () => 'abc', say: () => undefined }).run(stop.signal);
  let text = '';
  output.on('data', (chunk) => {
    text += String(chunk);
  });
  const chunk = Buffer.alloc(MIB, 'a');
  for (let n = 0; n < 100; n += 1) if (!input.write(chunk)) await once(input, 'drain');
  input.write('\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  await until('it goes on', () => text.includes('"id":1'));
  expect(text).toContain('1048576 bytes at most');
  output.pause();
  const pings = `${'{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'.repeat(500)}`;
  let sent = 0;
  // Its own pipe fills up: from then on the client has to wait.
  while (input.write(pings) && sent < 1_000) {
    sent += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(sent).toBeLessThan(1_000);
  expect(output.readableLength + output.writableLength).toBeLessThan(4 * MIB);
  stop.abort(new Error('the test is over'));
  await running;
});
