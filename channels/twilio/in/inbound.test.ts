import { expect, test } from 'vitest';
import { fromRecord, fromWebhook, type InboundContext } from './inbound.ts';
import { InboundCap } from './inbound-cap.ts';

const SID = `SM${'1'.repeat(32)}`;
const MEDIA = `ME${'2'.repeat(32)}`;
const ACCOUNT = `AC${'3'.repeat(32)}`;
const NUMBER = '+15005550006';
const ADA = '+14155550001';
const CONTEXT: InboundContext = {
  channel: 'sms',
  number: NUMBER,
  accountSid: ACCOUNT,
  isMediaHost: (host) => host === 'api.twilio.com',
  answerOptOutWords: false,
  now: Date.UTC(2026, 0, 1),
};
const RECORD = {
  ...{ sid: SID, from: ADA, to: NUMBER, body: 'hello', direction: 'inbound', status: 'received' },
  ...{ mediaCount: 0, at: Date.UTC(2026, 0, 1) },
};

function webhook(fields: Record<string, string>, context: Partial<InboundContext> = {}) {
  const all = { MessageSid: SID, From: ADA, To: NUMBER, Body: 'hello', NumMedia: '0', ...fields };
  const message = fromWebhook(new Map(Object.entries(all)), { ...CONTEXT, ...context });
  if (!message) throw new Error('no message');
  return message;
}

function mediaUrl(override: { host?: string; account?: string; sid?: string; media?: string } = {}): string {
  const { host = 'api.twilio.com', account = ACCOUNT, sid = SID, media = MEDIA } = override;
  return `https://${host}/2010-04-01/Accounts/${account}/Messages/${sid}/Media/${media}`;
}

test('the webhook and the list tell the same message under the same key', () => {
  const pushed = webhook({});
  expect(pushed).toMatchObject({ platformId: SID, chatId: ADA, senderId: ADA, account: NUMBER, text: 'hello', isGroup: false });
  expect(fromRecord(RECORD, [], CONTEXT)).toEqual(pushed);
});

test('the time of receipt goes with every part of the answer', () => {
  expect(webhook({}).replyContext).toEqual({ receivedAt: CONTEXT.now });
});

test('a webhook without a SID or a sender is no message', () => {
  for (const sid of ['', 'SM123', `${SID}x`, `XX${'1'.repeat(32)}`]) {
    expect(
      fromWebhook(
        new Map([
          ['MessageSid', sid],
          ['From', ADA],
        ]),
        CONTEXT,
      ),
    ).toBeUndefined();
  }
  expect(fromWebhook(new Map([['MessageSid', SID]]), CONTEXT)).toBeUndefined();
});

test('files are known by their SIDs, by kind', () => {
  const message = webhook({
    ...{ NumMedia: '2', MediaUrl0: mediaUrl(), MediaContentType0: 'image/jpeg; x=1' },
    ...{ MediaUrl1: mediaUrl(), MediaContentType1: 'text/x-vcard' },
  });
  expect(message.media).toEqual([
    { kind: 'photo', ref: `${SID}/${MEDIA}`, mime: 'image/jpeg' },
    { kind: 'document', ref: `${SID}/${MEDIA}`, mime: 'text/x-vcard' },
  ]);
  expect(fromRecord({ ...RECORD, mediaCount: 1 }, [{ sid: MEDIA, mime: 'audio/amr' }], CONTEXT).media).toEqual([
    { kind: 'voice', ref: `${SID}/${MEDIA}`, mime: 'audio/amr' },
  ]);
});

test.each([
  ['another host', mediaUrl({ host: 'evil.example' })],
  ['a host that ends alike', mediaUrl({ host: 'api.twilio.com.evil.example' })],
  ['a name before the host', mediaUrl({ host: 'api.twilio.com@evil.example' })],
  ['another account', mediaUrl({ account: `AC${'9'.repeat(32)}` })],
  ['another message', mediaUrl({ sid: `SM${'9'.repeat(32)}` })],
  ['a path above', mediaUrl({ media: '../../../x' })],
  ['the machine itself', 'http://127.0.0.1/'],
  ['no address', 'x'],
])('A8 a file said to lie at %s becomes a note, and no reference', (_name, url) => {
  const message = webhook({ NumMedia: '1', MediaUrl0: url, MediaContentType0: 'image/png', Body: 'look' });
  expect(message.media).toEqual([]);
  expect(message.text).toBe('look\n[1 file that cannot be fetched]');
  expect(message).not.toHaveProperty('refusal');
});

test('a file that was deleted since leaves a note', () => {
  expect(fromRecord({ ...RECORD, body: '', mediaCount: 2 }, undefined, CONTEXT)).toMatchObject({
    text: '[2 files that cannot be fetched]',
    media: [],
  });
});

test('A45 a number of files is not believed beyond the ten a message can have', () => {
  expect(webhook({ NumMedia: '1e9' }).text).toBe('hello\n[10 files that cannot be fetched]');
  for (const count of ['-1', 'x', 'NaN', '']) expect(webhook({ NumMedia: count }).text).toBe('hello');
});

