// A30: what an adapter hands on of words that its sender did not write, and whether the gate knows that they
// are foreign.
import type { Update } from 'grammy/types';
import { expect, test } from 'vitest';
import { toInbound as fromMail } from '../../channels/email/in/inbound.ts';
import { toInbound as fromSlack } from '../../channels/slack/in/inbound.ts';
import { toInbound as fromTelegram } from '../../channels/telegram/in/inbound.ts';
import { toInbound as fromWecom } from '../../channels/wecom/in/inbound.ts';
import { UNTRUSTED } from '../core/authority.ts';
import type { InboundMessage } from '../core/message.ts';
import { standingOf } from '../operator/authority.ts';

/** Whether the words of the owner alone are in it, as far as the gate knows. */
async function isForeign(message: InboundMessage | undefined): Promise<boolean> {
  if (!message || message.refusal !== undefined) throw new Error(`it is not read: ${message?.refusal}`);
  const { taint } = await standingOf(message, {
    mode: () => 'full',
    owner: { isOwnersId: () => true },
    pairing: { decided: async () => undefined },
    isLocal: () => false,
    allowedSenders: () => [],
    isSpoofable: () => false,
    isMail: (channel) => channel === 'email',
  });
  return (taint & UNTRUSTED) !== 0;
}

const ME = { id: 7, username: 'bot' };

function telegram(message: object): InboundMessage | undefined {
  const [from, chat] = [
    { id: 1, is_bot: false, first_name: 'Ada' },
    { id: 1, type: 'private', first_name: 'Ada' },
  ];
  const update = { update_id: 1, message: { message_id: 9, date: 1, from, chat, ...message } };
  return fromTelegram(update as Update, { channel: 'telegram', account: '7', me: ME });
}

const EVE = { id: 2, is_bot: false, first_name: 'Eve' };
const PLACE = { latitude: 1, longitude: 2 };

test.each<[string, object, boolean]>([
  ['own words', { text: 'hello' }, false],
  ['a text that looks like a mark', { text: '[venue: here]' }, false],
  ['a forwarded message', { text: 'do it', forward_origin: { type: 'user', date: 1, sender_user: EVE } }, true],
  ['what an inline bot wrote', { text: 'do it', via_bot: { id: 3, is_bot: true, first_name: 'B', username: 'b_bot' } }, true],
  ['the title of a place', { venue: { title: 'do it', address: 'x', location: PLACE } }, true],
  ['the name of a contact', { contact: { first_name: 'do it', phone_number: '1' } }, true],
  ['the title of a game', { game: { title: 'do it', description: 'x', photo: [] } }, true],
  ['the name of a set of stickers', { sticker: { emoji: '🙂', set_name: 'do_it', file_id: 'f' } }, true],
  ['the name of who told a story', { text: 'see', reply_to_story: { id: 4, chat: { id: 5, title: 'do it' } } }, true],
])('A30 Telegram: %s', async (_what, message, foreign) => {
  expect(await isForeign(telegram(message))).toBe(foreign);
});

function slack(event: object): InboundMessage | undefined {
  const facts = {
    type: 'message',
    channel: 'D1',
    channel_type: 'im',
    user: 'U1',
    team: 'T1',
    text: 'see',
    ts: '1767225600.000100',
  };
  const body = { type: 'event_callback', team_id: 'T1', event_id: 'E', event: { ...facts, ...event } };
  return fromSlack(
    { kind: 'event', body },
    {
      ...{ channel: 'slack', account: '1-2', me: { userId: 'U0', botId: 'B0', teamId: 'T1' } },
      ...{ replyInThread: true, directThreads: false, followThreads: true, allowedBots: new Set<string>() },
      ...{ commands: [], joined: () => false, now: 1_767_225_600_000 },
    },
  );
}

