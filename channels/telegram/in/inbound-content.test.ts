/** Every field of the platform's Message object, and what becomes of it. */
import type { Message, RichBlock, Update } from 'grammy/types';
import { expect, test } from 'vitest';
import { toInbound } from './inbound.ts';
import { pressOf } from './inbound-events.ts';

const context = { channel: 'telegram', account: '700001', me: { id: 700_001, username: 'gatehouse_bot' } };
const chat = { id: 1000, type: 'private', first_name: 'Ada' };
const from = { id: 1000, is_bot: false, first_name: 'Ada' };
const bob = { id: 1001, is_bot: false, first_name: 'Bob', last_name: 'Ross' };
const group = { id: -100, type: 'supergroup', title: 'News' };
const photo = [{ file_id: 'P', file_unique_id: 'p', width: 9, height: 9 }];
const file = { file_id: 'F', file_unique_id: 'f', width: 1, height: 1, duration: 1, length: 1 };
const sticker = { ...file, emoji: '🧸', type: 'regular', is_animated: false, is_video: false };
const live_photo = { ...file, photo };

function read(fields: object) {
  const message = { message_id: 5, date: 1, chat, from, ...fields };
  const read = toInbound({ update_id: 1, message } as unknown as Update, context);
  if (!read) throw new Error('no message');
  return read;
}

/** Told in words, or brought as files. */
interface Content {
  readonly value: unknown;
  readonly text?: string;
  readonly media?: readonly string[];
}
/** Says something about the message or its place; `inbound.test.ts` has what is read of it. */
const CONTEXT = 'context';
/** A notice of the platform, which no person wrote: refused as empty. */
const NOTICE = 'notice';

/**
 * The compiler asks for every field that the types, which repeat https://core.telegram.org/bots/api#message,
 * have.
 */
