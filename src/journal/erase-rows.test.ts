import { expect, test } from 'vitest';
import { ERASED, type Erasure, linkWait, type WordsRule } from '../core/erasure.ts';
import type { InboundMessage, QuotedMessage } from '../core/message.ts';
import type { RunRow } from '../core/run.ts';
import { FakeClock, inbound, outbound, tempDir } from '../testing/fakes.ts';
import { About } from './erase-rows.ts';
import { openJournal } from './open.ts';

test('a text names a person by their whole id: rows about another one, whose id begins so, stay', () => {
  const about = new About({ ids: [{ channel: 'telegram', senderId: '42' }], chats: [], sessions: [] } as unknown as Erasure);
  for (const text of ['telegram:42', 'by telegram:42.', '{"who":"telegram:42","n":1}', 'a telegram:421, and telegram:42'])
    expect(about.names(text), text).toBe(true);
  const longer = ['telegram:42.b', 'telegram:42_', 'telegram:42-x', 'telegram:42@x', 'telegram:42+1', 'my-telegram:42'];
  for (const text of ['telegram:421', 'xtelegram:42', 'telegram:4', '', ...longer]) expect(about.names(text), text).toBe(false);
});

test('the record, the events and the questions about another person stay, whose id goes on behind a stop', async () => {
  await using dir = await tempDir();
  await using at = await journalOf(dir.path, []);
  const other = { channel: 'test', senderId: `${EVE.senderId}.b` };
  for (const senderId of [EVE.senderId, other.senderId]) {
    const message = {
      ...said(1, senderId, 'hi'),
      id: `test/bot/${senderId}:1`,
      platformId: `${senderId}:1`,
      chatId: senderId,
      isGroup: false,
    };
    const keys = { lane: `test/bot/${senderId}`, session: `_main:test:${senderId}` };
    await at.journal.accept([{ kind: 'admit', message, ...keys, authority: authority(senderId) }]);
  }
  const events = async () => (await at.people.rows([other]))['event'];
  const before = await events();
  expect(before).not.toEqual([]);
  await at.journal.commit([
    { kind: 'shut-out', who: { channel: 'test', senderId: `${EVE.senderId}_` }, as: 'blocked', by: 'cli' },
  ]);
  const part = outbound({
    key: '#owner/x#0',
    messageId: '#owner/x',
    chatId: 'own',
    text: `May ${other.channel}:${other.senderId} write?`,
  });
  await at.journal.commit([{ kind: 'part', part: { part, lane: 'test/bot/own', expiresAt: 9e15 } }]);
  await at.erase();
  const [erasure] = await at.people.erasures.open();
  await at.people.erasures.hashIds(erasure ?? expect.fail('none'), {});
  expect((await at.people.audit({})).map(({ subject }) => subject)).toContain(`test:${EVE.senderId}_`);
  expect(await events()).toEqual(before);
  expect(await at.journal.part('#owner/x#0')).toBeDefined();
});

const EVE = { channel: 'test', senderId: 'eve42' };
const LANE = 'test/bot/group';
const SESSION = '_main:test:group';

function said(n: number, senderId: string, text: string, replyTo?: QuotedMessage): InboundMessage {
  const senderName = senderId === EVE.senderId ? 'Eve Example' : senderId;
  const group = { id: `test/bot/p${n}`, platformId: `p${n}`, chatId: 'group', isGroup: true, mentionsBot: true };
  return inbound({ ...group, senderId, senderName, text, ...(replyTo && { replyTo }) });
}

const authority = (senderId: string) =>
  ({ principal: `test:${senderId}`, role: 'member', mode: 'guarded', policies: [] }) as const;

