import { expect, test } from 'vitest';
import { type InboundMessage, UNKNOWN_SENDER } from '../core/message.ts';
import { FakeClock, inbound, tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';
import { Backlog } from './backlog.ts';

const said = (text: string, override: Partial<InboundMessage> = {}) =>
  inbound({ text, platformId: text, senderName: 'Ada', chatId: 'g', isGroup: true, ...override });
const question = (override: Partial<InboundMessage> = {}) => said('?', override);

/** What a message would be told; it stays to be told. */
function told(backlog: Backlog, message = question()): readonly string[] {
  const taken = backlog.take(message);
  taken?.giveBack();
  return taken?.lines.map(({ text }) => text) ?? [];
}

test('the newest lines are kept, oldest first, bounded in number, length and age, each once', async () => {
  const clock = new FakeClock();
  const backlog = new Backlog(clock);
  for (let n = 0; n < 40; n += 1) backlog.note(said(`line ${n}`));
  backlog.note(said('line 39'));
  expect(told(backlog)).toEqual(Array.from({ length: 30 }, (_, n) => `line ${n + 10}`));
  backlog.note(said('x'.repeat(5_000)));
  expect(told(backlog).at(-1)).toHaveLength(1_001);
  for (let n = 0; n < 20; n += 1) backlog.note(said(`${n}${'y'.repeat(900)}`));
  expect(told(backlog).join('').length).toBeLessThanOrEqual(8_000);
  await clock.advance(24 * 3_600_000 + 1);
  expect(told(backlog)).toEqual([]);
  for (let n = 0; n < 501; n += 1) backlog.note(said('hi', { chatId: `g${n}` }));
  expect(told(backlog, question({ chatId: 'g0' }))).toEqual([]);
  expect(told(backlog, question({ chatId: 'g500' }))).toEqual(['hi']);
});

test('a line is told once, also when the platform repeats it, unless what it was told with could not be stored', () => {
  const backlog = new Backlog(new FakeClock());
  backlog.note(said('one'));
  backlog.take(question())?.giveBack();
  expect(backlog.take(question())?.lines).toEqual([{ senderId: 'user-1', senderName: 'Ada', text: 'one' }]);
  backlog.note(said('one'));
  backlog.note(said('two'));
  expect(told(backlog)).toEqual(['two']);
});

test('an edit changes the line of its author, a deletion removes it, and no other person and chat can do either', () => {
  const backlog = new Backlog(new FakeClock());
  for (const text of ['one', 'two', 'three']) backlog.note(said(text));
  const change = (kind: 'edit' | 'delete', targetId: string, override: Partial<InboundMessage> = {}) =>
    backlog.note(said('changed', { kind, targetId, platformId: `${kind} ${targetId}`, ...override }));
  change('edit', 'one', { senderId: 'mallory' });
  change('edit', 'one', { chatId: 'g/x' });
  change('delete', 'one', { senderId: 'mallory' });
  change('delete', 'one', { senderId: UNKNOWN_SENDER, chatId: 'other' });
  expect(told(backlog)).toEqual(['one', 'two', 'three']);
  change('edit', 'one');
  change('delete', 'two');
  change('delete', 'three', { senderId: UNKNOWN_SENDER });
  change('edit', 'never seen');
  expect(told(backlog)).toEqual(['changed']);
  backlog.take(question());
  change('edit', 'one', { text: 'changed again' });
  expect(told(backlog)).toEqual(['changed again']);
});

test('what a person said before they were shut out is forgotten in every place, of them alone', async () => {
  const clock = new FakeClock();
  const backlog = new Backlog(clock);
  for (const senderId of ['ada', 'eve'])
    for (const [n, place] of [{}, { threadId: 't' }, { chatId: 'other' }, { channel: 'test2' }].entries())
      backlog.note(said(`${senderId} ${n}`, { senderId, ...place }));
  backlog.note(said('👍', { kind: 'reaction', targetId: 'ada 0', senderId: 'eve' }));
  const taken = backlog.take(question());
  backlog.forget('test:eve', clock.now());
  taken?.giveBack();
  await clock.advance(1);
  backlog.note(said('eve later', { senderId: 'eve' }));
  expect(told(backlog)).toEqual(['ada 0', 'eve later']);
  expect(told(backlog, question({ threadId: 't' }))).toEqual(['ada 1']);
  expect(told(backlog, question({ chatId: 'other' }))).toEqual(['ada 2']);
  expect(told(backlog, question({ channel: 'test2' }))).toEqual(['ada 3', 'eve 3']);
});

test('a message that starts a thread is talk of its chat, and heads the thread', () => {
  const backlog = new Backlog(new FakeClock());
  for (const text of ['one', 'two']) backlog.note(said(text, { threadId: `t-${text}`, startsThread: true }));
  backlog.note(said('inside', { threadId: 't-one' }));
  expect(backlog.take(question({ threadId: 't-?', startsThread: true }))?.lines.map(({ text }) => text)).toEqual(['one', 'two']);
  expect(told(backlog, question({ threadId: 't-one' }))).toEqual(['one', 'inside']);
  expect(told(backlog, question({ threadId: 't-three' }))).toEqual([]);
  expect(told(backlog)).toEqual([]);
  backlog.note(said('', { kind: 'delete', targetId: 'inside', senderId: UNKNOWN_SENDER }));
  expect(told(backlog, question({ threadId: 't-one' }))).toEqual(['one']);
});

test('reactions are lines of their own: the newest five, one of each person about each message, none that was taken back', () => {
  const backlog = new Backlog(new FakeClock());
  const react = (text: string, targetId: string, senderId = 'ada') =>
    backlog.note(said(text, { kind: 'reaction', targetId, senderId, platformId: `${text} ${targetId} ${senderId}` }));
  for (let n = 0; n < 30; n += 1) backlog.note(said(`line ${n}`));
  for (let n = 0; n < 8; n += 1) react('👍', `m${n}`);
  react('🎉', 'm7');
  react('', 'm6');
  react('', 'm5', 'bob');
  const lines = told(backlog);
  expect(lines.slice(0, 30)).toEqual(Array.from({ length: 30 }, (_, n) => `line ${n}`));
  const reacted = (emoji: string) => `(reacted with ${emoji} to an earlier message)`;
  expect(lines.slice(30)).toEqual([reacted('👍'), reacted('👍'), reacted('👍'), reacted('🎉')]);
});

test('what was said in a group before the agent was addressed is background of that message, once, and of that group only', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(() => 'done');
  const entry = { allowed_senders: ['ada', 'bob'], allowed_groups: ['*'] };
  await using rig = await testDaemon({ dataDir: dir.path, model, entry });
  const group = { chatId: 'g', isGroup: true, senderId: 'ada', senderName: 'Ada' };
  await rig.channel.deliver({ ...group, text: 'lunch is at one', platformId: '1' });
  await rig.channel.deliver({ ...group, senderId: 'eve', senderName: 'Eve', text: 'a stranger speaks', platformId: '2' });
  await rig.channel.deliver({ ...group, chatId: 'other', text: 'elsewhere', platformId: '3' });
  await rig.channel.deliver({
    ...group,
    senderId: 'bob',
    senderName: 'Bob',
    text: 'when is lunch?',
    mentionsBot: true,
    platformId: '4',
  });
  await rig.daemon.gateway.idle();
  await rig.channel.deliver({ ...group, text: 'thanks', mentionsBot: true, platformId: '5' });
  await rig.daemon.gateway.idle();
  const [first, second] = model.requests.map(({ messages }) => messages.at(-1)?.content);
  expect(first).toBe(
    '[said in this group since you last spoke, not to you:\n  [from Ada] lunch is at one\n]\n[from Bob] when is lunch?',
  );
  expect(second).toBe('[from Ada] thanks');
});

