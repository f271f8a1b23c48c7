import { describe, expect, test, vi } from 'vitest';
import type { ChannelHealth } from '../core/channel.ts';
import type { RunEvent } from '../core/events.ts';
import { FakeClock, MemoryLogger } from '../testing/fakes.ts';
import { MemoryJournal } from '../testing/memory-journal.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { Owner, type OwnerOptions } from './owner.ts';
import type { PostOptions } from './post.ts';

const DAY = 86_400_000;

function setup(states: Readonly<Record<string, ChannelHealth>>, options: Partial<OwnerOptions> = {}) {
  const clock = new FakeClock(new Date(2026, 0, 1, 12).getTime());
  const journal = (options.journal as MemoryJournal | undefined) ?? new MemoryJournal(clock);
  const logger = new MemoryLogger();
  const current = new Map(Object.entries(states));
  const channels = new Map(Object.keys(states).map((name) => [name, new TestChannel(name, { text: 200 })]));
  const poked: string[] = [];
  const create = () =>
    new Owner({
      chats: Object.keys(states).map((channel) => ({ channel, chatId: `owner@${channel}` })),
      journal,
      channel: (name) => channels.get(name),
      state: (name) => current.get(name),
      onParts: (parts) => poked.push(...parts.map(({ lane }) => lane)),
      redact: (text) => text.replaceAll('hunter2', '[secret]'),
      clock,
      logger,
      ...options,
    });
  const told = () => [...journal.rows.values()].map(({ part }) => `${part.chatId}: ${part.text}`);
  const warnings = () => logger.lines.filter(({ level }) => level === 'warn').map(({ event }) => event);
  const owner = create();
  /** What the outbox holds of each chat: its text and state. */
  const outbox = () => [...journal.rows.values()].map(({ part, state }) => `${part.channel} ${part.text} ${state}`);
  const turns = async (channel: string, state: ChannelHealth): Promise<void> => {
    current.set(channel, state);
    owner.observe({ type: 'channel', at: clock.now(), channel, state });
    await clock.advance(0);
  };
  /** Delivery settles the first part of a chat. */
  const settles = async (channel: string, state: 'SENT' | 'DEAD' | 'EXPIRED'): Promise<void> => {
    const row = [...journal.rows.values()].find(({ part }) => part.channel === channel);
    if (!row) throw new Error(`nothing for ${channel}`);
    await journal.settle(row.seq, SETTLEMENTS[state]);
    const type = ({ SENT: 'part.sent', DEAD: 'part.dead', EXPIRED: 'part.expired' } as const)[state];
    const event: RunEvent = { type, at: clock.now(), key: row.part.key, ms: 0, reason: 'no' };
    owner.observe(event);
    await clock.advance(0);
  };
  return { clock, journal, logger, current, poked, create, owner, told, warnings, outbox, turns, settles };
}

const SETTLEMENTS = {
  SENT: { kind: 'sent', platformId: 'p' },
  DEAD: { kind: 'dead', reason: 'no' },
  EXPIRED: { kind: 'expired' },
} as const;