async function journalOf(dir: string, messages: readonly InboundMessage[]) {
  const opened = await openJournal({ dir, clock: new FakeClock(), remains: () => ({ lines: [], tools: [] }) });
  for (const message of messages)
    await opened.journal.accept([
      { kind: 'admit', message, lane: LANE, session: SESSION, authority: authority(message.senderId) },
    ]);
  const task = async (id: string, senderId: string, from?: InboundMessage, title = id): Promise<void> => {
    const prompt = { text: from?.text ?? id, media: [], at: '2026-01-01T00:00:00.000Z', ...(from && { from }) };
    await opened.journal.commit([
      {
        kind: 'run',
        run: {
          ...{ key: `api/task.chat/${id}`, source: { kind: 'api', client: 'task.chat' }, profile: 'task' },
          ...{ lane: `${LANE}/#task:${id}`, session: `${SESSION}#task:${id}`, prompt, authority: authority(senderId) },
          record: { title, keepDays: 30 },
        },
      },
    ]);
  };
  const erase = async (rule: WordsRule = () => ({ line: () => undefined, text: (text) => text })): Promise<void> => {
    await opened.journal.commit([{ kind: 'erase', who: EVE, by: 'cli' }]);
    for (const erasure of await opened.people.erasures.open()) await opened.people.erasures.eraseRows(erasure, rule);
  };
  return { ...opened, task, erase };
}

const messageOf = (row: RunRow): InboundMessage | undefined => row.message ?? row.prompt.from;

const quote = (text: string, more: Partial<QuotedMessage> = {}): QuotedMessage => ({
  ...{ platformId: 'elsewhere', fromBot: false, text },
  ...more,
});

test.each<[string, QuotedMessage]>([
  ['that was fetched with its author’s id', quote('ok 1', { senderId: EVE.senderId })],
  ['that came with its author’s id', quote('ok 1', { authorId: EVE.senderId, origin: 'written by Evelyn, not by the sender' })],
  ['of a message that the agent was sent', quote('ok 1', { platformId: 'p1' })],
  ['that names them as its author', quote('ok 1', { origin: 'written by Eve Example, not by the sender' })],
  ['that shows the id of its author', quote('ok 1', { origin: 'written by eve42, not by the sender' })],
  ['that repeats what they said there', quote('words of Eve')],
])(
  'short words of an erased person are taken out of a quotation %s, in messages and in tasks of others',
  async (_which, replyTo) => {
    await using dir = await tempDir();
    const at = await journalOf(dir.path, [said(1, EVE.senderId, 'words of Eve'), said(2, 'ben', 'what is that?', replyTo)]);
    await using _closed = at.journal;
    await at.task('ben', 'ben', said(3, 'ben', 'sum it up', replyTo));
    await at.erase();
    const [message] = await at.journal.waiting(LANE, 5);
    const [task] = await at.journal.waiting(`${LANE}/#task:ben`, 5);
    const erased = { platformId: replyTo.platformId, fromBot: false, text: ERASED };
    expect(message).toMatchObject({ message: { text: 'what is that?' } });
    expect(message?.message?.replyTo).toEqual(erased);
    expect(task && messageOf(task)?.replyTo).toEqual(erased);
  },
);

test('a quotation of another person stays, also where its words are as short', async () => {
  await using dir = await tempDir();
  const replyTo = quote('ok 1', { senderId: 'ada', origin: 'written by Ada, not by the sender' });
  const at = await journalOf(dir.path, [said(1, EVE.senderId, 'words of Eve'), said(2, 'ben', 'what is that?', replyTo)]);
  await using _closed = at.journal;
  await at.task('ben', 'ben', said(3, 'ben', 'sum it up', replyTo));
  await at.erase();
  for (const lane of [LANE, `${LANE}/#task:ben`]) {
    const [row] = await at.journal.waiting(lane, 5);
    expect(row && messageOf(row)?.replyTo).toEqual(replyTo);
  }
});

test('words of an erased person that were joined to the request of another one are taken out of it', async () => {
  await using dir = await tempDir();
  await using at = await journalOf(dir.path, [said(1, 'ben', 'first'), said(2, EVE.senderId, 'words of Eve')]);
  const [first, second] = await at.journal.waiting(LANE, 5);
  const row = await at.journal.claim(first?.seq ?? 0, undefined, { merged: [second?.seq ?? 0], superseded: [] });
  await at.journal.release(row?.seq ?? 0, row?.generation ?? 0);
  expect((await at.people.rows([EVE]))['toldToOthers']).toMatchObject([{ text: 'words of Eve' }]);
  await at.erase();
  const [left] = await at.journal.waiting(LANE, 5);
  expect(left?.message).toMatchObject({ text: 'first', queued: [] });
});

