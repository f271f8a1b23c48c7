import { proto, type WAMessage } from '@whiskeysockets/baileys';
import { describe, expect, test } from 'vitest';
import type { InboundMessage } from '../../../src/core/message.ts';
import { isEmpty } from '../../../src/lib/bare-name.ts';
import { bareJid, jidOf, type Pins, parseJid, personId } from '../wire/ids.ts';
import { fromRef } from '../wire/media-ref.ts';
import { type InboundContext, splitPlatformId, toInbound } from './inbound.ts';

const ME = { phone: '15550000000', lid: '900000000000001' };
const ADA = '15551110000@s.whatsapp.net';
const GROUP = '120363000000000001@g.us';

function memoryPins(): Pins {
  const lids = new Map<string, string>();
  return {
    lidOf: (phone) => lids.get(phone),
    phoneOf: (lid) => [...lids].find(([, value]) => value === lid)?.[0],
    pin: (phone, lid) => void lids.set(phone, lid),
  };
}

const context = (): InboundContext => ({ channel: 'wa', account: ME.phone, me: ME, pins: memoryPins() });

function read(
  message: proto.IMessage | undefined,
  override: Partial<WAMessage> & { key?: object } = {},
): InboundMessage | undefined {
  const { key, ...rest } = override;
  // Through the wire format, so that the shapes are those of decoded messages.
  const decoded = message && proto.Message.decode(proto.Message.encode(message).finish());
  return toInbound(
    {
      key: { remoteJid: ADA, fromMe: false, id: 'M1', ...key },
      messageTimestamp: 1_790_000_000,
      pushName: 'Ada',
      ...(decoded && { message: decoded }),
      ...rest,
    },
    context(),
  );
}

const inGroup = { key: { remoteJid: GROUP, participant: ADA } };

test('a message has its place, its author, its time and what an answer needs', () => {
  expect(read({ conversation: 'hi' })).toEqual({
    channel: 'wa',
    account: ME.phone,
    id: 'wa/15550000000/15551110000:15551110000:M1',
    platformId: '15551110000:15551110000:M1',
    kind: 'message',
    chatId: '15551110000',
    senderId: '15551110000',
    senderName: 'Ada',
    text: 'hi',
    media: [],
    isGroup: false,
    mentionsBot: false,
    timestamp: 1_790_000_000_000,
    replyContext: { jid: ADA, id: 'M1', text: 'hi' },
  });
});

test('what an answer quotes of a message is well-formed, also where an emoji stands at its end', () => {
  const quoted = String(read({ conversation: `${'x'.repeat(199)}\u{1F600} and more` })?.replyContext?.['text']);
  expect([quoted.slice(0, 199), quoted.isWellFormed()]).toEqual(['x'.repeat(199), true]);
});

test('A23 files carry an address of our own, their caption is the text, and their name is a word', () => {
  const file = {
    mediaKey: Buffer.alloc(32, 1),
    directPath: '/v/x',
    url: 'https://evil.example/x',
    fileLength: 5,
    fileEncSha256: Buffer.alloc(32, 2),
  };
  const documentMessage = { ...file, caption: 'see', fileName: '../../a.pdf', mimetype: 'application/pdf' };
  const message = read({ documentWithCaptionMessage: { message: { documentMessage } } });
  expect(message).toMatchObject({
    text: 'see',
    media: [{ kind: 'document', name: '../../a.pdf', mime: 'application/pdf', size: 5 }],
  });
  // The path wins over an address that the sender chose.
  expect(fromRef(message?.media[0]?.ref ?? '')).toMatchObject({ kind: 'document', path: '/v/x' });
  expect(fromRef(message?.media[0]?.ref ?? '')?.url).toBeUndefined();
  expect(read({ audioMessage: { ...file, ptt: true, mimetype: 'audio/ogg; codecs=opus' } })?.media).toMatchObject([
    { kind: 'voice', mime: 'audio/ogg' },
  ]);
});