const OPEN = { allowed_senders: ['*'], allowed_groups: ['*'] };
const GROUP = { channel: 'test', chatId: 'g', isGroup: true, senderId: 'ada', senderName: 'Ada' };

test('what was said earlier in the same batch is background too', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(() => 'done');
  await using rig = await testDaemon({ dataDir: dir.path, model, entry: OPEN });
  await rig.channel.deliver({ ...GROUP, platformId: '0', text: 'older' });
  const batch = [
    inbound({ ...GROUP, platformId: '1', text: 'our server is prod-3' }),
    inbound({ ...GROUP, platformId: '2', text: 'which server?', mentionsBot: true }),
  ];
  const later = inbound({ ...GROUP, platformId: '3', text: 'and now?', mentionsBot: true });
  await rig.channel.host?.receive(batch);
  await rig.channel.host?.receive([later]);
  await rig.daemon.gateway.idle();
  expect(model.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual([
    '[said in this group since you last spoke, not to you:\n  [from Ada] older\n  [from Ada] our server is prod-3\n]\n[from Ada] which server?',
    '[from Ada] and now?',
  ]);
});

test('of batches that are received at once, one tells each line', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(() => 'done');
  await using rig = await testDaemon({ dataDir: dir.path, model, entry: OPEN });
  await rig.channel.deliver({ ...GROUP, platformId: '0', text: 'older' });
  await Promise.all(
    [1, 2, 3].map((n) =>
      rig.channel.host?.receive([
        inbound({ ...GROUP, platformId: `talk ${n}`, text: `line ${n}.` }),
        inbound({ ...GROUP, platformId: `ask ${n}`, text: '?', mentionsBot: true }),
      ]),
    ),
  );
  await rig.daemon.gateway.idle();
  const asked = model.requests.map(({ messages }) => messages.at(-1)?.content).join();
  expect(asked.match(/older|line \d/g)?.sort()).toEqual(['line 1', 'line 2', 'line 3', 'older']);
});