test('what others said behind an erased person in one request is left, and waits anew', async () => {
  await using dir = await tempDir();
  await using at = await journalOf(dir.path, [said(1, EVE.senderId, 'words of Eve'), said(2, 'ben', 'second')]);
  const [first, second] = await at.journal.waiting(LANE, 5);
  await at.journal.claim(first?.seq ?? 0, undefined, { merged: [second?.seq ?? 0], superseded: [] });
  await at.erase();
  const left = await at.journal.waiting(LANE, 5);
  expect(left.map(({ message }) => message?.text)).toEqual(['second']);
});

test('an export has what others quote of a person, in messages and in tasks, and no word of those', async () => {
  await using dir = await tempDir();
  const replyTo = quote('ok 1', { senderId: EVE.senderId });
  const at = await journalOf(dir.path, [said(2, 'ben', 'what is that?', replyTo)]);
  await using _closed = at.journal;
  await at.task('ben', 'ben', said(3, 'ben', 'sum it up', quote('ok 2', { authorId: EVE.senderId })));
  const rows = await at.people.rows([EVE]);
  expect(rows['toldToOthers']).toMatchObject([{ text: 'ok 1' }, { text: 'ok 2' }]);
  expect(JSON.stringify(rows)).not.toContain('sum it up');
});

test.each(['', '#elsewhere'])(
  'what tells the end of a task of an erased person in another chat goes, and its files (%s)',
  async (end) => {
    await using dir = await tempDir();
    const at = await journalOf(dir.path, []);
    await using _closed = at.journal;
    await at.task('eve', EVE.senderId);
    const key = 'api/task.chat/eve';
    const part = outbound({
      ...{ key: `${key}#elsewhere#0`, messageId: `${key}${end}`, channel: 'mail', chatId: 'eve@example.org', text: 'her result' },
      file: { path: '/data/outgoing/f.txt', name: 'f.txt', mime: 'text/plain', kind: 'document', bytes: 1 },
    });
    await at.journal.commit([{ kind: 'part', part: { part, lane: 'mail/bot/eve@example.org', expiresAt: 9e15 } }]);
    expect(JSON.stringify((await at.people.rows([EVE]))['outbox'])).toContain('her result');
    await at.erase();
    expect(await at.journal.part(`${key}#elsewhere#0`)).toBeUndefined();
    expect((await at.people.erasures.open())[0]?.files).toContain('f.txt');
  },
);

test('calls whose lines are in no file yet are known by their steps, each with its workspace', async () => {
  await using dir = await tempDir();
  const at = await journalOf(dir.path, [said(1, EVE.senderId, 'words of Eve'), said(2, 'ben', 'words of Ben')]);
  await using _closed = at.journal;
  await at.task('eve', EVE.senderId);
  for (const lane of [LANE, `${LANE}/#task:eve`]) {
    const [first] = await at.journal.waiting(lane, 5);
    const { seq, key, generation } = (first && (await at.journal.claim(first.seq))) ?? expect.fail('nothing to claim');
    const call = { n: 1, kind: 'tool', callId: `of ${key}` } as const;
    expect(await at.journal.step(seq, generation, { ...call, state: 'STARTED' })).toBe(true);
  }
  await at.erase();
  expect((await at.people.erasures.open())[0]?.calls).toEqual([
    { session: SESSION, call: 'test/bot/p1#of test/bot/p1' },
    { session: `${SESSION}#task:eve`, call: 'api/task.chat/eve#of api/task.chat/eve' },
  ]);
});

