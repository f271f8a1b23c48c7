// Each command of the chat through the whole daemon, in the middle of a turn, with buttons and without.
import { expect, test } from 'vitest';
import type { ModelRequest } from '../core/model.ts';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';

const asked = ({ messages }: ModelRequest): string => messages.findLast(({ role }) => role === 'user')?.content ?? '';
const OWNER = { owner: [{ channel: 'test', chat_id: 'chat-1', sender_ids: ['user-1', 'user-2'] }] };

async function say(rig: TestDaemon, text: string, answers = 1, senderId = 'user-1'): Promise<readonly string[]> {
  const before = rig.channel.sent.length;
  await rig.channel.deliver({ text, senderId });
  await until(`“${text}” is answered`, () => rig.channel.sent.length >= before + answers);
  return rig.channel.texts().slice(before);
}

const SAID: readonly (readonly [string, RegExp])[] = [
  [
    '/status',
    /^Model: scripted\/model, the default\. Thinking: auto\.\nConversation: the chat itself\.\n1 message is being worked on/,
  ],
  ['/status words', /^The status line: Thinking, Considering/],
  ['/status add Baking', /^The status line: Baking, 8 s each\. With tokens\.\nThe line is not shown on this channel/],
  ['/status remove Frying', /^There is no such word of your own\. The status line: Baking/],
  ['/status greeting Hello', /^The status line: first “Hello”, Baking/],
  ['/status provider on', /With the model and tokens\./],
  ['/status metrics off', /With the model\./],
  ['/status duration 3', /, 3 s each/],
  ['/status duration 300', /^Say \/status duration with seconds from 1 to 60\./],
  ['/status locale xx', /^There are words in: en, zh/],
  ['/status locale fr', /^The status line: first “Hello”, Baking/],
  ['/status reset', /^The status line: Thinking/],
  ['/adaptive', /^Adaptive routing is not configured/],
  ['/thinking', /^The thoughts of the model are not shown here\./],
  ['/thinking on', /^The operator has not allowed that thoughts are shown/],
  ['/thinking off', /^The thoughts of the model are no longer shown here\./],
  ['/config', /^web_search\.count = \d+ \(as built in\)/],
  ['/config web_search.count 3', /^Set: web_search\.count = 3 \(built in: /],
  ['/config web_search.count', /^web_search\.count = 3/],
  ['/config web_search.count many', /^Web_search\.count cannot be that/],
  ['/config reset web_search', /^Reset: web_search\.count = \d+ \(as built in\)/],
  ['/config nothing.here', /^There is no such setting\./],
  ['/sessions', /^This chat has no topics yet\./],
  ['/back', /^There is no topic before this one\./],
  ['/delete work', /^There is no topic “work”\./],
  ['/new work', /^Topic “work” begins here\./],
  ['/sessions', /^1\. default\n2\. >> work <</],
  ['/s', /^Now in the chat itself\./],
  ['/b', /^Now in topic “work”\./],
  ['/switch default', /^Now in the chat itself\./],
  ['/delete work', /^Topic “work” was deleted\./],
  ['/help', /\/sessions – the topics of this chat/],
];

test.each([
  ['with buttons and edits', Object.assign(new TestChannel('test').withEdits(), { buttons: true })],
  ['without', new TestChannel('test')],
])('every command is answered at once in the middle of a turn, %s', async (_title, channel) => {
  await using dir = await tempDir();
  const held = gate();
  const model = scriptedModel(async (request) => {
    await held.opened;
    return `did ${asked(request)}`;
  });
  await using rig = await testDaemon({ dataDir: dir.path, model, channel, gateway: OWNER });
  await rig.channel.deliver({ text: 'slow' });
  await until('it is asked', () => model.requests.length === 1);
  // A person gets twenty answers of this kind a minute.
  for (const [n, [text, answer]] of SAID.entries())
    expect([text, (await say(rig, text, 1, `user-${1 + (n % 2)}`))[0]]).toEqual([text, expect.stringMatching(answer)]);
  expect(model.requests).toHaveLength(1);
  held.open();
  await until('it is answered', () => rig.channel.texts().at(-1) === 'did slow');
});

test('/adaptive and /config are the owner’s alone', async () => {
  await using dir = await tempDir();
  await using rig = await testDaemon({ dataDir: dir.path, model: scriptedModel(() => 'ok') });
  for (const text of ['/adaptive', '/config'])
    expect(await say(rig, text)).toEqual(['Only the owner of this assistant can do that. Nothing was changed.']);
});

test('/adaptive shows how the models do and changes how they are chosen', async () => {
  await using dir = await tempDir();
  const router = { mode: 'lane' as const, snapshot: () => [] };
  const model = { model: scriptedModel(() => 'ok'), router, [Symbol.asyncDispose]: async () => undefined };
  const daemon = { model: async () => model };
  await using rig = await testDaemon({ dataDir: dir.path, model: model.model, gateway: OWNER, daemon });
  expect(await say(rig, '/adaptive')).toEqual(['Mode: lane.']);
  expect(await say(rig, '/adaptive race')).toEqual([expect.stringContaining('the mode is hedge')]);
  expect(router.mode).toBe('hedge');
  expect(await say(rig, '/adaptive qos on')).toEqual([expect.stringContaining('ranked')]);
  // Not quite a command: for the model.
  expect(await say(rig, '/adaptive please')).toEqual(['ok']);
});

test('with leave of the operator thoughts stand above the answer, cut to 1,000 characters', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(() => ({ text: 'four', reasoning: `two and two${'!'.repeat(2_000)}` }));
  await using rig = await testDaemon({ dataDir: dir.path, model, gateway: { show_thinking: true } });
  expect(await say(rig, 'sum?')).toEqual(['four']);
  await say(rig, '/thinking on');
  const [answer = ''] = await say(rig, 'again?');
  expect(answer.startsWith('> 💭 two and two!!!')).toBe(true);
  expect(answer.endsWith('!…\n\nfour')).toBe(true);
  expect(answer).toHaveLength('> 💭 '.length + 1_000 + '\n\nfour'.length);
  await say(rig, '/thinking off');
  expect(await say(rig, 'once more?')).toEqual(['four']);
  // What was shown is no part of the conversation.
  expect(model.requests.at(-1)?.messages.map(({ content }) => content)).toContain('four');
});