describe('a notice to the owner', () => {
  test('goes to the first chat whose channel works, as a part that answers no message', async () => {
    const states = { down: 'down', gone: 'stopped', weak: 'degraded', first: 'healthy', second: 'healthy' } as const;
    const { owner, told, journal, poked } = setup(states);
    await owner.tell({ key: 'k', text: 'news' });
    expect(told()).toEqual(['owner@first: news']);
    const [row] = journal.rows.values();
    expect(row?.part).not.toHaveProperty('messageId');
    expect(poked).toEqual([row?.lane]);
  });

  test('F34 never goes to the channel that it is about', async () => {
    const { owner, told } = setup({ broken: 'healthy', other: 'degraded' });
    await owner.tell({ key: 'k', text: 'broken is down', except: 'broken' });
    expect(told()).toEqual(['owner@other: broken is down']);
  });

  test('F34 waits in the outbox of a channel that still connects, where none is connected yet', async () => {
    const { owner, told } = setup({ slow: 'starting', broken: 'down' });
    await owner.tell({ key: 'k', text: 'broken is down', except: 'broken' });
    expect(told()).toEqual(['owner@slow: broken is down']);
  });

  test('is told once a day for the same cause, by another process of the same day neither, and anew the day after', async () => {
    const at = setup({ chat: 'healthy' });
    for (let n = 0; n < 3; n += 1) await at.owner.tell({ key: 'k', text: `k ${n}` });
    await at.owner.tell({ key: 'other', text: 'other' });
    await at.create().tell({ key: 'k', text: 'after a restart' });
    expect(at.told()).toEqual(['owner@chat: k 0', 'owner@chat: other']);
    await at.clock.advance(DAY);
    await at.owner.tell({ key: 'k', text: 'again' });
    expect(at.told().at(-1)).toBe('owner@chat: again');
  });

  test('of many at once about the same cause is one', async () => {
    const { owner, told } = setup({ chat: 'healthy' });
    await Promise.all(Array.from({ length: 50 }, (_, n) => owner.tell({ key: 'k', text: `${n}` })));
    expect(told()).toEqual(['owner@chat: 0']);
  });

  test('holds no secret, and is cut to what the channel takes after that', async () => {
    const { owner, told } = setup({ chat: 'healthy' });
    await owner.tell({ key: 'k', text: `${'x'.repeat(195)} hunter2 ${'y'.repeat(100)}` });
    expect(told().length).toBeGreaterThan(1);
    expect(told().join('')).not.toMatch(/hunt|nter2/);
  });

  test.each([
    ['none is configured', { chats: [] }],
    ['none works', {}],
  ])('is one warning in the log when %s', async (_why, options) => {
    const { owner, told, warnings, logger } = setup({ chat: 'down' }, options);
    for (let n = 0; n < 3; n += 1) await owner.tell({ key: 'k', text: 'the password is hunter2' });
    expect([told(), warnings()]).toEqual([[], ['owner.not-told']]);
    expect(logger.lines[0]?.data).toMatchObject({ key: 'k', detail: 'the password is [secret]' });
  });

  test('that reached the log only is told when it happens again and a chat works by then', async () => {
    const { owner, told, current, warnings } = setup({ chat: 'down' });
    await owner.tell({ key: 'k', text: 'first' });
    current.set('chat', 'healthy');
    await owner.tell({ key: 'k', text: 'second' });
    await owner.tell({ key: 'k', text: 'third' });
    expect([told(), warnings()]).toEqual([['owner@chat: second'], ['owner.not-told']]);
  });

  test('F13 on a full disk is in the log, and in the chat when it happens again', async () => {
    const { owner, told, journal, warnings } = setup({ chat: 'healthy' });
    journal.failNext('enqueue', 1);
    await owner.tell({ key: 'k', text: 'first' });
    expect([told(), warnings()]).toEqual([[], ['owner.post-failed', 'owner.not-told']]);
    await owner.tell({ key: 'k', text: 'second' });
    expect(told()).toEqual(['owner@chat: second']);
  });

  test('under way is waited for when the owner is disposed of', async () => {
    const { owner, told } = setup({ chat: 'healthy' });
    void owner.tell({ key: 'k', text: 'last words' });
    await owner[Symbol.asyncDispose]();
    expect(told()).toEqual(['owner@chat: last words']);
  });
});

describe('a cause that mended and is back', () => {
  test('is told again, three times a day in all; what is not told is a line in the log', async () => {
    const at = setup({ chat: 'healthy' });
    for (let n = 0; n < 5; n += 1) await at.owner.tell({ key: 'k', text: `k ${n}`, isBack: n > 0 });
    await at.owner.tell({ key: 'k', text: 'the same trouble' });
    expect(at.told()).toEqual(['owner@chat: k 0', 'owner@chat: k 1', 'owner@chat: k 2']);
    const quiet = at.logger.lines.filter(({ event }) => event === 'owner.told-before');
    expect(quiet.map(({ level, data }) => [level, data])).toEqual(Array(3).fill(['debug', { key: 'k', times: 3 }]));
  });

  test('is told again by another process of the same day, within the same bound', async () => {
    const at = setup({ chat: 'healthy' });
    await at.owner.tell({ key: 'k', text: 'first' });
    const later = at.create();
    await later.tell({ key: 'k', text: 'still the same' });
    for (let n = 0; n < 3; n += 1) await later.tell({ key: 'k', text: `back ${n}`, isBack: true });
    expect(at.told()).toEqual(['owner@chat: first', 'owner@chat: back 0', 'owner@chat: back 1']);
  });
});

