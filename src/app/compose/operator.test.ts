import { expect, test } from 'vitest';
import { EventBus } from '../../bus/event-bus.ts';
import type { ChannelHealth } from '../../core/channel.ts';
import type { InboundMessage } from '../../core/message.ts';
import { Owner } from '../../operator/owner.ts';
import { FakeClock, MemoryLogger } from '../../testing/fakes.ts';
import { MemoryJournal } from '../../testing/memory-journal.ts';
import { TestChannel } from '../../testing/test-channel.ts';
import type { ChannelSet } from '../channels.ts';
import { provenOwner, tellOfChannels } from './operator.ts';

function setup() {
  const clock = new FakeClock(new Date(2026, 0, 1, 9).getTime());
  const journal = new MemoryJournal(clock);
  const logger = new MemoryLogger();
  const channel = new TestChannel('chat');
  const owner = new Owner({
    ...{ journal, clock, logger, chats: [{ channel: 'chat', chatId: 'owner' }] },
    channel: (name) => (name === 'chat' ? channel : undefined),
    state: () => 'healthy',
    onParts: () => undefined,
    redact: (text) => text,
  });
  const events = new EventBus((error) => {
    throw error;
  });
  tellOfChannels(owner, { status: () => [] }, events);
  const turns = async (state: ChannelHealth, detail?: string): Promise<void> => {
    events.emit({ type: 'channel', at: clock.now(), channel: 'work', state, ...(detail === undefined ? {} : { detail }) });
    await clock.advance(1_000);
  };
  const told = () => [...journal.rows.values()].map(({ part }) => /is down: (\S+)\./.exec(part.text)?.[1]);
  return { clock, logger, events, turns, told };
}

test('hostile: under the id of the operator nothing is theirs where a stranger can write under it', () => {
  const owner = { wrote: () => true } as unknown as Owner;
  const rules: Readonly<Record<string, object>> = {
    sms: { type: 'twilio', settings: {} },
    mail: { type: 'email', settings: { trust_from: true } },
    proven: { type: 'email', settings: {} },
    chat: { type: 'telegram', settings: {} },
  };
  const isOwner = provenOwner({ owner }, { rules: (name: string) => rules[name] } as unknown as ChannelSet);
  const wrote = (channel: string) => isOwner({ channel } as InboundMessage);
  expect(['sms', 'mail', 'proven', 'chat'].map(wrote)).toEqual([false, false, true, true]);
});

test('F34 a login that only sends find refused is told', async () => {
  const { events, told, clock } = setup();
  const retry = { type: 'part.retry', at: clock.now(), channel: 'work', key: 'k', waitMs: 60_000 } as const;
  events.emit({ ...retry, reason: 'busy' });
  events.emit({ ...retry, reason: 'auth: revoked' });
  events.emit({ ...retry, reason: 'auth: revoked' });
  await clock.advance(1_000);
  expect(told()).toHaveLength(1);
});

test('F34 a revoked login is told also when the channel was down for another cause on the same day', async () => {
  const { turns, told } = setup();
  await turns('healthy');
  await turns('down', 'broke');
  await turns('healthy');
  await turns('down', 'GH1501:revoked');
  expect(told()).toEqual(['broke', 'GH1501:revoked']);
});

test('a channel that goes down for the same cause again is told again, one that only says so in other words is not', async () => {
  const { turns, told, logger } = setup();
  await turns('healthy');
  await turns('down', 'GH1501:first');
  await turns('down', 'GH1501:reworded');
  await turns('healthy');
  await turns('down', 'GH1501:again');
  expect(told()).toEqual(['GH1501:first', 'GH1501:again']);
  expect(logger.lines.map(({ event }) => event)).toContain('owner.told-before');
});

test('hostile: a channel that comes and goes all day is three notices', async () => {
  const { turns, told } = setup();
  for (let n = 0; n < 50; n += 1) {
    await turns('healthy');
    await turns('down', `broke-${n}`);
  }
  expect(told()).toHaveLength(3);
});