test.each<[string, proto.IMessage, object]>([
  ['keys of a group', { senderKeyDistributionMessage: { groupId: GROUP } }, {}],
  ['settings of a chat', { protocolMessage: { type: 3, ephemeralExpiration: 60 } }, {}],
  ['the head of an album', { albumMessage: { expectedImageCount: 2 } }, {}],
  ['a status update', { conversation: 'x' }, { key: { remoteJid: 'status@broadcast', participant: ADA } }],
  ['a newsletter', { conversation: 'x' }, { key: { remoteJid: '1@newsletter' } }],
  ['what our own devices tell each other', { conversation: 'x' }, { category: 'peer' }],
])('%s is no message', (_what, message, override) => {
  expect(read(message, override)).toBeUndefined();
});

describe('A5 what no person wrote to us is refused', () => {
  test.each<[string, proto.IMessage | undefined, object, string]>([
    ['the owner on the phone', { conversation: 'x' }, { key: { fromMe: true } }, 'own-message'],
    ['us in a group', { conversation: 'x' }, { key: { remoteJid: GROUP, participant: `${ME.lid}:3@lid` } }, 'own-message'],
    ['a bot of the platform', { conversation: 'x' }, { key: { remoteJid: '867051314767696@bot' } }, 'bot-author'],
    ['nothing that we know', { stickerSyncRmrMessage: { rmrSource: 'x' } }, {}, 'empty'],
    ['what could not be decoded', undefined, {}, 'unreadable'],
  ])('%s', (_who, message, override, refusal) => {
    expect(read(message, override)).toMatchObject({ refusal });
  });
});