test('what goes with an erased person is no longer counted among what waits to be sent', async () => {
  await using dir = await tempDir();
  await using at = await journalOf(dir.path, [said(1, EVE.senderId, 'a question')]);
  const answer = outbound({ key: 'test/bot/p1#0', messageId: 'test/bot/p1', chatId: 'group', isGroup: true });
  await at.journal.enqueue([{ part: answer, lane: LANE, expiresAt: Date.UTC(2027, 0, 1) }]);
  expect(at.journal.load('outbox', 'test')).toMatchObject({ messages: 1 });
  await at.erase();
  expect(await at.journal.pending(LANE, 9)).toEqual([]);
  expect(at.journal.load('outbox', 'test')).toEqual({ messages: 0, bytes: 0 });
});

test('an erasure that is asked for again before it is done still knows all ids of the person', async () => {
  await using dir = await tempDir();
  await using at = await journalOf(dir.path, [said(1, EVE.senderId, 'words of Eve')]);
  const mail = { channel: 'mail', senderId: 'eve@example.org' };
  await at.journal.commit([
    {
      kind: 'link',
      of: [
        { ...EVE, name: 'Eve' },
        { ...mail, name: 'Eve' },
      ],
      by: 'owner',
    },
  ]);
  for (const by of ['cli', 'owner']) {
    await at.journal.commit([{ kind: 'erase', who: EVE, by }]);
    expect((await at.people.erasures.open()).map(({ ids }) => ids)).toEqual([[EVE, mail]]);
  }
});

test('a code of /link that was not used goes with the person who asked for it, and is in their export', async () => {
  await using dir = await tempDir();
  await using at = await journalOf(dir.path, [said(1, EVE.senderId, 'words of Eve')]);
  const offer = { ...EVE, name: 'Eve Example', chat: { channel: 'test', account: 'bot', chatId: 'eve42' } };
  await at.journal.commit([{ kind: 'link-code', code: 'ABC234', offer, due: 1 }]);
  const settled = { wait: linkWait('ABC234'), value: { ok: false, output: 'Error: too late' }, by: 'due' };
  await at.journal.commit([{ kind: 'settle', settled }]);
  expect((await at.people.rows([EVE]))['wait']).toHaveLength(1);
  await at.erase();
  expect(await at.journal.waits.find(linkWait('ABC234'))).toBeUndefined();
});

test.each(['a group', 'a private chat of another'])('%s that has the id of an erased person is none of theirs', async (which) => {
  await using dir = await tempDir();
  const place = { chatId: EVE.senderId, isGroup: which === 'a group' };
  await using at = await journalOf(dir.path, [{ ...said(1, 'ben', 'words of Ben'), ...place }]);
  await at.journal.commit([{ kind: 'erase', who: EVE, by: 'cli' }]);
  expect((await at.people.erasures.open())[0]?.sessions).toEqual([]);
});

const AS_IT_IS = () => ({ line: () => undefined, text: (text: string) => text });

test('the answer to what an erased person writes after the beginning is sent, and why it was given is known', async () => {
  await using dir = await tempDir();
  const [lane, session] = ['test/bot/eve42', '_main:test:eve42'];
  const admit = (n: number) => ({
    ...({ kind: 'admit', lane, session, authority: authority(EVE.senderId) } as const),
    message: { ...said(n, EVE.senderId, `words ${n}`), chatId: EVE.senderId, isGroup: false },
  });
  await using at = await journalOf(dir.path, []);
  await at.journal.accept([admit(1)]);
  await at.journal.commit([{ kind: 'erase', who: EVE, by: 'cli' }]);
  const [erasure] = await at.people.erasures.open();
  await at.journal.accept([admit(2)]);
  const part = outbound({ key: 'test/bot/p2#0', messageId: 'test/bot/p2', chatId: EVE.senderId, text: 'yes' });
  await at.journal.enqueue([{ part, lane, expiresAt: Date.UTC(2027, 0, 1) }]);
  await at.people.erasures.hashIds(await at.people.erasures.eraseRows(erasure ?? expect.fail('none'), AS_IT_IS), {});
  expect((await at.journal.pending(lane, 9)).map((one) => one.part.text)).toEqual(['yes']);
  const events = async (n: number) => (await at.journal.record.of(`test/bot/p${n}`)).map(({ event }) => event.type);
  expect([await events(1), await events(2)]).toEqual([[], expect.arrayContaining(['admitted'])]);
});

