import { describe, expect, test } from 'vitest';
import type { ChannelHealth } from '../core/channel.ts';
import { FakeClock, MemoryLogger } from '../testing/fakes.ts';
import { MemoryJournal } from '../testing/memory-journal.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { Owner, type OwnerOptions } from './owner.ts';

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
  return { clock, journal, logger, current, poked, create, owner: create(), told, warnings };
}

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

test('a chat is the owner’s on that channel, with that account and that id only', () => {
  const { owner } = setup({ chat: 'healthy' });
  const place = { channel: 'chat', account: 'bot', chatId: 'owner@chat' };
  expect(owner.isOwnersChat(place)).toBe(true);
  for (const other of [{ channel: 'other' }, { account: 'bot2' }, { chatId: 'owner@other' }]) {
    expect(owner.isOwnersChat({ ...place, ...other })).toBe(false);
  }
});