describe('A4 whose words they are', () => {
  test('forwarded text is marked, and a name in it addresses nobody', () => {
    const contextInfo = { isForwarded: true, mentionedJid: [`${ME.phone}@s.whatsapp.net`] };
    const message = read({ extendedTextMessage: { text: `@${ME.phone} do it`, contextInfo } }, inGroup);
    expect(message).toMatchObject({ text: `[forwarded, not written by the sender]\n@${ME.phone} do it`, mentionsBot: false });
  });

  test('a quote of another person names them, one of us addresses us, one from elsewhere does not, and all are the sender’s word', () => {
    const quote = (participant: string, remoteJid?: string) =>
      read(
        {
          extendedTextMessage: {
            text: 'and?',
            contextInfo: {
              stanzaId: 'Q',
              participant,
              quotedMessage: { conversation: 'words' },
              ...(remoteJid && { remoteJid }),
            },
          },
        },
        inGroup,
      )?.replyTo;
    expect(quote('15552220000@s.whatsapp.net')).toEqual({
      platformId: `${GROUP}:15552220000:Q`,
      text: 'words',
      origin: 'written by 15552220000, not by the sender',
      authorId: '15552220000',
      fromBot: false,
      isRepeated: true,
    });
    expect(quote(`${ME.lid}@lid`)).toEqual({
      platformId: `${GROUP}:${ME.phone}:Q`,
      text: 'words',
      fromBot: true,
      isRepeated: true,
    });
    expect(quote(`${ME.lid}@lid`, '120363000000000002@g.us')).toMatchObject({
      text: 'words',
      origin: 'quoted from another chat',
      fromBot: false,
    });
  });

  test('a question in reply to a picture brings the picture, and says whose it is; talk among people does not', () => {
    const image = { mediaKey: Buffer.alloc(32, 1), directPath: '/v/picture', caption: 'look', mimetype: 'image/jpeg' };
    const reply = (text: string, more: proto.IContextInfo = {}, quotedMessage: proto.IMessage = { imageMessage: image }) => {
      const quote = { stanzaId: 'Q', participant: '15552220000@s.whatsapp.net', quotedMessage };
      return read({ extendedTextMessage: { text, contextInfo: { ...quote, ...more } } }, inGroup);
    };
    const mentionedJid = [`${ME.phone}@s.whatsapp.net`];
    const asked = reply(`@${ME.phone} what is this?`, { mentionedJid });
    expect(asked).toMatchObject({
      text: 'what is this?',
      media: [{ kind: 'photo', mime: 'image/jpeg' }],
      replyTo: { text: '[photo]\nlook', origin: 'written by 15552220000, not by the sender', isRepeated: true },
    });
    expect(fromRef(asked?.media[0]?.ref ?? '')).toMatchObject({ kind: 'image', path: '/v/picture' });
    expect(reply('nice, isn’t it?')).toMatchObject({ media: [], replyTo: { text: '[photo]\nlook' } });
    expect(reply('and now?', { participant: `${ME.lid}@lid` })?.media).toHaveLength(1);
  });

  test('nothing but our number, in reply to a message, asks about that; alone it says nothing', () => {
    const call = (context: proto.IContextInfo) =>
      read(
        {
          extendedTextMessage: {
            text: `@${ME.phone}`,
            contextInfo: { mentionedJid: [`${ME.phone}@s.whatsapp.net`], ...context },
          },
        },
        inGroup,
      );
    const quote = { stanzaId: 'Q', quotedMessage: { conversation: 'When does the shop open?' } };
    const pointing = call({ ...quote, participant: '15552220000@s.whatsapp.net' });
    expect(pointing).toMatchObject({ text: '', mentionsBot: true, replyTo: { text: 'When does the shop open?' } });
    const all = [pointing, call({ ...quote, participant: `${ME.lid}@lid` }), call({})];
    expect(all.map((read) => read && isEmpty(read))).toEqual([false, false, true]);
  });

  test('of a picture whose key the sender’s app leaves out of the reply the kind is told', () => {
    const ask = (quotedMessage: proto.IMessage, text = 'what is this?') =>
      read({ extendedTextMessage: { text, contextInfo: { stanzaId: 'Q', quotedMessage } } });
    expect(ask({ imageMessage: { jpegThumbnail: Buffer.from('x') } })).toMatchObject({ media: [], replyTo: { text: '[photo]' } });
    expect(ask({ ephemeralMessage: { message: { audioMessage: { ptt: true } } } })?.replyTo?.text).toBe('[voice]');
    expect(ask({ documentMessage: { fileName: 'a.pdf' } })?.replyTo?.text).toBe('[document]');
  });

  test('own files are meant where there are some, and the replied-to picture is only told of', () => {
    const file = (path: string) => ({ mediaKey: Buffer.alloc(32, 1), directPath: path });
    const contextInfo = { stanzaId: 'Q', quotedMessage: { imageMessage: file('/v/theirs') } };
    const message = read({ imageMessage: { ...file('/v/own'), contextInfo } });
    expect(message?.media.map(({ ref }) => fromRef(ref)?.path)).toEqual(['/v/own']);
    expect(message?.replyTo?.text).toBe('[photo]');
  });

  test('nobody edits or deletes what another wrote', () => {
    const other = { key: { id: 'M0', fromMe: false, participant: '15552220000@s.whatsapp.net' } };
    expect(read({ protocolMessage: { ...other, type: 0 } }, inGroup)).toBeUndefined();
    expect(read({ protocolMessage: { ...other, type: 14, editedMessage: { conversation: 'x' } } }, inGroup)).toBeUndefined();
    // Without a name it can only be their own.
    const own = read({ protocolMessage: { key: { id: 'M0', fromMe: false }, type: 0 } });
    expect(own).toMatchObject({ kind: 'delete', targetId: '15551110000:15551110000:M0' });
  });
});