test('an erasure that is asked for again while it is at work is not ended by what was begun before', async () => {
  await using dir = await tempDir();
  await using at = await journalOf(dir.path, [said(1, EVE.senderId, 'first')]);
  const { erasures } = at.people;
  const begin = async (by: string) => {
    await at.journal.commit([{ kind: 'erase', who: EVE, by }]);
    return (await erasures.open())[0] ?? expect.fail('none');
  };
  const more = (n: number) =>
    at.journal.accept([
      {
        kind: 'admit',
        message: said(n, EVE.senderId, `words ${n}`),
        lane: LANE,
        session: SESSION,
        authority: authority('eve42'),
      },
    ]);
  const first = await begin('cli');
  await more(2);
  const second = await begin('owner');
  await expect(erasures.eraseRows(first, AS_IT_IS)).rejects.toThrow('asked for again');
  await expect(erasures.hashIds(first, {})).rejects.toThrow('asked for again');
  await erasures.hashIds(await erasures.eraseRows(second, AS_IT_IS), {});
  await more(3);
  await begin('owner');
  await expect(erasures.clean(second)).rejects.toThrow('asked for again');
  expect((await erasures.open()).map(({ until, stage }) => [until, stage])).toEqual([[3, 'words']]);
});

test('what a task of another repeats of an erased person goes from its title, its result and what it asks', async () => {
  await using dir = await tempDir();
  const words = 'the code of the front door is 4711';
  await using at = await journalOf(dir.path, [said(1, EVE.senderId, words)]);
  for (const [id, title] of [
    ['asks', `check this: ${words}`],
    ['ends', `and this: ${words}`],
  ] as const) {
    const from = said(2, 'ben', title);
    await at.task(id, 'ben', from, title);
    const [waiting] = await at.journal.waiting(`${LANE}/#task:${id}`, 5);
    const { seq, key, generation } = (waiting && (await at.journal.claim(waiting.seq))) ?? expect.fail('nothing to claim');
    const question = {
      answer: 'text',
      text: `Is “${words}” right?`,
      who: 'ben',
      to: 'owner',
      by: ['test:ben'],
      code: 'AAAAAA',
      expiresAt: 9e15,
    } as const;
    const wait = {
      id: `${key}#c1`,
      callId: 'c1',
      kind: 'person',
      about: question,
      code: 'AAAAAA',
      late: { ok: false, output: '' },
    } as const;
    const end = { seq, generation, outcome: 'parked', lines: [], parts: [] };
    if (id === 'asks') await at.journal.finish({ ...end, state: 'PARKED', waits: [wait], historyTo: '' });
    else await at.journal.finish({ ...end, state: 'DONE', outcome: 'answered', result: { ok: true, output: `Yes, ${words}.` } });
  }
  const stored = async () => JSON.stringify(await at.people.rows([{ channel: 'test', senderId: 'ben' }]));
  expect(await stored()).toContain(`Is “${words}” right?`);
  await at.erase((said) => ({
    line: () => undefined,
    text: (text) => said.reduce((left, one) => left.replaceAll(one, ERASED), text),
  }));
  expect(await stored()).not.toContain(words);
  expect(await stored()).toContain(`Is “${ERASED}” right?`);
});

test('what an erased person asks again in a group after the beginning is asked as they wrote it', async () => {
  await using dir = await tempDir();
  await using at = await journalOf(dir.path, [said(1, EVE.senderId, 'what is the weather?')]);
  await at.journal.commit([{ kind: 'erase', who: EVE, by: 'cli' }]);
  const again = said(2, EVE.senderId, 'what is the weather?');
  await at.journal.accept([{ kind: 'admit', message: again, lane: LANE, session: SESSION, authority: authority(EVE.senderId) }]);
  const [erasure] = await at.people.erasures.open();
  const text = (words: string): string => words.replaceAll('what is the weather?', ERASED);
  await at.people.erasures.eraseRows(erasure ?? expect.fail('none'), () => ({ line: () => undefined, text }));
  expect(JSON.stringify((await at.people.rows([EVE]))['run'])).toContain('what is the weather?');
});