test.each<[string, object, boolean]>([
  ['own words', {}, false],
  ['a shared message', { attachments: [{ is_share: true, author_name: 'Eve', text: 'do it' }] }, true],
  ['a message behind a link', { attachments: [{ is_msg_unfurl: true, author_name: 'Eve', text: 'do it' }] }, true],
  ['a file elsewhere', { files: [{ id: 'F1', mode: 'external', title: 'do it', external_url: 'https://x' }] }, true],
])('A30 Slack: %s', async (_what, event, foreign) => {
  expect(await isForeign(slack(event))).toBe(foreign);
});

test.each<[string, string, boolean]>([
  ['own words', '<MsgType>text</MsgType><Content>hello</Content>', false],
  ['what a link says', '<MsgType>link</MsgType><Title>do it</Title><Url>https://x</Url>', true],
  ['what a place is called', '<MsgType>location</MsgType><Label>do it</Label>', true],
])('A30 WeCom: %s', async (_what, content, foreign) => {
  const xml = `<xml><ToUserName>c</ToUserName><FromUserName>ada</FromUserName><AgentID>1</AgentID><MsgId>1</MsgId>${content}</xml>`;
  const read = fromWecom(Buffer.from(xml), { channel: 'wecom', account: 'a', corpId: 'c', agentId: '1', now: 1 });
  expect(await isForeign(read.kind === 'message' ? read.message : undefined)).toBe(foreign);
});

const OURS = `<gh-${'0'.repeat(32)}.0@example.test>`;

async function mail(subject: string, body: string, parent?: string): Promise<InboundMessage> {
  const head = [
    'Authentication-Results: mx.example.test; dmarc=pass header.from=example.test',
    ...['From: Ada <ada@example.test>', 'To: bot@example.test', `Subject: ${subject}`, 'Message-ID: <1@example.test>'],
    ...(parent === undefined ? [] : [`In-Reply-To: ${parent}`, `References: ${parent}`]),
    ...(body.startsWith('<') ? ['Content-Type: text/html'] : []),
  ];
  return await fromMail(
    Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`),
    { uidValidity: '1', uid: 1, receivedAt: 1, size: 1 },
    {
      ...{ channel: 'email', account: 'bot@example.test', trustFrom: false, authservId: 'mx.example.test' },
      ...{ maxBodyChars: 10_000, maxFileBytes: 1_000_000 },
    },
  );
}

const FIELDS = 'From: Eve <eve@example.org>\nSent: Monday, 5 January 2026 10:00\nTo: Ada <ada@example.test>\nSubject: Invoice';

test.each<[string, string, string, string | undefined, boolean]>([
  ['own words', 'Invoice', 'hello', undefined, false],
  ['an answer to a mail of ours', 'Re: Invoice', 'yes', OURS, false],
  ['a mail that is passed on', 'Fwd: Invoice', 'see below', undefined, true],
  [
    'the same under another subject',
    'look',
    'see\n\n---------- Forwarded message ---------\nFrom: Eve\n\ndo it',
    undefined,
    true,
  ],
  ['the same as Apple does it', 'look', 'Begin forwarded message:\n\n> From: Eve\n>\n> do it', undefined, true],
  ['the same as Outlook does it', 'Invoice', `see\n\n________________\n${FIELDS}\n\ndo it`, undefined, true],
  ['a mail that is pasted', 'is it real?', `look\n\n${FIELDS}\n\ndo it`, undefined, true],
  ['quoted lines', 'look', 'what does he mean?\n\n> do it', undefined, true],
  ['quoted HTML', 'look', '<p>what is it?</p><blockquote>do it</blockquote>', undefined, true],
  ['answers between quoted lines', 'Re: x', 'On 5 Jan 2026, at 10:00, bot@example.test wrote:\n> a\nb\n> c\nd', OURS, true],
  ['the subject of a mail of another person', 'Re: do it', 'what is that?', '<2@example.org>', true],
])('A30 mail: %s', async (_what, subject, body, parent, foreign) => {
  expect(await isForeign(await mail(subject, body, parent))).toBe(foreign);
});
