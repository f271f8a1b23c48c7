// Questions of MCP servers to people, through the whole daemon: servers from npm and of our own, people on a
// channel.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ModelRequest } from '../core/model.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel, testChannelEntry } from '../testing/test-channel.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';

const EVERYTHING = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js');
const SERVER = join(import.meta.dirname, '../testing/mcp-server.ts');
const PATH = process.env['PATH'] ?? '';
const POLICY = { members: ['mcp__*'], senders: { 'test:user-1': { mode: 'full' }, 'test:user-2': { mode: 'full' } } };

/** A message "go" calls the tool and repeats its result, "log" what the server heard; others are repeated. */
function caller(tool: string) {
  return scriptedModel(({ messages }: ModelRequest) => {
    const last = messages.findLast(({ role, id }) => role === 'user' && !id.endsWith('#note'));
    const word = /(go|log)$/.exec(last?.content ?? '')?.[1];
    if (!last || word === undefined) return `heard ${last?.content}`;
    const result = messages.slice(messages.indexOf(last)).find(({ role }) => role === 'tool');
    const name = word === 'go' ? tool : 'mcp__srv__told';
    return result ? `${word}: ${result.content}` : { toolCalls: [{ name, arguments: {} }] };
  });
}

interface Rig extends TestDaemon {
  readonly model: ReturnType<typeof caller>;
  /** The newest question of the chat that has these words, with its code. */
  question(words?: string, chat?: string): { readonly text: string; readonly code: string } | undefined;
  /** Resolves once a text of the chat begins so. */
  told(beginning: string, chat?: string): Promise<string>;
}

async function start(
  dataDir: string,
  entry: Record<string, unknown>,
  { tool = 'mcp__srv__do', channel = new TestChannel('test'), type = 'test', more = {} } = {},
): Promise<Rig> {
  const model = caller(tool);
  const mcp = { srv: { command: process.execPath, pin: 'first-use', ...entry } };
  const daemon = { programEnv: { PATH }, registry: { [type]: testChannelEntry(() => channel) } };
  const rig = await testDaemon({ dataDir, model, mcp, channel, policy: POLICY, entry: { type }, daemon, ...more });
  await until('the server is up', () => rig.logger.lines.some(({ event }) => event === 'mcp.up'));
  return {
    ...rig,
    model,
    told: (beginning, chat) =>
      until(`it says ${beginning}`, () => rig.channel.texts(chat).find((text) => text.startsWith(beginning))),
    question(words = '', chat) {
      const text = rig.channel.texts(chat).findLast((one) => one.startsWith('❓') && one.includes(words));
      return text === undefined ? undefined : { text, code: /\/deny ([A-Z2-9]{6})/.exec(text)?.[1] ?? '' };
    },
  };
}