test('a batch that could not be committed and is offered again keeps its background, once', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(() => 'done');
  await using rig = await testDaemon({ dataDir: dir.path, model, entry: OPEN });
  const talk = inbound({ ...GROUP, platformId: '1', text: 'our server is prod-3' });
  const asked = inbound({ ...GROUP, platformId: '2', text: 'which server?', mentionsBot: true });
  const unwritable = { ...asked, platformId: '3', raw: 1n };
  await expect(rig.channel.host?.receive([talk, asked, unwritable])).rejects.toThrow();
  await rig.channel.host?.receive([talk, asked]);
  await rig.daemon.gateway.idle();
  const [first] = model.requests;
  expect(first?.messages.at(-1)?.content.split('\n').slice(1)).toEqual([
    '  [from Ada] our server is prod-3',
    ']',
    '[from Ada] which server?',
  ]);
});

test('what was deleted, edited or taken back in a group is told as it stands', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(() => 'done');
  await using rig = await testDaemon({ dataDir: dir.path, model, entry: OPEN });
  for (const message of [
    { platformId: '1', text: 'my password is hunter2' },
    { platformId: '1d', kind: 'delete', targetId: '1', text: '', senderId: UNKNOWN_SENDER },
    { platformId: '2', text: 'lunch at one' },
    { platformId: '2e', kind: 'edit', targetId: '2', text: 'lunch at two' },
    { platformId: 'r1', kind: 'reaction', targetId: '2', text: '👍' },
    { platformId: 'r2', kind: 'reaction', targetId: '2', text: '' },
    { platformId: 'r3', kind: 'reaction', targetId: '2', text: '🎉', senderId: 'bob', senderName: 'Bob' },
    { platformId: '3', text: 'who wants lunch' },
    { platformId: '3e', kind: 'edit', targetId: '3', text: 'when is lunch?', mentionsBot: true },
    { platformId: '4', text: 'well?', mentionsBot: true },
  ] as const)
    await rig.channel.deliver({ ...GROUP, ...message });
  await rig.daemon.gateway.idle();
  expect(model.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual([
    '[correction of an earlier message] [from Ada] when is lunch?',
    [
      '[said in this group since you last spoke, not to you:',
      '  [from Ada] lunch at two',
      '  [from Bob] (reacted with 🎉 to an earlier message)',
      ']',
      '[from Ada] well?',
    ].join('\n'),
  ]);
});

test('a reaction in a direct chat goes with the next message, of people who may write, and is counted', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(() => 'done');
  await using rig = await testDaemon({ dataDir: dir.path, model, entry: { allowed_senders: ['ada'] } });
  const ada = { senderId: 'ada', senderName: 'Ada' };
  await rig.channel.deliver({ ...ada, kind: 'reaction', platformId: 'r1', targetId: 'p0', text: '👍' });
  await rig.channel.deliver({ ...ada, kind: 'reaction', platformId: 'r2', targetId: 'p1', text: '👎', refusal: 'bot-author' });
  await rig.channel.deliver({ senderId: 'eve', kind: 'reaction', platformId: 'r3', targetId: 'p0', text: '👎' });
  await rig.daemon.gateway.idle();
  expect(model.requests).toEqual([]);
  for (const text of ['go on', 'and?']) await rig.channel.deliver({ ...ada, text });
  await rig.daemon.gateway.idle();
  expect(model.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual([
    '[since you last spoke:\n  [from Ada] (reacted with 👍 to an earlier message)\n]\ngo on',
    'and?',
  ]);
  expect((await rig.daemon.journal.counts()).refused).toContainEqual({ channel: 'test', reason: 'reaction', count: 1 });
});

