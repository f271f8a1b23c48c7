// Topics of a chat through the whole daemon: histories side by side, what is held, what ends where.
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Model, ModelRequest } from '../core/model.ts';
import type { RunAbout } from '../core/record.ts';
import { whyOf } from '../runs/why.ts';
import { sessionWorkspace } from '../runs/workspace.ts';
import { gate, inbound, tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';
import { OPEN_TO_ALL, waitingTools } from '../testing/waiting-tools.ts';

const asked = ({ messages }: ModelRequest): string => messages.findLast(({ role }) => role === 'user')?.content ?? '';
const told = ({ messages }: ModelRequest): readonly string[] => messages.slice(1).map(({ content }) => content);
const echo = (request: ModelRequest): string => `did ${asked(request)}`;

async function say(rig: TestDaemon, text: string, answers: number): Promise<readonly string[]> {
  const before = rig.channel.sent.length;
  await rig.channel.deliver({ text });
  await until(`“${text}” is answered`, () => rig.channel.sent.length >= before + answers);
  return rig.channel.texts().slice(before);
}

async function knownOf(rig: TestDaemon, platformId: string): Promise<RunAbout> {
  return (await rig.daemon.journal.record.about(`test/bot/${platformId}`)) ?? expect.fail('nothing is known of it');
}

/** What `why` says of an answer that its topic lost, also when its row is gone: the words, and no key. */
async function expectLost(rig: TestDaemon, platformId: string, words: string): Promise<void> {
  const [says, present] = [expect.stringMatching(`not delivered: .*${words}\\.$`), { now: Date.now(), daemon: 'up' }] as const;
  const why = whyOf(await knownOf(rig, platformId), present);
  expect([why.verdict, why.told, why.configKey]).toEqual([says, says, undefined]);
  const { dead } = rig.daemon.journal;
  for (const { id } of await dead.list()) await dead.drop(id);
  const later = whyOf(await knownOf(rig, platformId), present);
  expect([later.verdict, later.told, later.configKey]).toEqual([says, says, undefined]);
}

test('each topic has a history of its own, and /s and /back go between them', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(echo);
  await using rig = await testDaemon({ dataDir: dir.path, model });
  await say(rig, 'one', 1);
  expect(await say(rig, '/new work', 1)).toEqual([expect.stringContaining('Topic “work” begins here.')]);
  await say(rig, 'two', 1);
  expect(await say(rig, '/s', 1)).toEqual(['Now in the chat itself.\n> You: one\n> Assistant: did one']);
  await say(rig, 'three', 1);
  expect(await say(rig, '/b', 1)).toEqual(['Now in topic “work”.\n> You: two\n> Assistant: did two']);
  await say(rig, 'four', 1);
  expect(model.requests.map(told)).toEqual([['one'], ['two'], ['one', 'did one', 'three'], ['two', 'did two', 'four']]);
});

test('the answer of a topic that was left is held, told once, and comes when its topic is active again', async () => {
  await using dir = await tempDir();
  const held = gate();
  const model = scriptedModel(async (request) => {
    if (asked(request) === 'slow') await held.opened;
    return echo(request);
  });
  await using rig = await testDaemon({ dataDir: dir.path, model });
  await say(rig, '/new work', 1);
  await rig.channel.deliver({ text: 'slow' });
  await until('it is asked', () => model.requests.length === 1);
  expect(await say(rig, '/s', 1)).toEqual(['Now in the chat itself.']);
  expect(await say(rig, 'quick', 1)).toEqual(['did quick']);
  held.open();
  await until('it is told', () => rig.channel.texts().at(-1)?.startsWith('📥'));
  expect(rig.channel.texts().at(-1)).toBe('📥 An answer in topic “work” is ready: /s work shows it.');
  expect(await say(rig, '/s work', 2)).toEqual(['Now in topic “work”.\n> You: slow\n> Assistant: did slow', 'did slow']);
});

test('/new in the middle of a turn is answered at once; the turn ends in the conversation it began in', async () => {
  await using dir = await tempDir();
  const held = gate();
  const model = scriptedModel(async (request) => {
    if (asked(request) === 'slow') await held.opened;
    return echo(request);
  });
  await using rig = await testDaemon({ dataDir: dir.path, model });
  await say(rig, 'one', 1);
  await rig.channel.deliver({ text: 'slow' });
  await until('it is asked', () => model.requests.length === 2);
  await rig.channel.deliver({ text: 'waits' });
  expect(await say(rig, '/new --keep 1', 1)).toEqual(['Started afresh. 1 messages were carried over.']);
  await rig.channel.deliver({ text: 'fresh' });
  held.open();
  await until('all are answered', () => rig.channel.texts().length === 5);
  const late = '↩️ From before the fresh start:\n\n';
  expect(rig.channel.texts().slice(2)).toEqual([`${late}did slow`, `${late}did waits`, 'did fresh']);
  expect(model.requests.map(told)).toEqual([
    ['one'],
    ['one', 'did one', 'slow'],
    ['one', 'did one', 'slow', 'did slow', 'waits'],
    ['did one', 'fresh'],
  ]);
});