describe('a notice that waits for its chat', () => {
  const news = { key: 'k', text: 'news' };

  test('F34 is taken away and posted to a healthy one when the channel cannot connect', async () => {
    const at = setup({ first: 'starting', second: 'starting' });
    await at.owner.tell(news);
    await at.turns('first', 'degraded');
    expect(at.outbox()).toEqual(['first news PENDING']);
    await at.turns('second', 'healthy');
    expect(at.outbox()).toEqual(['first news EXPIRED', 'second news PENDING']);
    expect(at.poked).toHaveLength(2);
    await at.settles('second', 'SENT');
    await at.turns('second', 'down');
    await at.turns('first', 'healthy');
    expect(at.outbox()).toEqual(['first news EXPIRED', 'second news SENT']);
  });

  test('F34 is posted to a healthy one when the channel has not connected within half a minute', async () => {
    const at = setup({ first: 'starting', second: 'starting' });
    await at.owner.tell(news);
    await at.turns('second', 'healthy');
    await at.clock.advance(29_999);
    expect(at.outbox()).toEqual(['first news PENDING']);
    await at.clock.advance(1);
    expect(at.outbox()).toEqual(['first news EXPIRED', 'second news PENDING']);
  });

  test('F34 is posted to a healthy one when the channel goes down before it was sent, in all its parts', async () => {
    const at = setup({ first: 'healthy', second: 'healthy' });
    await at.owner.tell({ key: 'k', text: `${'x'.repeat(190)} ${'y'.repeat(100)}` });
    await at.turns('first', 'down');
    expect(at.outbox().map((row) => row.replace(/[xy]+/, ''))).toEqual([
      'first  EXPIRED',
      'first  EXPIRED',
      'second  PENDING',
      'second  PENDING',
    ]);
  });

  test('stays where it is while it is being sent, and goes once that has failed', async () => {
    const at = setup({ first: 'healthy', second: 'degraded' });
    await at.owner.tell(news);
    await at.turns('first', 'down');
    const [row] = at.journal.rows.values();
    expect([row?.state, await at.journal.sending(row?.seq ?? 0)]).toEqual(['PENDING', true]);
    await at.turns('second', 'healthy');
    expect(at.outbox()).toEqual(['first news SENDING']);
    await at.journal.settle(row?.seq ?? 0, { kind: 'retry', notBefore: at.clock.now() + 60_000, reason: 'no' });
    at.owner.observe({ type: 'part.retry', at: at.clock.now(), key: row?.part.key ?? '', reason: 'no', waitMs: 60_000 });
    await at.clock.advance(0);
    expect(at.outbox()).toEqual(['first news EXPIRED', 'second news PENDING']);
  });

  test.each(['DEAD', 'EXPIRED'] as const)('that ends %s is posted to the next chat, and for as long again', async (state) => {
    const at = setup({ first: 'healthy', second: 'healthy' });
    await at.owner.tell(news);
    if (state === 'EXPIRED') await at.clock.advance(DAY);
    await at.settles('first', state);
    expect(at.outbox()).toEqual([`first news ${state}`, 'second news PENDING']);
    expect([...at.journal.rows.values()].at(-1)?.expiresAt).toBe(at.clock.now() + DAY);
  });

  test('F37 that may have arrived stays, with its doubt; one whose login is refused goes although the channel looks well', async () => {
    const { owner, journal, clock, current, outbox } = setup({ a: 'healthy', b: 'healthy' });
    await owner.tell({ key: 'k', text: 'news' });
    const [row] = [...journal.rows.values()];
    if (!row) throw new Error('nothing was posted');
    const retries = async (settlement: { reason: string; doubtSince?: number }): Promise<void> => {
      await journal.sending(row.seq);
      await journal.settle(row.seq, { kind: 'retry', notBefore: clock.now(), ...settlement });
      owner.observe({ type: 'part.retry', at: clock.now(), key: row.part.key, reason: settlement.reason, waitMs: 0 });
      await clock.advance(0);
    };
    current.set('a', 'degraded');
    await retries({ reason: 'lost', doubtSince: clock.now() });
    expect(outbox()).toEqual(['a news PENDING']);
    expect((await journal.part(row.part.key))?.doubtSince).toBe(clock.now());
    current.set('a', 'healthy');
    await retries({ reason: 'busy' });
    expect(outbox()).toEqual(['a news PENDING']);
    await retries({ reason: 'auth: token_revoked' });
    expect(outbox()).toEqual(['a news EXPIRED', 'b news PENDING']);
  });

  test('that no chat took is a warning, and told when it happens again', async () => {
    const at = setup({ only: 'healthy' });
    await at.owner.tell(news);
    await at.settles('only', 'DEAD');
    expect(at.warnings()).toEqual(['owner.lost']);
    await at.owner.tell(news);
    expect(at.outbox()).toEqual(['only news DEAD', 'only news PENDING']);
  });

  test('of an earlier process is looked after by the next one that meets the same trouble', async () => {
    const at = setup({ first: 'starting', second: 'starting' });
    const earlier = at.create();
    await earlier.tell(news);
    await earlier[Symbol.asyncDispose]();
    await at.owner.tell(news);
    await at.turns('first', 'down');
    await at.turns('second', 'healthy');
    expect(at.outbox()).toEqual(['first news EXPIRED', 'second news PENDING']);
  });

  test('F13 stays in its chat when the disk is full at that moment, and goes later', async () => {
    const at = setup({ first: 'healthy', second: 'healthy' });
    await at.owner.tell(news);
    at.journal.failNext('enqueue', 1);
    at.journal.failNext('settle', 1);
    await at.turns('first', 'down');
    await at.clock.advance(1_000);
    expect(at.outbox()).toEqual(['first news PENDING']);
    await at.turns('first', 'down');
    expect(at.outbox()).toEqual(['first news EXPIRED', 'second news PENDING']);
  });
});