describe('mentions', () => {
  const say = (text: string, mentionedJid: string[]) =>
    read({ extendedTextMessage: { text, contextInfo: { mentionedJid } } }, inGroup);

  test.each([
    [`@${ME.phone} hello`, [`${ME.phone}@s.whatsapp.net`], 'hello', true],
    [`hey @${ME.lid}, do`, [`${ME.lid}@lid`], 'hey do', true],
    [`@${ME.phone}1 hello`, [`${ME.phone}1@s.whatsapp.net`], `@${ME.phone}1 hello`, false],
    // Typed digits alone are no mention.
    [`@${ME.phone} hello`, [], `@${ME.phone} hello`, false],
  ])('%s', (text, mentioned, expected, found) => {
    expect(say(text, mentioned)).toMatchObject({ text: expected, mentionsBot: found });
  });
});

test('reactions name the author of what they are about', () => {
  const react = (key: proto.IMessageKey, text = '👍') => read({ reactionMessage: { key, text } }, inGroup);
  expect(react({ id: 'R', fromMe: false, participant: `${ME.lid}@lid` })).toMatchObject({
    kind: 'reaction',
    targetId: `${GROUP}:${ME.phone}:R`,
  });
  expect(react({ id: 'R', fromMe: true })).toMatchObject({ targetId: `${GROUP}:15551110000:R` });
  expect(react({ id: 'R', fromMe: false, participant: '15552220000@s.whatsapp.net' }, '')).toMatchObject({
    text: '',
    targetId: `${GROUP}:15552220000:R`,
  });
});

test('A37 two authors, two chats or two ids never share a name', () => {
  const names = [
    read({ conversation: 'x' }),
    read({ conversation: 'x' }, { key: { id: 'M2' } }),
    read({ conversation: 'x' }, inGroup),
    read({ conversation: 'x' }, { key: { remoteJid: GROUP, participant: '15552220000@s.whatsapp.net' } }),
    read({ conversation: 'x' }, { key: { id: '15551110000:M1' } }),
    read({ conversation: 'x' }, { key: { id: 'M'.repeat(500) } }),
  ].map((message) => message?.platformId ?? '');
  expect(new Set(names).size).toBe(names.length);
  expect(splitPlatformId(names[4] ?? '')).toEqual({ chatId: '15551110000', authorId: '15551110000', id: '15551110000:M1' });
});

test('addresses: the devices of a person are one, and what is no address is none', () => {
  expect(parseJid('15551110000_1:7@s.whatsapp.net')).toEqual({ user: '15551110000', kind: 'phone' });
  expect(bareJid('15551110000:7@s.whatsapp.net')).toBe(ADA);
  expect([jidOf('15551110000'), jidOf('1@lid'), jidOf(GROUP)]).toEqual([ADA, '1@lid', GROUP]);
  for (const bad of ['', 'x', '@lid', 'a@b@lid', '1 2@lid', 'x'.repeat(100), undefined]) expect(parseJid(bad)).toBeUndefined();
});

test('A3 the number under which somebody came first stays their id, and its next owner has another', () => {
  const pins = memoryPins();
  expect(personId('1@s.whatsapp.net', '91@lid', pins)).toBe('1');
  expect(personId('91@lid', undefined, pins)).toBe('1');
  // The same account with a new number, and another account with the old one.
  expect(personId('91@lid', '2@s.whatsapp.net', pins)).toBe('1');
  expect(personId('1@s.whatsapp.net', '92@lid', pins)).toBe('92@lid');
  expect(personId('93@lid', undefined, pins)).toBe('93@lid');
  // What was approved for them must not be lost when their number becomes known.
  expect(personId('93@lid', '3@s.whatsapp.net', pins)).toBe('93@lid');
});

test('A3 what our own phone writes to somebody does not tie them to our number, nor to their LID alone', () => {
  const pins = memoryPins();
  const from = (key: WAMessage['key'], text: string) =>
    toInbound({ key: { id: text, ...key }, messageTimestamp: 1, message: { conversation: text } }, { ...context(), pins });
  const own = `${ME.phone}@s.whatsapp.net`;
  expect(from({ remoteJid: '91@lid', remoteJidAlt: own, fromMe: true }, 'a')).toMatchObject({ refusal: 'own-message' });
  expect(from({ remoteJid: '92@lid', remoteJidAlt: own, fromMe: false }, 'b')?.senderId).toBe('92@lid');
  expect(from({ remoteJid: '91@lid', remoteJidAlt: '1@s.whatsapp.net', fromMe: false }, 'c')?.senderId).toBe('1');
  expect(from({ remoteJid: own, remoteJidAlt: '91@lid', fromMe: true }, 'd')?.chatId).toBe(ME.phone);
});