test('/new while a run waits for a person: it goes on with the history it had, and leaves nothing in the new one', async () => {
  await using dir = await tempDir();
  const ask = { name: 'ask_person', arguments: { question: 'May I?' } };
  const model = scriptedModel((request) => {
    const last = request.messages.at(-1);
    return asked(request) === 'wait' && last?.role !== 'tool' ? { text: '', toolCalls: [ask] } : echo(request);
  });
  const options = { dataDir: dir.path, model, policy: OPEN_TO_ALL, daemon: { extraTools: [waitingTools] } };
  const code = await (async () => {
    await using rig = await testDaemon(options);
    await say(rig, 'one', 1);
    await say(rig, 'wait', 1);
    await until('it waits', async () => (await rig.daemon.journal.counts()).inbox.PARKED === 1);
    expect(await say(rig, '/reset', 1)).toEqual(['Started afresh. Nothing was carried over.']);
    await say(rig, 'fresh', 1);
    return /\/allow ([A-Z2-9]{6})/.exec(rig.channel.texts().join('\n'))?.[1] ?? '';
  })();
  // What was held in memory is gone: the order is that of the disk.
  await using rig = await testDaemon({ ...options, channel: new TestChannel('test') });
  await rig.channel.deliver({ text: `/allow ${code}`, platformId: 'answer' });
  await until('it is answered', () => rig.channel.texts().at(-1) === '↩️ From before the fresh start:\n\ndid wait');
  await rig.channel.deliver({ text: 'last', platformId: 'last' });
  await until('the next is answered', () => rig.channel.texts().at(-1) === 'did last');
  expect(model.requests.map(told).slice(2)).toEqual([
    ['fresh'],
    ['one', 'did one', 'wait', '', 'allow'],
    ['fresh', 'did fresh', 'last'],
  ]);
});

