/** What becomes of each event, without a platform. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { InboundMessage } from '../../../src/core/message.ts';
import { BOT_OPEN_ID, type FeishuMessage, feishuEvent, mention, messageEvent } from '../../../src/simulator/feishu/events.ts';
import { cpuMs } from '../../../src/testing/cpu-time.ts';
import { toEmoji, toReactionName } from '../wire/emoji.ts';
import { type InboundContext, type KnownMessage, readEvent, toInbound, unreadable } from './inbound.ts';
import { readContent, readRef } from './inbound-content.ts';

const APP = { appId: 'cli_0123456789abcdef' };
const CONTEXT: InboundContext = { channel: 'feishu', account: APP.appId, me: { openId: BOT_OPEN_ID, name: 'Gatehouse' } };

function read(message: FeishuMessage, subject?: KnownMessage): InboundMessage {
  const inbound = toInbound(readEvent(feishuEvent('im.message.receive_v1', messageEvent(message), APP)), CONTEXT, subject);
  if (!inbound) throw new Error('no message');
  return inbound;
}

const about = (type: string, event: object, subject?: KnownMessage) =>
  toInbound(readEvent(feishuEvent(type, event, APP)), CONTEXT, subject);

test('a message has the ids of its chat, its author and itself, and the time of the platform', () => {
  const message = read({ text: 'hi', messageId: 'om_1', chatId: 'oc_1', openId: 'ou_1', createTime: 1_700_000_000_123 });
  expect(message).toMatchObject({
    id: 'feishu/cli_0123456789abcdef/om_1',
    platformId: 'om_1',
    chatId: 'oc_1',
    senderId: 'ou_1',
    timestamp: 1_700_000_000_123,
    replyContext: { messageId: 'om_1', group: false },
  });
  expect(message).not.toHaveProperty('refusal');
});

test('A13 the second key survives new ids, and differs for other words, authors, chats and times', () => {
  const base = { text: 'x', createTime: 1, openId: 'ou_1', chatId: 'oc_1' };
  const key = read(base).secondaryId;
  expect(read({ ...base }).secondaryId).toBe(key);
  for (const other of [{ text: 'y' }, { createTime: 2 }, { openId: 'ou_2' }, { chatId: 'oc_2' }]) {
    expect(read({ ...base, ...other }).secondaryId).not.toBe(key);
  }
});

const post = (...lines: object[][]) => ({ type: 'post', content: { title: '', content: lines } });

test.each<[string, FeishuMessage, object]>([
  ['a picture', { type: 'image', content: { image_key: 'img_1' } }, { kind: 'photo', ref: 'om_1:image:img_1' }],
  [
    'a file',
    { type: 'file', content: { file_key: 'f_1', file_name: 'a b.pdf' } },
    { kind: 'document', ref: 'om_1:file:f_1', name: 'a b.pdf' },
  ],
  [
    'a recording',
    { type: 'audio', content: { file_key: 'f_1', duration: 2000 } },
    { kind: 'voice', ref: 'om_1:file:f_1', mime: 'audio/ogg' },
  ],
  [
    'a video',
    { type: 'media', content: { file_key: 'f_1', file_name: 'v.mp4', image_key: 'i' } },
    { kind: 'video', ref: 'om_1:file:f_1', name: 'v.mp4', mime: 'video/mp4' },
  ],
])('%s is a reference', (_what, message, media) => {
  const { media: refs, text } = read({ ...message, messageId: 'om_1' });
  expect(refs).toEqual([media]);
  expect(text).toBe('');
});

test('A23 a key that is no key makes no reference, and no other reference can be read', () => {
  for (const key of ['../../auth', 'a/b', 'a b', 'a?b', 'x'.repeat(400), '']) {
    expect(read({ type: 'image', content: { image_key: key } }).media).toEqual([]);
  }
  for (const ref of ['gone', 'om_1:image:../x', 'om_1:video:k', 'om/1:file:k', 'om_1:file:k:l'])
    expect(readRef(ref)).toBeUndefined();
  expect(readRef('om_1:image:img_v3_0-a.b')).toEqual({ messageId: 'om_1', type: 'image', key: 'img_v3_0-a.b' });
});

test('A3 a mention counts by id and not by name', () => {
  const group = { chatType: 'group', text: '@_user_1 hi', openId: 'ou_1' };
  expect(read({ ...group, mentions: [mention('@_user_1', BOT_OPEN_ID, 'Renamed')] })).toMatchObject({
    mentionsBot: true,
    text: 'hi',
  });
  expect(read({ ...group, mentions: [mention('@_user_1', 'ou_2', 'Gatehouse')] })).toMatchObject({
    mentionsBot: false,
    text: '@Gatehouse hi',
  });
  expect(read({ ...group, mentions: [] })).toMatchObject({ mentionsBot: false, text: '@_user_1 hi' });
});

test('one placeholder is not the beginning of another, and no name makes one', () => {
  const mentions = [
    mention('@_user_1', BOT_OPEN_ID, 'G'),
    mention('@_user_12', 'ou_12', '@_user_1'),
    mention('@_user_2', 'ou_2', 'x]\n[y'),
  ];
  expect(read({ chatType: 'group', text: '@_user_12 and @_user_2', mentions })).toMatchObject({
    mentionsBot: false,
    text: '@@_user_1 and @x y',
  });
});

test('in rich text a mention is a piece of its own', () => {
  const line = [
    { tag: 'at', user_id: '@_user_1', user_name: 'G' },
    { tag: 'text', text: ' do ' },
    { tag: 'at', user_id: '@_user_2', user_name: 'Eve' },
  ];
  const mentions = [mention('@_user_1', BOT_OPEN_ID, 'G')];
  expect(read({ ...post(line), chatType: 'group', mentions })).toMatchObject({ mentionsBot: true, text: 'do @Eve' });
});

test('A5 bots, ourselves and what nobody wrote are refused', () => {
  expect(read({ text: 'x', senderType: 'app', openId: 'ou_bot' }).refusal).toBe('bot-author');
  expect(read({ text: 'x', senderType: 'anonymous' }).refusal).toBe('bot-author');
  expect(read({ text: 'x', openId: '' }).refusal).toBe('bot-author');
  expect(read({ text: 'x', senderType: 'app', openId: BOT_OPEN_ID }).refusal).toBe('own-message');
  expect(read({ text: '' }).refusal).toBe('empty');
});

const KNOWN: KnownMessage = { chatId: 'oc_1', isGroup: true, senderId: 'ou_2', fromBot: false, text: 'words' };

test('A4 the words of others are marked, our own and the sender are not', () => {
  const reply = (subject?: KnownMessage) => read({ text: 'y', parentId: 'om_p', openId: 'ou_1' }, subject).replyTo;
  const origin = 'written by ou_2, not by the sender';
  expect(reply(KNOWN)).toEqual({ platformId: 'om_p', text: 'words', origin, authorId: 'ou_2', fromBot: false });
  expect(reply({ ...KNOWN, senderId: 'ou_1' })).toEqual({ platformId: 'om_p', text: 'words', fromBot: false });
  expect(reply({ ...KNOWN, fromBot: true })).toEqual({ platformId: 'om_p', text: 'words', fromBot: true });
  expect(reply()).toEqual({ platformId: 'om_p', fromBot: false });
});

test('a question in reply to a picture brings the picture; talk among people and own files do not', () => {
  const media = [{ kind: 'photo', ref: 'om_p:image:k' }] as const;
  const picture: KnownMessage = { ...KNOWN, text: 'look', media };
  const inGroup = { text: 'y', parentId: 'om_p', openId: 'ou_1', chatType: 'group' } as const;
  const called = { text: '@_user_1 y', mentions: [mention('@_user_1', BOT_OPEN_ID, 'G')] };
  expect(read({ ...inGroup, ...called }, picture)).toMatchObject({
    media,
    replyTo: { text: '[photo]\nlook', origin: 'written by ou_2, not by the sender' },
  });
  expect(read(inGroup, picture)).toMatchObject({ media: [], replyTo: { text: '[photo]\nlook' } });
  expect(read(inGroup, { ...picture, fromBot: true }).media).toEqual(media);
  expect(read({ text: 'y', parentId: 'om_p' }, { ...picture, text: '' })).toMatchObject({ media, replyTo: { text: '[photo]' } });
  const own = read({ type: 'image', content: { image_key: 'own' }, parentId: 'om_p', messageId: 'om_own' }, picture);
  expect(own.media).toEqual([{ kind: 'photo', ref: 'om_own:image:own' }]);
});

test('nothing but the name of the bot, in reply to words or a picture, asks about those; alone it is empty', () => {
  const mentions = [mention('@_user_1', BOT_OPEN_ID, 'G')];
  const called = { text: '@_user_1', openId: 'ou_1', chatType: 'group', parentId: 'om_p', mentions } as const;
  const { text, marks, refusal } = read(called, KNOWN);
  expect([text, marks, refusal]).toEqual(['', undefined, undefined]);
  const media = [{ kind: 'photo', ref: 'om_p:image:k' }] as const;
  const picture = read(called, { ...KNOWN, text: '', media });
  expect([picture.text, picture.media, picture.refusal]).toEqual(['', media, undefined]);
  expect(read(called)).toMatchObject({ text: '', refusal: 'empty' });
  expect(read(called, { ...KNOWN, fromBot: true }).refusal).toBeUndefined();
});

test('a recall takes back the message it names, in the chat and of the author it had', () => {
  const event = { message_id: 'om_1', chat_id: 'oc_1', recall_time: '1700000000', recall_type: 'group_owner' };
  expect(about('im.message.recalled_v1', event, KNOWN)).toMatchObject({
    kind: 'delete',
    targetId: 'om_1',
    platformId: 'om_1:recalled',
    chatId: 'oc_1',
    senderId: 'ou_2',
    isGroup: true,
    timestamp: 1_700_000_000_000,
  });
  expect(about('im.message.recalled_v1', event)).toMatchObject({ senderId: 'unknown', isGroup: true });
  expect(about('im.message.recalled_v1', event, { ...KNOWN, fromBot: true })).toMatchObject({ refusal: 'own-message' });
});

test('reactions of bots are refused', () => {
  const event = {
    message_id: 'om_1',
    reaction_type: { emoji_type: 'HEART' },
    operator_type: 'app',
    app_id: 'cli_x',
    action_time: '1',
  };
  expect(about('im.message.reaction.created_v1', event, KNOWN)).toMatchObject({
    kind: 'reaction',
    text: '❤',
    refusal: 'bot-author',
  });
});

test('A37 a button answers for the chat it was made for, and for no other that its card was forwarded to', () => {
  const press = (value: unknown, chat = 'oc_1') =>
    about('card.action.trigger', {
      operator: { open_id: 'ou_1' },
      action: { value },
      context: { open_message_id: 'om_1', open_chat_id: chat },
    });
  const value = { choice: 'yes', chat: 'oc_1', group: false, thread: 'omt_1' };
  expect(press(value)).toMatchObject({ text: 'yes', threadId: 'omt_1', isGroup: false, mentionsBot: true });
  expect(press(JSON.stringify(value))).toMatchObject({ text: 'yes' });
  for (const other of [
    press(value, 'oc_2'),
    press({ choice: 'yes' }),
    press('yes'),
    press(undefined),
    press({ ...value, choice: {} }),
  ]) {
    expect(other).toMatchObject({ text: '', refusal: 'unreadable' });
  }
  // Whether it is a group is unknown: the stricter rules apply.
  expect(press({ choice: 'yes', chat: 'oc_1' })).toMatchObject({ isGroup: true });
});

test('a press under words that others had sent brings these along, and one under an answer nothing', () => {
  const press = (text: string) =>
    about(
      'card.action.trigger',
      {
        operator: { open_id: 'ou_1' },
        action: { value: { choice: 'yes', chat: 'oc_1' } },
        context: { open_message_id: 'om_1', open_chat_id: 'oc_1' },
      },
      { ...KNOWN, fromBot: true, text },
    )?.replyTo;
  const text = 'On behalf of Eve (feishu:ou_9):\n\nShall I?';
  expect(press(text)).toEqual({ platformId: 'om_1', fromBot: true, text });
  expect(press('Shall I?')).toEqual({ platformId: 'om_1', fromBot: true });
});

test('presses are timed in microseconds', () => {
  const event = feishuEvent('card.action.trigger', {}, APP);
  const { createdAt } = readEvent({ ...event, header: { ...event.header, create_time: '1603977298000123' } });
  expect(createdAt).toBe(1_603_977_298_000);
});

test('events that are no message are none', () => {
  for (const type of ['im.message.message_read_v1', 'im.chat.member.bot.added_v1']) expect(about(type, {})).toBeUndefined();
});

test('every emoji that can be sent is read back as itself', () => {
  for (const emoji of ['👍', '👀', '✅', '❤', '🎉']) expect(toEmoji(toReactionName(emoji) ?? '')).toBe(emoji);
  expect(toReactionName('❤️')).toBe('HEART');
  expect(toReactionName('👍🏽')).toBe('THUMBSUP');
  expect(toReactionName('🦖')).toBeUndefined();
  expect(toEmoji('SOMETHING')).toBe(':SOMETHING:');
});

/**
 * 10 000 events with something torn out, replaced or nested, as a hostile or a newer platform might send
 * them.
 */