test('a question moves with the time it has left, and says where it stands', async () => {
  const at = setup({ first: 'healthy', second: 'healthy' });
  const stands: string[] = [];
  const onMoved = ({ channel }: { channel: string }): void => void stands.push(channel);
  const ready = at.owner.prepare('ask/A', 'May I?', { expiresInMs: 600_000, onMoved });
  await at.journal.enqueue(ready?.parts ?? []);
  ready?.onDisk();
  await at.clock.advance(60_000);
  await at.turns('first', 'down');
  expect([at.outbox(), stands]).toEqual([['first May I? EXPIRED', 'second May I? PENDING'], ['second']]);
  expect([...at.journal.rows.values()].at(-1)?.expiresAt).toBe(at.clock.now() + 540_000);
});

test('the operator wrote what comes under an id of theirs or in a private chat of theirs, not what others write in their group', () => {
  const chats = [
    { channel: 'chat', chatId: 'group', senderIds: ['boss'] },
    { channel: 'chat', chatId: 'private' },
  ];
  const { owner } = setup({ chat: 'healthy' }, { chats });
  const wrote = (chatId: string, isGroup: boolean, senderId: string): boolean =>
    owner.wrote({ channel: 'chat', account: 'bot', chatId, isGroup, senderId });
  expect([wrote('group', true, 'member'), wrote('elsewhere', false, 'member')]).toEqual([false, false]);
  expect([wrote('group', true, 'boss'), wrote('elsewhere', true, 'boss'), wrote('private', false, 'any')]).toEqual([
    true,
    true,
    true,
  ]);
});