const FIELDS: Record<keyof Message, Content | typeof CONTEXT | typeof NOTICE> = {
  text: { value: 'hello', text: 'hello' },
  entities: CONTEXT,
  rich_message: {
    value: { blocks: [{ type: 'paragraph', text: ['hello ', { type: 'bold', text: 'you' }] }] },
    text: 'hello you',
  },
  caption: { value: 'hello', text: 'hello' },
  caption_entities: CONTEXT,
  animation: { value: file, media: ['video:F'] },
  audio: { value: file, media: ['audio:F'] },
  document: { value: file, media: ['document:F'] },
  live_photo: { value: live_photo, text: '[live photo: shown as a still picture]', media: ['photo:P'] },
  paid_media: {
    value: { star_count: 5, paid_media: [{ type: 'photo', photo }, { type: 'preview' }] },
    text: '[paid media: for 5 stars 1 of 2 not paid for and not shown]',
    media: ['photo:P'],
  },
  photo: { value: photo, media: ['photo:P'] },
  sticker: { value: sticker, text: '[sticker: 🧸]' },
  story: { value: { chat: group, id: 3 }, text: '[story that bots cannot see]' },
  video: { value: file, media: ['video:F'] },
  video_note: { value: file, media: ['video:F'] },
  voice: { value: file, media: ['voice:F'] },
  contact: { value: { phone_number: '+49', first_name: 'Eve' }, text: '[contact: Eve +49]' },
  dice: { value: { emoji: '🎲', value: 4 }, text: '[dice: 🎲 shows 4]' },
  game: { value: { title: 'Chess', description: 'A board game', photo }, text: '[game: Chess A board game]' },
  poll: {
    value: {
      ...{ question: 'Tea?', description: 'At four', explanation: 'It is late', media: { photo } },
      options: [
        { text: 'yes', media: { video: file } },
        { text: 'menu', media: { link: { url: 'https://e.org' } } },
      ],
    },
    text: '[poll: Tea? (At four) | yes | menu https://e.org | explanation: It is late]',
    media: ['photo:P', 'video:F'],
  },
  venue: {
    value: { location: { latitude: 1, longitude: 2 }, title: 'Cafe', address: 'Main St' },
    text: '[venue: Cafe, Main St (1, 2)]',
  },
  location: { value: { latitude: 1, longitude: 2, live_period: 60 }, text: '[live location: 1, 2]' },
  checklist: { value: { title: 'Shop', tasks: [{ id: 1, text: 'milk' }] }, text: '[checklist: Shop | milk]' },
  checklist_tasks_added: { value: { tasks: [{ id: 2, text: 'bread' }] }, text: '[tasks added to a checklist: | bread]' },
  invoice: { value: { title: 'Lamp', description: 'Green' }, text: '[invoice: Lamp | Green]' },
  giveaway: { value: { winner_count: 2, prize_description: 'Cake' }, text: '[giveaway: 2 winners | Cake]' },
  giveaway_winners: { value: { winner_count: 1, winners: [bob] }, text: '[giveaway is over: 1 winners: Bob Ross]' },
  gift: { value: { gift: { star_count: 50, sticker }, text: 'for you' }, text: '[gift: worth 50 stars 🧸 | for you]' },
  gift_upgrade_sent: { value: { gift: { star_count: 50, sticker } }, text: '[upgrade of a gift: worth 50 stars]' },
  unique_gift: { value: { gift: { base_name: 'Bear', number: 7 }, text: 'hi' }, text: '[gift: Bear #7 | hi]' },
  users_shared: { value: { users: [{ user_id: 1001, first_name: 'Bob' }] }, text: '[people shared: Bob (1001)]' },
  chat_shared: { value: { chat_id: -100, title: 'News' }, text: '[chat shared: News (-100)]' },
  web_app_data: { value: { data: '{"a":1}', button_text: 'Go' }, text: '[data of a web app: {"a":1}]' },
  passport_data: { value: { data: [] }, text: '[Telegram Passport data, encrypted for another program]' },
  poll_option_added: { value: { option_text: 'coffee' }, text: '[answer added to a poll: coffee]' },
  suggested_post_info: { value: { state: 'pending' }, text: '[suggested post: pending]' },
  suggested_post_declined: { value: { comment: 'too long' }, text: '[suggested post declined: too long]' },
  message_id: CONTEXT,
  message_thread_id: CONTEXT,
  from: CONTEXT,
  sender_chat: CONTEXT,
  date: CONTEXT,
  guest_query_id: CONTEXT,
  business_connection_id: CONTEXT,
  chat: CONTEXT,
  is_topic_message: CONTEXT,
  direct_messages_topic: CONTEXT,
  sender_tag: CONTEXT,
  receiver_user: CONTEXT,
  ephemeral_message_id: CONTEXT,
  sender_boost_count: CONTEXT,
  sender_business_bot: CONTEXT,
  forward_origin: CONTEXT,
  is_automatic_forward: CONTEXT,
  reply_to_message: CONTEXT,
  reply_to_checklist_task_id: CONTEXT,
  reply_to_poll_option_id: CONTEXT,
  is_paid_post: CONTEXT,
  external_reply: CONTEXT,
  quote: CONTEXT,
  reply_to_story: CONTEXT,
  via_bot: CONTEXT,
  guest_bot_caller_user: CONTEXT,
  guest_bot_caller_chat: CONTEXT,
  edit_date: CONTEXT,
  has_protected_content: CONTEXT,
  show_caption_above_media: CONTEXT,
  is_from_offline: CONTEXT,
  author_signature: CONTEXT,
  link_preview_options: CONTEXT,
  effect_id: CONTEXT,
  paid_star_count: CONTEXT,
  reply_markup: CONTEXT,
  media_group_id: CONTEXT,
  has_media_spoiler: CONTEXT,
  checklist_tasks_done: NOTICE,
  community_chat_added: NOTICE,
  community_chat_removed: NOTICE,
  community_chat_joined: NOTICE,
  suggested_post_approved: NOTICE,
  suggested_post_approval_failed: NOTICE,
  suggested_post_paid: NOTICE,
  suggested_post_refunded: NOTICE,
  chat_owner_left: NOTICE,
  chat_owner_changed: NOTICE,
  new_chat_members: NOTICE,
  left_chat_member: NOTICE,
  new_chat_title: NOTICE,
  new_chat_photo: NOTICE,
  delete_chat_photo: NOTICE,
  group_chat_created: NOTICE,
  supergroup_chat_created: NOTICE,
  channel_chat_created: NOTICE,
  managed_bot_created: NOTICE,
  poll_option_deleted: NOTICE,
  message_auto_delete_timer_changed: NOTICE,
  migrate_to_chat_id: NOTICE,
  migrate_from_chat_id: NOTICE,
  pinned_message: NOTICE,
  successful_payment: NOTICE,
  refunded_payment: NOTICE,
  connected_website: NOTICE,
  write_access_allowed: NOTICE,
  proximity_alert_triggered: NOTICE,
  boost_added: NOTICE,
  chat_background_set: NOTICE,
  forum_topic_created: NOTICE,
  forum_topic_edited: NOTICE,
  forum_topic_closed: NOTICE,
  forum_topic_reopened: NOTICE,
  general_forum_topic_hidden: NOTICE,
  general_forum_topic_unhidden: NOTICE,
  giveaway_created: NOTICE,
  giveaway_completed: NOTICE,
  paid_message_price_changed: NOTICE,
  direct_message_price_changed: NOTICE,
  video_chat_scheduled: NOTICE,
  video_chat_started: NOTICE,
  video_chat_ended: NOTICE,
  video_chat_participants_invited: NOTICE,
};

