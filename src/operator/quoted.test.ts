import { expect, it } from 'vitest';
import type { MediaRef, QuotedMessage } from '../core/message.ts';
import { openJournal } from '../journal/open.ts';
import { FakeClock, inbound, tempDir } from '../testing/fakes.ts';
import { withQuoted } from './quoted.ts';

const PICTURE: MediaRef = { kind: 'photo', ref: 'F1' };
const OWN: MediaRef = { kind: 'document', ref: 'F2' };
const QUOTED: QuotedMessage = {
  platformId: 'C1:1.0',
  fromBot: false,
  senderId: 'bob',
  text: 'look',
  origin: 'written by Bob',
  media: [PICTURE],
};
const LEFT_OUT = '1 message, left out because its author may not write to you';

async function decide(quoted: QuotedMessage, allowedSenders: readonly string[], approve = false, block = false) {
  await using dir = await tempDir();
  const clock = new FakeClock();
  const { journal, pairing } = await openJournal({ dir: dir.path, clock, highWater: 100, onFatal: () => undefined });
  await using _closed = journal;
  const message = inbound({ media: [OWN], replyTo: quoted });
  if (approve) {
    const { channel, account } = message;
    const request = await pairing.request({ channel, account, senderId: 'bob', senderName: 'Bob', chatId: 'bob' }, clock.now());
    if (request.code === undefined) throw new Error('no code');
    await pairing.approve(request.code, clock.now());
  }
  const bob = { channel: message.channel, senderId: 'bob' };
  if (block) await journal.commit([{ kind: 'shut-out', who: bob, as: 'blocked', by: 'cli' }]);
  const rules = {
    local: false,
    allowedSenders,
    allowedGroups: ['*'],
    groupMode: 'mention',
    groupPatterns: [],
    groupVoice: false,
  };
  const { media, replyTo } = await withQuoted(message, rules as Parameters<typeof withQuoted>[1], pairing);
  return { media, replyTo };
}

it.each<[string, QuotedMessage, readonly string[], boolean]>([
  ['a person who is listed', QUOTED, ['bob'], false],
  ['anybody, where everybody may write', QUOTED, ['*'], false],
  ['a person who was paired', QUOTED, ['ada'], true],
  ['the agent', { ...QUOTED, senderId: 'bot', fromBot: true }, ['ada'], false],
])('a fetched message of %s comes along with its files', async (_name, quoted, allowed, approve) => {
  const { media, replyTo } = await decide(quoted, allowed, approve);
  expect(media).toEqual([OWN, PICTURE]);
  const { fromBot, senderId } = quoted;
  expect(replyTo).toEqual({ platformId: 'C1:1.0', fromBot, senderId, text: 'look', origin: 'written by Bob' });
});

it('S3 a fetched message of a person who is blocked stays out, also where everybody may write', async () => {
  expect((await decide(QUOTED, ['*'], false, true)).replyTo).toMatchObject({ origin: LEFT_OUT });
});

it('A4 a fetched message of somebody who may not write leaves no word and no file behind, only that there is one', async () => {
  expect(await decide(QUOTED, ['ada'])).toEqual({
    media: [OWN],
    replyTo: { platformId: 'C1:1.0', fromBot: false, origin: LEFT_OUT },
  });
});

it('a quotation that came with the message itself stays as it is', async () => {
  const quoted = { platformId: 'C1:1.0', fromBot: false, text: 'what I mean' };
  expect(await decide(quoted, ['ada'])).toEqual({ media: [OWN], replyTo: quoted });
});