test('it is known of a channel whether the config names an id of the operator there', () => {
  const chats = [
    { channel: 'named', chatId: 'group', senderIds: ['boss'] },
    { channel: 'unnamed', chatId: 'private', senderIds: [] },
  ];
  const { owner } = setup({}, { chats });
  expect([owner.namesIds('named'), owner.namesIds('unnamed'), owner.namesIds('other')]).toEqual([true, false, false]);
});

test('a chat is the owner’s on that channel, with that account and that id only', () => {
  const { owner } = setup({ chat: 'healthy' });
  const place = { channel: 'chat', account: 'bot', chatId: 'owner@chat' };
  expect(owner.isOwnersChat(place)).toBe(true);
  for (const other of [{ channel: 'other' }, { account: 'bot2' }, { chatId: 'owner@other' }]) {
    expect(owner.isOwnersChat({ ...place, ...other })).toBe(false);
  }
});

test('a question of which the outbox holds nothing any more has left, and is not posted a second time', async () => {
  const at = setup({ chat: 'healthy' });
  await at.owner.lookAfter('ask/ABCDEF', 'May I?', { expiresInMs: DAY });
  expect(at.told()).toEqual([]);
});

async function askIn(at: ReturnType<typeof setup>, options: Partial<PostOptions> = {}): Promise<void> {
  const ready = at.owner.prepare('ask/A', 'May I?', { expiresInMs: 600_000, ...options });
  await at.journal.enqueue(ready?.parts ?? []);
  ready?.onDisk();
}

test('a question that is over is looked after no more', async () => {
  const at = setup({ first: 'healthy', second: 'healthy' });
  await askIn(at);
  const read = vi.spyOn(at.journal, 'part');
  for (const { seq } of at.journal.rows.values()) await at.journal.settle(seq, { kind: 'expired' });
  for (const state of ['down', 'healthy', 'down'] as const) await at.turns('first', state);
  expect(read.mock.calls).toEqual([['#owner/ask/A#0']]);
  expect(at.outbox()).toEqual(['first May I? EXPIRED']);
});

/** A question that was asked in the chat of one owner, where the config names another one since. */
async function setupTwoOwners() {
  const chats = [{ channel: 'first', chatId: 'old' }];
  const at = setup({ first: 'healthy', second: 'healthy' }, { chats });
  const heard: string[] = [];
  const options: PostOptions = {
    expiresInMs: 600_000,
    onMoved: ({ channel }) => void heard.push(`moved to ${channel}`),
    onLost: () => void heard.push('lost'),
  };
  await askIn(at, options);
  const names = async (channel: string, chatId: string, standsIn: string): Promise<void> => {
    chats.splice(0, 1, { channel, chatId });
    await at.owner.lookAfter('ask/A', 'May I?', { ...options, standsIn });
  };
  return { ...at, heard, names };
}

test('a question that was not sent yet in the chat of a former owner is not sent there', async () => {
  const { names, outbox, heard } = await setupTwoOwners();
  await names('second', 'new', 'first/bot/old');
  expect([outbox(), heard]).toEqual([['first May I? EXPIRED', 'second May I? PENDING'], ['moved to second']]);
  await names('first', 'old', 'second/bot/new');
  expect(outbox().slice(1)).toEqual(['second May I? EXPIRED', 'first May I? PENDING']);
});

test('a question that stands with the new owner is not lost with the chat of the former one', async () => {
  const { names, settles, turns, heard } = await setupTwoOwners();
  await names('second', 'new', 'first/bot/old');
  await settles('second', 'SENT');
  await turns('second', 'down');
  await settles('first', 'DEAD');
  expect(heard).toEqual(['moved to second']);
});

test('a question stands in its first chat again once the config names that again, and in no other one', async () => {
  const { names, settles, outbox, heard } = await setupTwoOwners();
  await settles('first', 'SENT');
  await names('second', 'new', 'first/bot/old');
  await names('first', 'old', 'second/bot/new');
  expect([outbox(), heard]).toEqual([
    ['first May I? SENT', 'second May I? EXPIRED'],
    ['moved to second', 'moved to first'],
  ]);
  await names('first', 'old', 'first/bot/old');
  expect(heard).toHaveLength(2);
});