const told = Object.entries(FIELDS).flatMap(([name, field]) => (typeof field === 'string' ? [] : [[name, field] as const]));
test.each(told)('the field %s reaches the agent', (name, { value, text = '', media = [] }) => {
  const message = read({ [name]: value });
  expect({ text: message.text, media: message.media.map(({ kind, ref }) => `${kind}:${ref}`) }).toEqual({ text, media });
  expect(message.refusal).toBeUndefined();
});

const notices = Object.entries(FIELDS).flatMap(([name, field]) => (field === NOTICE ? [name] : []));
test.each(notices)('the notice %s is no message', (name) => {
  expect(read({ [name]: { user: bob, title: 'x' } })).toMatchObject({ text: '', media: [], refusal: 'empty' });
});

test('a rich message is read block by block, with its files', () => {
  const cell = { align: 'left', valign: 'top' } as const;
  const blocks: readonly RichBlock[] = [
    { type: 'heading', text: 'Plan', size: 1 },
    {
      type: 'list',
      items: [{ label: '1.', blocks: [{ type: 'paragraph', text: 'buy' }], has_checkbox: true, is_checked: true }],
    },
    { type: 'blockquote', blocks: [{ type: 'paragraph', text: 'said' }], credit: 'Bob' },
    {
      type: 'table',
      cells: [
        [
          { ...cell, text: 'a' },
          { ...cell, text: { type: 'italic', text: 'b' } },
        ],
      ],
      caption: 'numbers',
    },
    { type: 'divider' },
    { type: 'mathematical_expression', expression: 'x^2' },
    { type: 'pre', text: 'ls -l', language: 'sh' },
    { type: 'details', summary: 'more', blocks: [{ type: 'photo', photo, caption: { text: 'a cat', credit: 'Eve' } }] },
    {
      type: 'paragraph',
      text: [
        { type: 'url', text: 'page', url: 'https://e.org' },
        ' ',
        { type: 'custom_emoji', custom_emoji_id: '1', alternative_text: '🎉' },
      ],
    },
  ];
  const lines = ['Plan', '1. ☑ buy', 'said', '— Bob', 'a | b', 'numbers', '———', 'x^2', 'ls -l', 'more', 'a cat — Eve'];
  expect(read({ rich_message: { blocks } })).toMatchObject({
    text: [...lines, 'page (https://e.org) 🎉'].join('\n'),
    media: [{ kind: 'photo', ref: 'P' }],
  });
});

test('a rich message that names the bot addresses it, and a command in one is a command', () => {
  const rich = (text: unknown) => ({ chat: group, rich_message: { blocks: [{ type: 'paragraph', text }] } });
  const mention = [{ type: 'mention', text: '@gatehouse_bot', username: 'gatehouse_bot' }, ' sum it up'];
  expect(read(rich(mention))).toMatchObject({ mentionsBot: true, text: 'sum it up' });
  const command = [{ type: 'bot_command', text: '/new@gatehouse_bot', bot_command: '/new' }];
  expect(read(rich(command))).toMatchObject({ mentionsBot: true, text: '/new' });
});

test('blocks nested without end are read as far as a message can nest', () => {
  let block: RichBlock = { type: 'paragraph', text: 'deep' };
  for (let depth = 0; depth < 5_000; depth += 1) block = { type: 'blockquote', blocks: [block] };
  expect(read({ rich_message: { blocks: [block] } }).refusal).toBe('empty');
});

test.each([
  ['/new@gatehouse_bot', '/new'],
  ['/new@Gatehouse_Bot now', '/new now'],
  ['/new@other_bot', '/new@other_bot'],
  ['/new', '/new'],
])('in a private chat %s is read as %s', (text, expected) => {
  const length = text.split(' ')[0]?.length;
  expect(read({ text, entities: [{ type: 'bot_command', offset: 0, length }] })).toMatchObject({
    text: expected,
    mentionsBot: false,
  });
});