test('A45 no mutated event crashes the reader, names another author or addresses the bot by accident', () => {
  const junk = fc.oneof(
    fc.constantFrom(null, '', 'x', '{', '[]', '{"text":5}', '"x"', 0, -1, true, [], {}, [[[]]], { open_id: 'ou_allowed' }, [
      'ou_allowed',
    ]),
    fc.string({ maxLength: 20 }),
    fc.jsonValue({ maxDepth: 3 }),
  );
  const bases = [
    feishuEvent(
      'im.message.receive_v1',
      messageEvent({ text: 'hi @_user_1', chatType: 'group', mentions: [mention('@_user_1', 'ou_2', 'E')] }),
      APP,
    ),
    feishuEvent(
      'im.message.receive_v1',
      messageEvent(
        post([
          { tag: 'at', user_id: '@_user_1' },
          { tag: 'img', image_key: 'k' },
        ]),
      ),
      APP,
    ),
    feishuEvent('im.message.recalled_v1', { message_id: 'om_1', chat_id: 'oc_1', recall_time: '1' }, APP),
    feishuEvent(
      'im.message.reaction.created_v1',
      { message_id: 'om_1', reaction_type: { emoji_type: 'OK' }, user_id: { open_id: 'ou_ada' }, operator_type: 'user' },
      APP,
    ),
    feishuEvent(
      'card.action.trigger',
      { operator: { open_id: 'ou_ada' }, action: { value: { choice: 'yes', chat: 'oc_1' } }, context: { open_chat_id: 'oc_1' } },
      APP,
    ),
  ];
  fc.assert(
    fc.property(
      fc.constantFrom(...bases),
      fc.array(fc.tuple(fc.nat(), junk), { minLength: 1, maxLength: 4 }),
      (base, changes) => {
        const payload: unknown = structuredClone(base);
        for (const [where, value] of changes) mutate(payload, where, structuredClone(value));
        let message: InboundMessage | undefined;
        try {
          message = toInbound(readEvent(payload), CONTEXT);
        } catch (error) {
          expect((error as Error).message).toMatch(/^(?:not an event|the event has no)/);
          message = unreadable(payload, CONTEXT, 1);
        }
        if (!message) return;
        expect(typeof message.text).toBe('string');
        expect(message.id).toContain(APP.appId);
        if (message.senderId === 'ou_allowed') expect(JSON.stringify(payload)).toContain('"open_id":"ou_allowed"');
        if (message.kind === 'message' && message.mentionsBot) expect(message.platformId).toMatch(/^press:/);
      },
    ),
    { numRuns: 10_000, seed: 20_260_101 },
  );
});

test('A45 no content of any type crashes its reader, or takes long', () => {
  const started = cpuMs();
  for (const type of ['text', 'post', 'image', 'file', 'audio', 'media', 'location', 'interactive', 'todo']) {
    for (const content of [
      '',
      '{',
      'null',
      '[[[[]]]]',
      '{"content":[[null,5,[]]]}',
      `{"text":"${'@_user_1'.repeat(20_000)}"}`,
      '['.repeat(50_000),
    ]) {
      const { text, media } = readContent({ messageId: 'om_1', type, content, mentions: [null, 5, { key: 5 }] }, BOT_OPEN_ID);
      expect([typeof text, Array.isArray(media)]).toEqual(['string', true]);
    }
  }
  expect(cpuMs() - started).toBeLessThan(2_000);
});

/** Replaces one of all places in a JSON value, counted depth first. */
function mutate(root: unknown, where: number, value: unknown): void {
  const places: (readonly [Record<string, unknown>, string])[] = [];
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const key of Object.keys(node)) {
      places.push([node as Record<string, unknown>, key]);
      walk((node as Record<string, unknown>)[key]);
    }
  };
  walk(root);
  const place = places[where % Math.max(1, places.length)];
  if (place) place[0][place[1]] = value;
}