test('51 held answers: 50 are kept with a remark, and come in order; why says that the others were left out', async () => {
  await using dir = await tempDir();
  const held = gate();
  const model = scriptedModel(async (request) => {
    await held.opened;
    return echo(request);
  });
  await using rig = await testDaemon({ dataDir: dir.path, model, limits: { chat_messages: 100, person_messages: 100 } });
  await say(rig, '/new work', 1);
  for (let n = 1; n <= 52; n += 1) await rig.channel.deliver({ text: `n${n}`, platformId: `n${n}` });
  await say(rig, '/s', 1);
  held.open();
  await until('all ran', async () => (await rig.daemon.journal.counts()).inbox.DONE === 54);
  expect(rig.channel.texts().slice(2)).toEqual(['📥 An answer in topic “work” is ready: /s work shows it.']);
  const flushed = await say(rig, '/s work', 51);
  expect(flushed).toHaveLength(51);
  expect(flushed.slice(1, 50)).toEqual(Array.from({ length: 49 }, (_, n) => `did n${n + 1}`));
  expect(flushed[50]).toMatch(/^did n50\n\n\(More came in this topic while it was not active\./);
  const { EXPIRED, PENDING } = (await rig.daemon.journal.counts()).outbox;
  expect({ EXPIRED, PENDING }).toEqual({ EXPIRED: 2, PENDING: 0 });
  await expectLost(rig, 'n52', 'left out: as many messages were held for their topic as may be');
});

test('/delete ends what runs and waits there; a topic of that name begins empty', async () => {
  await using dir = await tempDir();
  const held = gate();
  const model = scriptedModel(async (request) => {
    if (asked(request) === 'slow') await held.opened;
    return echo(request);
  });
  await using rig = await testDaemon({ dataDir: dir.path, model });
  await say(rig, '/new work', 1);
  await say(rig, 'one', 1);
  const files = sessionWorkspace(dir.path, '_main:test:chat-1#work');
  await writeFile(join(files, 'a.txt'), 'a');
  expect(await say(rig, '/delete work', 1)).toEqual(['You are in topic “work”. Go to another one first: /s, or /back.']);
  await rig.channel.deliver({ text: 'slow' });
  await until('it is asked', () => model.requests.length === 2);
  await say(rig, '/s', 1);
  expect(await say(rig, '/delete work', 1)).toEqual([expect.stringMatching(/^Topic “work” was deleted\./)]);
  await until('nothing runs', () => rig.daemon.lanes.isAtRest);
  await until('its files are gone', () => !existsSync(files));
  await say(rig, '/new work', 1);
  await say(rig, 'two', 1);
  expect(told(model.requests.at(-1) as ModelRequest)).toEqual(['two']);
});

test.each([
  ['x'.repeat(10_000), 'A name has at most 50 characters'],
  ['a#b', 'A name cannot contain “#”, “:” or “/”'],
  ['a:b', 'A name cannot contain “#”, “:” or “/”'],
  ['a\u0007b', 'A name cannot contain characters that are not seen'],
])('a name that may not be is refused, with the reason (%#)', async (name, reason) => {
  await using dir = await tempDir();
  await using rig = await testDaemon({ dataDir: dir.path, model: scriptedModel(echo) });
  const [answer = ''] = await say(rig, `/new ${name}`, 1);
  expect(answer.startsWith(reason)).toBe(true);
  expect(answer.length).toBeLessThan(200);
});

test('/sessions with buttons: a press switches, and the list changes where it stands', async () => {
  await using dir = await tempDir();
  const channel = Object.assign(new TestChannel('test').withEdits(), { buttons: true });
  await using rig = await testDaemon({ dataDir: dir.path, model: scriptedModel(echo), channel });
  expect(await say(rig, '/sessions', 1)).toEqual([expect.stringContaining('/new with a name begins one')]);
  await say(rig, 'hello there', 1);
  await say(rig, '/new a rather long name of it', 1);
  await say(rig, '/sessions', 1);
  const picker = channel.sent.at(-1);
  expect(picker?.text).toBe('1. default – hello there\n2. >> a rather long name of it <<');
  expect(picker?.choices).toEqual([
    { label: 'default', value: 's:' },
    { label: '>> a rather lo… <<', value: 's:a rather long name of it' },
  ]);
  const before = channel.sent.length;
  expect(await say(rig, 's:', 1)).toEqual(['Now in the chat itself.\n> You: hello there\n> Assistant: did hello there']);
  expect(channel.sent).toHaveLength(before + 1);
  expect(channel.screen().at(-2)).toBe('1. >> default << – hello there\n2. a rather long name of it');
});

test('/sessions without buttons is a numbered list, whose numbers /s takes', async () => {
  await using dir = await tempDir();
  await using rig = await testDaemon({ dataDir: dir.path, model: scriptedModel(echo) });
  await say(rig, '/new work', 1);
  await say(rig, '/new play', 1);
  expect(await say(rig, '/sessions', 1)).toEqual([
    '1. default\n2. work\n3. >> play <<\n\n/s with a name or a number goes there.',
  ]);
  expect(await say(rig, '/s 2', 1)).toEqual(['Now in topic “work”.']);
  expect(await say(rig, '/s 9', 1)).toEqual([expect.stringContaining('There is no topic “9”.')]);
});

test('in a group only the owner and its admins change the conversation, and a thread has no topics', async () => {
  await using dir = await tempDir();
  const entry = { allowed_groups: ['*'], group_mode: 'always', group_admins: ['boss'] };
  await using rig = await testDaemon({ dataDir: dir.path, model: scriptedModel(echo), entry });
  const refused = 'In a group only the owner of this assistant and its admins can do that. Nothing was changed.';
  for (const text of ['/new', '/new work', '/reset', '/s', '/back', '/delete x', 's:'])
    await rig.channel.deliver({ text, isGroup: true });
  await until('all are answered', () => rig.channel.texts().length === 7);
  expect(rig.channel.texts().slice(0, 6)).toEqual(Array.from({ length: 6 }, () => refused));
  await rig.channel.deliver({ text: '/new work', isGroup: true, senderId: 'boss' });
  await until('it is answered', () => rig.channel.texts().at(-1)?.startsWith('Topic “work” begins'));
  await rig.channel.deliver({ text: '/new work', isGroup: true, senderId: 'boss', threadId: 't1' });
  await until('it is answered', () => rig.channel.texts().at(-1)?.startsWith('A thread is a conversation of its own.'));
});

test('what is sent in one batch behind a switch belongs to the topic that it leads to', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(echo);
  await using rig = await testDaemon({ dataDir: dir.path, model });
  await say(rig, 'one', 1);
  const batch = ['/new work', 'two', '/back', 'three'].map((text, n) => inbound({ text, platformId: `b${n}`, channel: 'test' }));
  await rig.channel.host?.receive(batch, 'c');
  await until('all ran', () => model.requests.length === 3);
  expect(model.requests.map(told).slice(1).toSorted()).toEqual([['one', 'did one', 'three'], ['two']]);
});