test('in a private chat the bot may be spoken about by name', () => {
  const entities = [{ type: 'mention', offset: 4, length: 14 }];
  expect(read({ text: 'ask @gatehouse_bot', entities }).text).toBe('ask @gatehouse_bot');
});

const old = { message_id: 4, date: 1, chat, from: { id: 700_001, is_bot: true, first_name: 'G' } };

test('a quoted part stands for itself; a quote that the server added does not hide the rest', () => {
  const reply_to_message = { ...old, text: 'first point, second point' };
  const quote = { text: 'second point', position: 13 };
  expect(read({ text: 'why?', reply_to_message, quote: { ...quote, is_manual: true } }).replyTo?.text).toBe('second point');
  expect(read({ text: 'why?', reply_to_message, quote }).replyTo?.text).toBe('first point, second point');
});

test('a part of words that others had sent comes with the line that says whose they are', () => {
  const text = 'From the program coder:\n\nfirst point, second point';
  const quote = { text: 'second point', position: 38, is_manual: true };
  expect(read({ text: 'do it', reply_to_message: { ...old, text }, quote }).replyTo?.text).toBe(text);
});

test('a press under words that others had sent comes with them, and under an answer without', () => {
  const pressed = (text: string) => {
    const callback_query = { id: '1', from, chat_instance: 'x', data: 'yes', message: { ...old, text } };
    return pressOf({ update_id: 1, callback_query } as unknown as Update, context)?.replyTo;
  };
  const text = 'On behalf of Eve (telegram:9):\n\nShall I?';
  expect(pressed(text)).toEqual({ platformId: '1000:4', fromBot: true, text });
  expect(pressed('Shall I?')).toEqual({ platformId: '1000:4', fromBot: true });
});

test('a part of a caption comes with the picture', () => {
  const reply_to_message = { ...old, photo, caption: 'a cat and a dog' };
  const quote = { text: 'a dog', position: 10, is_manual: true };
  expect(read({ text: 'which breed?', reply_to_message, quote })).toMatchObject({
    media: [{ ref: 'P' }],
    replyTo: { text: '[photo]\na dog' },
  });
});

test('a task or an answer that is replied to is named', () => {
  const checklist = {
    title: 'Shop',
    tasks: [
      { id: 1, text: 'milk' },
      { id: 2, text: 'bread' },
    ],
  };
  expect(read({ text: 'done', reply_to_message: { ...old, checklist }, reply_to_checklist_task_id: 2 }).replyTo?.text).toBe(
    'bread',
  );
  const poll = { question: 'Tea?', options: [{ persistent_id: 'a', text: 'yes' }] };
  expect(read({ text: 'me too', reply_to_message: { ...old, poll }, reply_to_poll_option_id: 'a' }).replyTo?.text).toBe('yes');
});

const origin = { type: 'user', date: 1, sender_user: bob };

test('a picture of another chat that is replied to comes along', () => {
  const external_reply = { origin, chat: group, message_id: 9, photo };
  const quote = { text: 'look', position: 0 };
  expect(read({ text: 'what is this?', external_reply, quote })).toMatchObject({
    text: 'what is this?',
    media: [{ kind: 'photo', ref: 'P' }],
    replyTo: { platformId: '-100:9', text: '[photo]\nlook', origin: 'quoted from Bob Ross in another chat', fromBot: false },
  });
  const talk = { chat: { ...group, id: -5 }, text: 'nice', external_reply };
  expect(read(talk).media).toEqual([]);
});

test('what is no text or file in another chat is named', () => {
  const checklist = { title: 'Shop', tasks: [{ id: 1, text: 'milk' }] };
  expect(read({ text: 'add bread', external_reply: { origin, checklist } }).replyTo?.text).toBe('[checklist: Shop | milk]');
});

test('a reply to a story says so', () => {
  expect(read({ text: 'nice!', reply_to_story: { chat: group, id: 3 } }).replyTo).toEqual({
    platformId: '-100:story:3',
    origin: 'a story of News, which bots cannot see',
    fromBot: false,
  });
});

test('in the direct messages of a channel each person has a conversation of their own', () => {
  const direct_messages_topic = { topic_id: 77, user: from };
  expect(read({ chat: { ...group, is_direct_messages: true }, text: 'hello', direct_messages_topic })).toMatchObject({
    chatId: '-100',
    threadId: 'dm:77',
    senderId: '1000',
  });
});