test('A5 our own number is not answered, an empty message and a sender without a name neither', () => {
  expect(webhook({ From: NUMBER }).refusal).toBe('own-message');
  expect(webhook({ Body: ' \n' }).refusal).toBe('empty');
  expect(fromRecord({ ...RECORD, from: '' }, [], CONTEXT)).toMatchObject({ refusal: 'unreadable', senderId: 'unknown' });
  expect(webhook({ From: 'x'.repeat(300) }).refusal).toBe('unreadable');
});

test('words that Twilio answers are left to it, and only alone', () => {
  for (const word of ['STOP', 'stop', ' Stop\n', 'UNSUBSCRIBE', 'START', 'HELP', 'info']) {
    expect(webhook({ Body: word }).refusal).toBe('answered-by-platform');
  }
  for (const text of ['stop it', 'help me', 'yes', '/stop', 'HELP!'])
    expect(webhook({ Body: text })).not.toHaveProperty('refusal');
  expect(webhook({ Body: 'ARRET', OptOutType: 'STOP' }).refusal).toBe('answered-by-platform');
  expect(webhook({ Body: 'STOP', OptOutType: 'STOP' }, { answerOptOutWords: true })).not.toHaveProperty('refusal');
});

test('the words are for the agent where the number is a short code, unless Twilio says that it answered', () => {
  const number = '12345';
  for (const word of ['STOP', 'HELP', 'end', 'START']) {
    expect(webhook({ Body: word, To: number }, { number })).not.toHaveProperty('refusal');
    expect(fromRecord({ ...RECORD, body: word, to: number }, [], { ...CONTEXT, number })).not.toHaveProperty('refusal');
  }
  expect(webhook({ Body: 'STOP', To: number, OptOutType: 'STOP' }, { number }).refusal).toBe('answered-by-platform');
});

test('A5 a loop with another machine ends, and other people are not affected', () => {
  const cap = new InboundCap({ perSender: 3, inAll: 100 });
  const admit = (sender: string, n: number, at: number) => cap.admit({ sid: `${sender}${n}`, sender, at, now: at });
  expect([1, 2, 3, 4].map((n) => admit('a', n, n))).toEqual(['admitted', 'admitted', 'admitted', 'refused']);
  expect(admit('b', 1, 5)).toBe('admitted');
  // The same message again gets the same verdict, from the webhook and from the list.
  expect([admit('a', 3, 3), admit('a', 4, 4)]).toEqual(['admitted', 'refused']);
  expect(admit('a', 5, 61_000)).toBe('admitted');
});

test('A45 all senders together have a limit beyond which they wait, and what waited for a day is no flood', () => {
  const cap = new InboundCap({ perSender: 10, inAll: 5 });
  const admit = (n: number, now: number) => cap.admit({ sid: `s${n}`, sender: `p${n}`, at: 1_000, now });
  const verdicts = Array.from({ length: 8 }, (_, n) => admit(n, 1_000));
  expect(verdicts).toEqual([...Array(5).fill('admitted'), ...Array(3).fill('later')]);
  expect([admit(0, 30_000), admit(5, 30_000), admit(5, 62_000), admit(5, 62_000)]).toEqual([
    'admitted',
    'later',
    'admitted',
    'admitted',
  ]);
  const spread = new InboundCap({ perSender: 2, inAll: 2 });
  const all = Array.from({ length: 50 }, (_, n) => spread.admit({ sid: `s${n}`, sender: 'p', at: n * 60_000, now: 3_000_000 }));
  expect(new Set(all)).toEqual(new Set(['admitted']));
});

test('A45 what the list alone brings of a full minute comes a minute’s share at a time, and not one in each reading', () => {
  const cap = new InboundCap({ perSender: 10, inAll: 5 });
  // A reading ends at the first that has to wait.
  const read = (from: number, now: number): number => {
    let n = from;
    while (n < 15 && cap.admit({ sid: `s${n}`, sender: `p${n}`, at: 1_000, now }) !== 'later') n += 1;
    return n;
  };
  const first = read(0, 10_000);
  const second = read(first, 70_000);
  expect([first, second, read(second, 130_000)]).toEqual([5, 10, 15]);
});

test('A5 a loop ends also after the clock was set back', () => {
  const cap = new InboundCap({ perSender: 3, inAll: 100 });
  const admit = (n: number, at: number) => cap.admit({ sid: `s${n}`, sender: 'a', at, now: at });
  admit(0, 24 * 3_600_000);
  expect([1, 2, 3, 4, 5].map((n) => admit(n, 1_000 + n))).toEqual(['admitted', 'admitted', 'admitted', 'refused', 'refused']);
  // It is known again when the clock comes to where it was.
  expect(admit(6, 24 * 3_600_000 + 61_000)).toBe('admitted');
});