const OTHER = { ...GROUP, senderId: 'bob', senderName: 'Bob' };

test.each<[how: string, takeBack: Partial<InboundMessage>]>([
  ['stopped', { ...GROUP, text: '/stop', mentionsBot: true }],
  ['deleted', { ...GROUP, kind: 'delete', targetId: 'asked', text: '' }],
])('what a message took that is %s before its turn goes with the next one', async (_how, takeBack) => {
  await using dir = await tempDir();
  const model = scriptedModel([{ hang: true }, 'done', 'done']);
  await using rig = await testDaemon({ dataDir: dir.path, model, entry: OPEN });
  await rig.channel.deliver({ ...GROUP, text: 'wait', mentionsBot: true });
  await until('a turn runs', () => model.requests.length === 1);
  await rig.channel.deliver({ ...OTHER, text: 'lunch is at one' });
  await rig.channel.deliver({ ...GROUP, text: 'summarise this', mentionsBot: true, platformId: 'asked' });
  await rig.channel.deliver(takeBack);
  await rig.channel.deliver({ ...GROUP, text: '/stop', mentionsBot: true });
  for (const text of ['when is lunch?', 'thanks']) {
    await rig.channel.deliver({ ...GROUP, text, mentionsBot: true });
    await rig.daemon.gateway.idle();
  }
  expect(model.requests.slice(1).map(({ messages }) => messages.at(-1)?.content)).toEqual([
    '[said in this group since you last spoke, not to you:\n  [from Bob] lunch is at one\n]\n[from Ada] when is lunch?',
    '[from Ada] thanks',
  ]);
});

test('what a stopped turn was told is told again, what an answered one was told is not', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(['done', { hang: true }, 'done']);
  await using rig = await testDaemon({ dataDir: dir.path, model, entry: OPEN });
  await rig.channel.deliver({ ...OTHER, text: 'one' });
  await rig.channel.deliver({ ...GROUP, text: 'and?', mentionsBot: true });
  await rig.daemon.gateway.idle();
  await rig.channel.deliver({ ...OTHER, text: 'two' });
  await rig.channel.deliver({ ...GROUP, text: 'and then?', mentionsBot: true });
  await until('a turn runs', () => model.requests.length === 2);
  await rig.channel.deliver({ ...GROUP, text: '/stop', mentionsBot: true });
  await rig.channel.deliver({ ...GROUP, text: 'go on', mentionsBot: true });
  await rig.daemon.gateway.idle();
  expect(model.requests[2]?.messages.at(-1)?.content).toBe(
    '[said in this group since you last spoke, not to you:\n  [from Bob] two\n]\n[from Ada] go on',
  );
});

test('of more messages than are waited for, the oldest gives nothing back', () => {
  const backlog = new Backlog(new FakeClock());
  for (let n = 0; n <= 500; n += 1) {
    const message = question({ chatId: `${n}` });
    backlog.note(said('a line', { chatId: `${n}` }));
    const taken = backlog.take(message);
    if (taken) backlog.hold({ key: `${n}` }, taken);
  }
  backlog.giveBackOf('0');
  backlog.giveBackOf('1');
  expect([0, 1].map((n) => told(backlog, question({ chatId: `${n}` })))).toEqual([[], ['a line']]);
});

test('A4 marks of the adapter are remembered with their text, and go when an edit replaces it', () => {
  const backlog = new Backlog(new FakeClock());
  backlog.note(said('[forward]\nhi', { platformId: 'm1', marks: [[0, 9]] }));
  expect(backlog.take(question())?.lines).toEqual([
    { senderId: 'user-1', senderName: 'Ada', text: '[forward]\nhi', marks: [[0, 9]] },
  ]);
  backlog.note(said('[forward] me', { kind: 'edit', platformId: 'e1', targetId: 'm1' }));
  expect(backlog.take(question())?.lines).toEqual([{ senderId: 'user-1', senderName: 'Ada', text: '[forward] me' }]);
});