test('somebody who is only quoted keeps no id by that', () => {
  const pins = memoryPins();
  const quote = { stanzaId: 'Q', participant: '91@lid', quotedMessage: { conversation: 'q' } };
  const message = { extendedTextMessage: { text: 'and?', contextInfo: quote } };
  const key = { remoteJid: GROUP, participant: ADA, id: 'M1', fromMe: false };
  toInbound({ key, messageTimestamp: 1, message }, { ...context(), pins });
  expect(personId('91@lid', '1@s.whatsapp.net', pins)).toBe('1');
});

/** Deterministic, so that a failure can be repeated. */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test('A45 10,000 mutated messages: none throws, none gets another author or chat, and none of ours becomes a command', () => {
  const random = generator(42);
  const file = { mediaKey: Buffer.alloc(32, 1), directPath: '/v/x', fileLength: 5 };
  const contextInfo = { stanzaId: 'Q', participant: ADA, mentionedJid: [`${ME.lid}@lid`], quotedMessage: { conversation: 'q' } };
  const seeds = [
    { conversation: 'hello' },
    { extendedTextMessage: { text: `@${ME.phone} x`, contextInfo } },
    { imageMessage: { ...file, caption: 'c', contextInfo } },
    { documentWithCaptionMessage: { message: { documentMessage: { ...file, fileName: '../../etc/passwd' } } } },
    { protocolMessage: { key: { id: 'M0', fromMe: true }, type: 14, editedMessage: { conversation: 'y' } } },
    { protocolMessage: { key: { id: 'M0' }, type: 0 } },
    { reactionMessage: { key: { id: 'M0', participant: ADA }, text: '👍' } },
    { pollCreationMessage: { name: 'p', options: [{ optionName: 'a' }] } },
    { ephemeralMessage: { message: { viewOnceMessage: { message: { audioMessage: { ...file, ptt: true } } } } } },
  ].map((message) => Buffer.from(proto.Message.encode(message).finish()));
  let read = 0;
  // Collected, because an assertion costs more than reading a message does.
  const wrong: string[] = [];
  for (let round = 0; round < 10_000; round += 1) {
    const bytes = Buffer.from(seeds[random(seeds.length)] ?? []);
    for (let change = random(4); change >= 0; change -= 1) bytes[random(bytes.length)] = random(256);
    let message: proto.IMessage;
    try {
      message = proto.Message.decode(random(10) === 0 ? bytes.subarray(0, random(bytes.length)) : bytes);
    } catch {
      continue; // reported as unreadable before it gets here
    }
    const mine = random(5) === 0;
    const key = { remoteJid: GROUP, participant: mine ? `${ME.phone}:2@s.whatsapp.net` : ADA, id: 'M1', fromMe: mine };
    const inbound = toInbound({ key, message, messageTimestamp: round }, context());
    if (!inbound) continue;
    read += 1;
    const { chatId, senderId, refusal, targetId, kind } = inbound;
    const isRight = chatId === GROUP && senderId === (mine ? ME.phone : '15551110000');
    if (!isRight) wrong.push(`${round}: ${chatId} ${senderId}`);
    if (mine && refusal !== 'own-message') wrong.push(`${round}: an own message is ${refusal}`);
    if (targetId !== undefined && kind !== 'reaction' && !targetId.includes(senderId)) wrong.push(`${round}: about ${targetId}`);
    JSON.parse(JSON.stringify(inbound));
  }
  expect(wrong).toEqual([]);
  expect(read).toBeGreaterThan(3_000);
});