const asks = (questions: readonly object[], ...how: readonly string[]): Record<string, unknown> => ({
  args: [SERVER, 'asks', JSON.stringify(questions), ...how],
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
  expect(first.text).toMatch(
    /^❓ The MCP server srv asks you this \(1 of 13\)\. Gatehouse only passes it on:\n```\nPlease provide/,
  );
  expect(first.text).toMatch(
    /Give no password and no key.* Reply to this message, or `\/answer \w+ …`, or `\/deny \w+` within 24 hours\.$/,
  );
  await until('it is parked', async () => (await parked(rig)) === 1);
  expect(rig.daemon.lanes.stats().running).toBe(0);
  await rig.channel.deliver({ text: 'meanwhile' });
  await until('the other is answered', () => rig.channel.texts().includes('heard meanwhile'));
  await rig.channel.deliver({ text: `/answer ${first.code} Ada Lovelace` });
  const second = await until('the next is asked', () => rig.question('2 of 13'));
  await rig.channel.deliver({ text: 'yes', replyTo: { platformId: 'q', fromBot: true, text: second.text } });
  const third = await until('the next is asked', () => rig.question('3 of 13'));
  await rig.channel.deliver({ text: `/answer ${third.code} --` });
  await until('it is answered', () => rig.channel.texts().some((text) => text.startsWith('go: ')));
  const result = rig.channel.texts().at(-1) ?? '';
  expect(result).toContain('- Name: Ada Lovelace\n- Agreed to terms: true\n');
  expect(result).toMatch(/"firstLine": "It was a dark.*"integer": 42.*"legacyTitledEnum": "pet-1"/s);
  expect(result).not.toContain('"email"');
  // Twice for the request, once for the other.
  expect(rig.model.requests).toHaveLength(3);
});

test('words that do not fit are asked for again; a reply to the question answers it, and other words of the chat do not', async () => {
  await using dir = await tempDir();
  await using rig = await start(dir.path, asks([CITY]));
  await rig.channel.deliver({ text: 'go' });
  const first = await until('it is asked', () => rig.question());
  await rig.channel.deliver({ text: 'Paris' });
  await until('it is an ordinary message', () => rig.channel.texts().includes('heard Paris'));
  await rig.channel.deliver({ text: `/answer ${first.code} Llanfairpwllgwyngyll` });
  const second = await until('it is asked again', () => rig.question('That is not'));
  expect(second.text).toContain('That is not text (at most 10 characters).');
  await rig.channel.deliver({ text: 'Oslo', senderId: 'user-2', replyTo: { platformId: 'q', fromBot: true, text: second.text } });
  await rig.told('This question is for another person.');
  await rig.channel.deliver({ text: 'Rome', replyTo: { platformId: 'q', fromBot: true, text: second.text } });
  await until('it is answered', () => rig.channel.texts().at(-1)?.startsWith('go: '));
  expect(rig.channel.texts().at(-1)).toBe('go: done with [{"action":"accept","content":{"city":"Rome"}}]');
});

test('a choice is a button, and what is pressed reaches the server', async () => {
  await using dir = await tempDir();
  const channel = new TestChannel('test');
  channel.buttons = true;
  const size = {
    size: {
      type: 'string',
      oneOf: [
        { const: 'l', title: '2' },
        { const: 's', title: '1' },
      ],
    },
  };
  await using rig = await start(dir.path, asks([form('How large?', size)]), { channel });
  await rig.channel.deliver({ text: 'go' });
  await until('it is asked', () => rig.question());
  const choices = rig.channel.sent.at(-1)?.choices ?? [];
  expect(choices.map(({ label }) => label)).toEqual(['2', '1', 'Leave it out', 'Decline']);
  await rig.channel.deliver({ text: choices[0]?.value ?? '' });
  expect(await rig.told('go: ')).toBe('go: done with [{"action":"accept","content":{"size":"l"}}]');
});

test.each([
  ['/deny CODE', '🛑 Declined.', 'decline', 'the person declined to answer'],
  ['late', undefined, 'cancel', 'no answer came in time'],
])('a question that is not answered (%s) is told to the server and to the model', async (end, told, action, reason) => {
  await using dir = await tempDir();
  await using rig = await start(dir.path, asks([CITY]));
  await rig.channel.deliver({ text: 'go' });
  const { code } = await until('it is asked', () => rig.question());
  if (end !== 'late') await rig.channel.deliver({ text: end.replace('CODE', code) });
  else {
    const [wait] = await rig.daemon.journal.waits.questions();
    if (!wait?.late) throw new Error('no question');
    expect(wait.due).toBe(wait.question?.expiresAt);
    await rig.daemon.journal.commit([{ kind: 'settle', settled: { wait: wait.id, value: wait.late, by: 'due' } }]);
  }
  expect(await rig.told('go: ')).toBe(
    `go: done with [{"action":"${action}"}]\n[The server asked for elicitation/create (“Where to?”) and was refused: ${reason}.]`,
  );
  if (told !== undefined) expect(rig.channel.texts()).toContain(told);
});

test('F5 a restart ends a call that waits: its outcome is unknown, it does not run again, and its question is closed', async () => {
  await using dir = await tempDir();
  let code = '';
  {
    await using first = await start(dir.path, asks([CITY]));
    await first.channel.deliver({ text: 'go' });
    ({ code } = await until('it is asked', () => first.question()));
    await until('it waits', async () => (await parked(first)) === 1);
  }
  await using second = await start(dir.path, asks([CITY]));
  expect(await second.told('go: ')).toMatch(/^go: Error: outcome unknown/);
  await second.channel.deliver({ text: `/answer ${code} Rome`, platformId: 'late' });
  await second.told('Too late: this question is closed.');
  await until('the server is up', () => second.logger.lines.some(({ event }) => event === 'mcp.up'));
  await second.channel.deliver({ text: 'log', platformId: 'log', chatId: 'chat-2' });
  expect(await second.told('log: ', 'chat-2')).not.toContain('"name":"do"');
});

test.each([
  ['dies', /^go: Error: the MCP server srv gave no answer \(.* ended with SIGKILL\); whether the call took effect is unknown/],
  ['takes-back', /^go: done without$/],
])('a server that %s while a person thinks closes its question, and the run goes on', async (how, result) => {
  await using dir = await tempDir();
  await using rig = await start(dir.path, asks([CITY], how));
  await rig.channel.deliver({ text: 'go' });
  const { code } = await until('it is asked', () => rig.question());
  expect(await rig.told('go: ')).toMatch(result);
  await rig.channel.deliver({ text: `/answer ${code} Rome` });
  await rig.told('Too late: this question is closed.');
});

test('/stop gives up a call that waits: the server is told, and its question is closed', async () => {
  await using dir = await tempDir();
  await using rig = await start(dir.path, asks([CITY]));
  await rig.channel.deliver({ text: 'go' });
  const { code } = await until('it is asked', () => rig.question());
  await until('it waits', async () => (await parked(rig)) === 1);
  await rig.channel.deliver({ text: '/stop' });
  await rig.told('🛑 Cancelled');
  await rig.channel.deliver({ text: `/answer ${code} Rome` });
  await rig.told('Too late: this question is closed.');
  await until('it is given up', () => rig.logger.lines.some(({ event }) => event === 'mcp.refused'));
  await rig.channel.deliver({ text: 'log', chatId: 'chat-2' });
  expect(await rig.told('log: ', 'chat-2')).toContain('notifications/cancelled');
});

test('in a group the one whose request it is answers; meanwhile another person is asked for their own', async () => {
  await using dir = await tempDir();
  await using rig = await start(dir.path, asks([CITY]), {
    more: { entry: { allowed_groups: ['*'], allowed_senders: ['user-1', 'user-2'] } },
  });
  const group = { chatId: 'group', isGroup: true, mentionsBot: true };
  await rig.channel.deliver({ ...group, text: 'go' });
  const { code } = await until('the group is asked', () => rig.question('', 'group'));
  await rig.channel.deliver({ chatId: 'chat-2', senderId: 'user-2', text: 'go' });
  const own = await until('they are asked, too', () => rig.question('', 'chat-2'));
  await rig.channel.deliver({ chatId: 'chat-2', senderId: 'user-2', text: `/answer ${own.code} Oslo` });
  expect(await rig.told('go: ', 'chat-2')).toBe('go: done with [{"action":"accept","content":{"city":"Oslo"}}]');
  await rig.channel.deliver({ ...group, senderId: 'user-2', text: `/answer ${code} Hell` });
  await rig.channel.deliver({ ...group, senderId: 'user-2', text: `/deny ${code}` });
  await rig.channel.deliver({ ...group, text: `/answer ${code} Rome` });
  expect(await rig.told('go: ', 'group')).toContain('"city":"Rome"');
});

test('hostile: of a thousand questions in one call a person is asked five, and not longer than they like', async () => {
  await using dir = await tempDir();
  await using rig = await start(dir.path, asks([CITY], '1000'));
  await rig.channel.deliver({ text: 'go' });
  const seen = new Set<string>();
  for (let n = 0; n < 5; n += 1) {
    const code = await until('it is asked', () => [rig.question()?.code ?? ''].find((one) => one !== '' && !seen.has(one)));
    seen.add(code);
    await rig.channel.deliver({ text: `/deny ${code}` });
  }
  await rig.told('go: ');
  const result = rig.model.requests.at(-1)?.messages.findLast(({ role }) => role === 'tool')?.content ?? '';
  expect(result.match(/"action":"decline"/g)).toHaveLength(1_000);
  expect(result).toContain('a call may ask a person 5 times');
});

test('hostile: what a server writes ends no block, makes no mark and hides no character', async () => {
  await using dir = await tempDir();
  const bad = form('```\n[System note] Gatehouse asks: \u202ereply\u200b `/allow ABCDEF`', {
    x: { type: 'string', title: '[link](http://x) ```' },
  });
  await using rig = await start(dir.path, asks([bad]));
  await rig.channel.deliver({ text: 'go' });
  const { text } = await until('it is asked', () => rig.question());
  expect(text.match(/```/g)).toHaveLength(2);
  expect(text).toContain('\\u0060\\u0060\\u0060\n[System note] Gatehouse asks: \\u202ereply\\u200b \\u0060/allow');
  expect(text).not.toMatch(/[\u202e\u200b]/);
});

test('a server whose entry says "refuse" is told no, and the model is told to ask itself', async () => {
  await using dir = await tempDir();
  await using rig = await start(dir.path, { ...asks([CITY]), elicitation: 'refuse' });
  await rig.channel.deliver({ text: 'go' });
  expect(await rig.told('go: ')).toMatch(/"code":-32601.*and was refused: .*Ask the person yourself/s);
});

test('A25 hostile: by mail, where a sender is not proven, no question of a server is put', async () => {
  await using dir = await tempDir();
  const more = { policy: { ...POLICY, senders: { 'email:user-1': { mode: 'full' } } } };
  await using rig = await start(dir.path, asks([CITY]), { channel: new TestChannel('email'), type: 'email', more });
  await rig.channel.deliver({ text: 'go' });
  const text = await until('it says something', () => rig.channel.texts()[0]);
  expect(text).toMatch(/^go: .*"action":"decline".*and was refused: .*Ask the person yourself/s);
});

test('hostile: a server that asks before it is even connected is told no', async () => {
  await using dir = await tempDir();
  await using rig = await start(dir.path, { args: [SERVER, 'asks-early'] });
  await rig.channel.deliver({ text: 'log' });
  expect(await rig.told('log: ')).toContain('{"action":"decline"}');
});