test('a line below the answer says what it took, where the operator wants it', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(() => 'ok');
  await using rig = await testDaemon({ dataDir: dir.path, model, gateway: { annotate: true } });
  expect(await say(rig, 'hi')).toEqual([expect.stringMatching(/^ok\n\n_scripted\/model · [\d.]+k? in · [\d.]+k? out · \d+s_$/)]);
});

test('new Markdown files of a turn come with its answer, at most three, and changed ones do not', async () => {
  await using dir = await tempDir();
  const write = (path: string) => ({ name: 'write_file', arguments: { path, content: `# ${path}` } });
  const model = scriptedModel((request) => {
    if (request.messages.at(-1)?.role === 'tool') return 'written';
    return { text: '', toolCalls: ['a.md', 'b.txt', 'sub/c.md', 'd.MD', 'e.md'].map(write) };
  });
  await using rig = await testDaemon({ dataDir: dir.path, model });
  await say(rig, 'write', 4);
  expect(rig.channel.sent.map(({ file }) => file?.name)).toEqual([undefined, 'a.md', 'c.md', 'd.MD']);
  expect(await say(rig, 'again')).toEqual(['written']);
  await until('nothing is left to send', async () => (await rig.daemon.journal.counts()).outbox.PENDING === 0);
  expect(rig.channel.sent).toHaveLength(5);
});

test.each([
  ['the model of the turn', 'scripted', {}],
  ['one that answered an earlier step in its place', 'other', { provider: 'other' }],
])('a new Markdown file does not come with the answer where %s may send no file', async (_who, denied, answered) => {
  await using dir = await tempDir();
  const write = { name: 'write_file', arguments: { path: 'a.md', content: '# a' } };
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'written' : { text: '', toolCalls: [write], ...answered },
  );
  const sections = { tool_policy_by_provider: { [denied]: { deny: ['send_file'] } } };
  await using rig = await testDaemon({ dataDir: dir.path, model, sections });
  await say(rig, 'write');
  await rig.daemon.gateway.idle();
  await until('nothing is left to send', async () => (await rig.daemon.journal.counts()).outbox.PENDING === 0);
  expect(rig.channel.sent.map(({ file }) => file?.name)).toEqual([undefined]);
});