test('what was shown of an answer goes when its topic is left, and the whole of it comes with the topic', async () => {
  await using dir = await tempDir();
  const held = gate();
  const usage = { tokensIn: 1, tokensOut: 1, tokensCached: 0 };
  const model: Model = {
    ...{ id: 'p/m', contextWindow: 128_000 },
    async *call() {
      yield { type: 'text', text: 'half of ' };
      await held.opened;
      yield { type: 'text', text: 'it' };
      const answer = { text: 'half of it', toolCalls: [], stop: 'end', usage, provider: 'p', model: 'm' } as const;
      yield { type: 'done', answer };
    },
  };
  const channel = new TestChannel('test').withEdits();
  await using rig = await testDaemon({ dataDir: dir.path, model, channel });
  await say(rig, '/new work', 1);
  await rig.channel.deliver({ text: 'write' });
  await until('half of it is shown', () => channel.screen().at(-1)?.startsWith('half of'));
  await say(rig, '/s', 1);
  held.open();
  await until('it is told', () => channel.screen().at(-1)?.startsWith('📥'));
  await until('the half is gone', () => !channel.screen().some((text) => text.startsWith('half of')));
  await say(rig, '/s work', 2);
  expect(channel.screen().at(-1)).toBe('half of it');
});

test('a question is shown whatever topic is active, and says which one asks; /stop ends the work of all', async () => {
  await using dir = await tempDir();
  const held = gate();
  const ask = { name: 'ask_person', arguments: { question: 'May I?' } };
  const model = scriptedModel(async (request) => {
    if (asked(request) === 'slow') await held.opened;
    return asked(request) === 'wait' ? { text: '', toolCalls: [ask] } : echo(request);
  });
  await using rig = await testDaemon({
    ...{ dataDir: dir.path, model, policy: OPEN_TO_ALL },
    daemon: { extraTools: [waitingTools] },
  });
  await say(rig, '/new work', 1);
  await rig.channel.deliver({ text: 'wait' });
  await until('it waits', async () => (await rig.daemon.journal.counts()).inbox.PARKED === 1);
  await until('it says so', () => rig.channel.texts().at(-1)?.startsWith('In topic “work”: May I?'));
  await say(rig, '/new play', 1);
  await rig.channel.deliver({ text: 'slow' });
  await until('it is asked', () => model.requests.length === 2);
  await say(rig, '/s', 1);
  expect(await say(rig, 'stop', 1)).toEqual([expect.stringMatching(/^🛑 Cancelled\./)]);
  const { PARKED, RUNNING } = (await rig.daemon.journal.counts()).inbox;
  expect({ PARKED, RUNNING }).toEqual({ PARKED: 0, RUNNING: 0 });
  held.open();
});

test('/delete ends a run of its topic that waits, and what is held of it, with the reason', async () => {
  await using dir = await tempDir();
  const held = gate();
  const ask = { name: 'ask_person', arguments: { question: 'May I?' } };
  const model = scriptedModel(async (request) => {
    if (asked(request) === 'slow') await held.opened;
    return asked(request) === 'wait' ? { text: '', toolCalls: [ask] } : echo(request);
  });
  await using rig = await testDaemon({
    ...{ dataDir: dir.path, model, policy: OPEN_TO_ALL },
    daemon: { extraTools: [waitingTools] },
  });
  await say(rig, '/new work', 1);
  await rig.channel.deliver({ text: 'wait' });
  await until('it waits', async () => (await rig.daemon.journal.counts()).inbox.PARKED === 1);
  await rig.channel.deliver({ text: 'slow', platformId: 'slow' });
  await until('it is asked', () => model.requests.length === 2);
  await say(rig, '/s', 1);
  held.open();
  await until('it is told', () => rig.channel.texts().at(-1)?.startsWith('📥'));
  expect(await say(rig, '/delete WORK', 1)).toEqual([expect.stringMatching(/^Topic “work” was deleted\./)]);
  const { inbox, outbox } = await rig.daemon.journal.counts();
  expect([inbox.PARKED, outbox.PENDING, outbox.EXPIRED]).toEqual([0, 0, 1]);
  const events = await rig.daemon.journal.record.of('test/bot/slow');
  expect(events.find(({ event }) => event.type === 'part.expired')?.event).toMatchObject({ reason: 'topic deleted' });
  await expectLost(rig, 'slow', 'dropped: their topic was deleted');
});
