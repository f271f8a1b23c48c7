import { expect, onTestFinished, test } from 'vitest';
import { mcpServers } from '../../../config/sections/mcp.ts';
import { openJournal } from '../../journal/open.ts';
import { FakeClock, MemoryLogger, tempDir, until } from '../../testing/fakes.ts';
import { McpSource } from './source.ts';
import type { Wire } from './transport.ts';
import { WaitingCalls } from './waiting-calls.ts';

/** A server in memory, without tools. */
class MemoryWire implements Wire {
  onclose?: NonNullable<Wire['onclose']>;
  onmessage?: NonNullable<Wire['onmessage']>;
  readonly #ended = Promise.withResolvers<Error>();
  lists = 0;
  /** How often its end was asked for. */
  asked = 0;

  get ended(): Promise<Error> {
    this.asked += 1;
    return this.#ended.promise;
  }

  async start(): Promise<void> {
    await Promise.resolve();
  }

  async send(message: Parameters<Wire['send']>[0]): Promise<void> {
    if (!('method' in message) || !('id' in message)) return;
    const { id, method, params } = message;
    if (method === 'tools/list') this.lists += 1;
    const protocolVersion = String(params?.['protocolVersion']);
    const welcome = { protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo: { name: 'm', version: '1' } };
    this.onmessage?.({ jsonrpc: '2.0', id, result: method === 'initialize' ? welcome : { tools: [] } });
  }

  announce(): void {
    this.onmessage?.({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  }

  async close(): Promise<void> {
    this.end('it was closed');
  }

  end(reason: string): void {
    this.#ended.resolve(new Error(reason));
    this.onclose?.();
  }
}

async function started() {
  const dir = await tempDir();
  const clock = new FakeClock();
  const opened = await openJournal({ dir: dir.path, clock });
  const { journal, pins } = opened;
  const entry = mcpServers.parse({ m: { command: 'm' } })['m'];
  if (!entry) throw new Error('no entry');
  const [wire, logger] = [new MemoryWire(), new MemoryLogger()];
  const source = new McpSource({
    ...{ server: 'm', entry, version: '1', wire: async () => wire, pins, journal, clock, logger },
    ...{ waiting: new WaitingCalls({ journal, clock, logger }), redact: (text: string) => text },
  });
  onTestFinished(async () => {
    await source[Symbol.asyncDispose]();
    await opened[Symbol.asyncDispose]();
    await dir[Symbol.asyncDispose]();
  });
  source.start();
  await until('it is up', () => source.status().state === 'up');
  return { clock, wire, source, logger };
}

test('changes that a server announces are listed each five seconds, and nothing of each stays with the connection', async () => {
  const { clock, wire } = await started();
  const before = wire.asked;
  for (let n = 2; n < 12; n += 1) {
    wire.announce();
    await clock.advance(4_999);
    expect(wire.lists).toBe(n - 1);
    await clock.advance(1);
    await until('it is listed', () => wire.lists === n);
    await until('it waits', () => clock.sleeping === 1);
  }
  expect(wire.asked).toBe(before);
});

test('a connection that ends is told with its reason, and leaves no wait behind', async () => {
  const { clock, wire, source } = await started();
  wire.end('it crashed');
  await until('it is down', () => source.status().state === 'down');
  expect([source.status().detail, clock.sleeping]).toEqual(['it crashed', 1]);
});
