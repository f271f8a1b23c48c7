// Questions of MCP servers to people, through the whole daemon: servers from npm and of our own, people on a channel.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ModelRequest } from '../core/model.ts';
import { systemClock } from '../lib/clock.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';

const EVERYTHING = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js');
const SERVER = join(import.meta.dirname, '../testing/mcp-server.ts');
const PATH = process.env['PATH'] ?? '';
const POLICY = { members: ['mcp__*'], senders: { 'test:user-1': { mode: 'full' }, 'test:user-2': { mode: 'full' } } };

/** A message "go" calls the tool and repeats its result; each other one is answered with its own words. */
function caller(tool: string) {
  return scriptedModel(({ messages }: ModelRequest) => {
    const last = messages.findLast(({ role, id }) => role === 'user' && !id.endsWith('#note'));
    if (!last?.content.endsWith('go')) return `heard ${last?.content}`;
    const result = messages.slice(messages.indexOf(last)).find(({ role }) => role === 'tool');
    return result ? `result: ${result.content}` : { toolCalls: [{ name: tool, arguments: {} }] };
  });
}

interface Rig extends TestDaemon {
  readonly model: ReturnType<typeof caller>;
  /** The newest question of the chat that has these words, with its code. */
  question(words?: string): { readonly text: string; readonly code: string } | undefined;
}

async function start(
  dataDir: string,
  entry: Record<string, unknown>,
  { tool = 'mcp__srv__do', clock = systemClock, channel = new TestChannel('test') } = {},
): Promise<Rig> {
  const model = caller(tool);
  const mcp = { srv: { command: process.execPath, pin: 'first-use', ...entry } };
  const rig = await testDaemon({ dataDir, model, mcp, channel, policy: POLICY, daemon: { programEnv: { PATH }, clock } });
  await until('the server is up', () => rig.logger.lines.some(({ event }) => event === 'mcp.up'));
  return {
    ...rig,
    model,
    question(words = '') {
      const text = rig.channel.texts().findLast((one) => one.startsWith('❓') && one.includes(words));
      return text === undefined ? undefined : { text, code: /\/deny ([A-Z2-9]{6})/.exec(text)?.[1] ?? '' };
    },
  };
}

const asks = (...questions: readonly object[]): Record<string, unknown> => ({
  args: [SERVER, 'asks', JSON.stringify(questions)],
});
const form = (message: string, properties: object, required: readonly string[] = []): object => ({
  message,
  requestedSchema: { type: 'object', properties, required },
});
const CITY = form('Where to?', { city: { type: 'string', title: 'City', maxLength: 10 } }, ['city']);
const parked = async ({ daemon }: TestDaemon): Promise<number> => (await daemon.journal.counts()).inbox.PARKED;

test('what a server from npm asks in mid-call is asked in the chat, and the answers reach it', async () => {
  await using dir = await tempDir();
  await using rig = await start(dir.path, { args: [EVERYTHING] }, { tool: 'mcp__srv__trigger-elicitation-request' });
  await rig.channel.deliver({ text: 'go' });
  const first = await until('it is asked', () => rig.question());
  expect(first.text).toMatch(/^❓ The MCP server srv asks you this \(1 of 13\)/);
  await until('it is parked', async () => (await parked(rig)) === 1);
  expect(rig.daemon.lanes.stats().running).toBe(0);
  await rig.channel.deliver({ text: 'meanwhile' });
  await until('the other is answered', () => rig.channel.texts().includes('heard meanwhile'));
  await rig.channel.deliver({ text: `/answer ${first.code} Ada Lovelace` });
  const second = await until('the next is asked', () => rig.question('2 of 13'));
  await rig.channel.deliver({ text: 'yes', replyTo: { platformId: 'q', fromBot: true, text: second.text } });
  const third = await until('the next is asked', () => rig.question('3 of 13'));
  await rig.channel.deliver({ text: `/answer ${third.code} --` });
  await until('it is answered', () => rig.channel.texts().some((text) => text.startsWith('result: ')));
  const result = rig.channel.texts().at(-1) ?? '';
  expect(result).toContain('- Name: Ada Lovelace\n- Agreed to terms: true\n');
  expect(result).toMatch(/"firstLine": "It was a dark.*"integer": 42.*"legacyTitledEnum": "pet-1"/s);
  expect(result).not.toContain('"email"');
  // Twice for the request, once for the other.
  expect(rig.model.requests).toHaveLength(3);
});

test('words that do not fit are asked for again; a reply to the question answers it, and other words of the chat do not', async () => {
  await using dir = await tempDir();
  await using rig = await start(dir.path, asks(CITY));
  await rig.channel.deliver({ text: 'go' });
  const first = await until('it is asked', () => rig.question());
  await rig.channel.deliver({ text: 'Paris' });
  await until('it is an ordinary message', () => rig.channel.texts().includes('heard Paris'));
  await rig.channel.deliver({ text: `/answer ${first.code} Llanfairpwllgwyngyll` });
  const second = await until('it is asked again', () => rig.question('That is not'));
  expect(second.text).toContain('That is not text (at most 10 characters).');
  await rig.channel.deliver({ text: 'Oslo', senderId: 'user-2', replyTo: { platformId: 'q', fromBot: true, text: second.text } });
  await until('another person is not asked', () =>
    rig.channel.texts().some((text) => text.startsWith('heard') && text.includes('Oslo')),
  );
  await rig.channel.deliver({ text: 'Rome', replyTo: { platformId: 'q', fromBot: true, text: second.text } });
  await until('it is answered', () => rig.channel.texts().at(-1)?.startsWith('result: '));
  expect(rig.channel.texts().at(-1)).toBe('result: done with [{"action":"accept","content":{"city":"Rome"}}]');
});
