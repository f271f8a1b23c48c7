/** What comes along with a message that calls the agent in, from events to what the gateway is given. */
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { TestHost } from '../../../src/testing/channel-host.ts';
import { MemoryLogger, until } from '../../../src/testing/fakes.ts';
import { CallError } from '../../kit/call-error.ts';
import { idAt } from '../wire/ids.ts';
import { Receiver } from './receive.ts';

const BOT = '135000000000000001';
const ADA = '201000000000000001';
const BOB = '202000000000000002';
const GUILD = '111000000000000011';
const ROOM = '110000000000000010';
const FORUM = '112000000000000012';
const DM = '301000000000000001';
const ROLE = '119000000000000019';
const THREAD = idAt(Date.now() - 1_000);
const SESSION = { id: 's', url: 'wss://x', seq: 1 };

const ada = { id: ADA, username: 'ada', global_name: 'Ada' };
const bob = { id: BOB, username: 'bob', global_name: 'Bob' };
const bot = { id: BOT, username: 'gatehouse', bot: true };
const picture = { id: '9000000000000000009', filename: 'cat.png', content_type: 'image/png', size: 3 };
const MENTION = { content: `<@${BOT}> what is this?`, mentions: [bot] };

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** `answers`: what the platform says to a GET; it refuses what is not listed. */
function start(answers: Readonly<Record<string, object>> = {}, { host = new TestHost(), followThreads = true } = {}) {
  const abort = new AbortController();
  const routes: string[] = [];
  const receiver = new Receiver({
    client: {
      call: async (_method, route) => {
        routes.push(route);
        const answer = answers[route];
        if (!answer) throw new CallError('GET', { kind: 'api', status: 404, code: 10_008, detail: 'Unknown Message' });
        return answer;
      },
    },
    host,
    channel: 'discord',
    account: BOT,
    mentionRoles: false,
    mentionEveryone: false,
    followThreads,
    autoThreads: false,
    catchUpMs: 0,
    callTimeoutMs: 20_000,
    clock: systemClock,
    random: () => 0,
    logger: new MemoryLogger(),
    signal: abort.signal,
    onTrouble: () => undefined,
    ready: () => undefined,
    notCaughtUp: () => undefined,
    commands: [],
    acknowledge: () => undefined,
  });
  const working = receiver.run();
  const stop = async (): Promise<void> => {
    abort.abort(new Error('over'));
    await working;
  };
  open.push(stop);
  const push = (t: string, d: object): void => receiver.push({ t, s: 1, d, session: SESSION, connection: abort.signal });
  const guild = { id: GUILD, channels: [{ id: ROOM, type: 0, name: 'general' }], roles: [{ id: ROLE, name: 'Moderators' }] };
  push('GUILD_CREATE', { ...guild, channels: [...guild.channels, { id: FORUM, type: 15, name: 'help' }] });
  let count = 0;
  return {
    host,
    routes,
    push,
    stop,
    /** MESSAGE_CREATE; resolves to what the gateway was given. */
    async say(fields: object) {
      count += 1;
      const id = idAt(Date.now() + count * 1_000);
      const place = { channel_id: ROOM, guild_id: GUILD };
      push('MESSAGE_CREATE', { id, type: 0, ...place, author: ada, mentions: [], attachments: [], content: 'hello', ...fields });
      const said = (fields as { id?: string }).id ?? id;
      return await until('it was offered', () => host.accepted.find(({ platformId }) => platformId === said));
    },
  };
}

/** A thread on a message of Bob's with a picture. */
const thread = { id: THREAD, type: 11, guild_id: GUILD, parent_id: ROOM, name: 'cats', owner_id: ADA };
const starter = { id: THREAD, type: 0, channel_id: ROOM, author: bob, content: 'look at this', attachments: [picture] };
const STARTER = `/channels/${ROOM}/messages/${THREAD}`;
const inThread = { channel_id: THREAD };

test('the picture of the message replied to comes along, and the quote says whose it is', async () => {
  const { say, routes } = start();
  const referenced_message = { id: '5000000000000000005', channel_id: ROOM, author: bob, content: 'see', attachments: [picture] };
  const reply = { type: 19, message_reference: { message_id: '5000000000000000005', channel_id: ROOM }, referenced_message };
  expect(await say({ ...reply, ...MENTION })).toMatchObject({
    text: 'what is this?',
    media: [{ kind: 'photo', ref: `${ROOM}/5000000000000000005/${picture.id}` }],
    replyTo: { text: '[photo]\nsee', origin: 'written by Bob, not by the sender' },
  });
  const talk = await say({ ...reply, content: 'nice' });
  expect([talk.media, talk.mentionsBot]).toEqual([[], false]);
  const own = await say({ ...reply, ...MENTION, attachments: [{ ...picture, id: '9100000000000000009' }] });
  expect(own.media).toMatchObject([{ ref: `${ROOM}/${own.platformId}/9100000000000000009` }]);
  expect(routes).toEqual([]);
});

test('a message replied to that the platform left out is asked for, in private too; one that was deleted is not', async () => {
  const route = `/channels/${DM}/messages/5000000000000000005`;
  const { say, routes } = start({
    [route]: { id: '5000000000000000005', channel_id: DM, author: ada, content: '', attachments: [picture] },
  });
  const reply = { type: 19, channel_id: DM, guild_id: undefined };
  const message_reference = { message_id: '5000000000000000005', channel_id: DM };
  expect(await say({ ...reply, message_reference, content: 'and this?' })).toMatchObject({
    media: [{ ref: `${DM}/5000000000000000005/${picture.id}` }],
    replyTo: { text: '[photo]' },
  });
  expect(routes).toEqual([route]);
  const deleted = await say({ ...reply, message_reference, referenced_message: null });
  expect([deleted.media, deleted.replyTo?.text]).toEqual([[], undefined]);
  expect(routes).toEqual([route]);
});

test('the message that a thread began with comes along when the agent is called in, once', async () => {
  const { say, push, routes } = start({ [STARTER]: starter });
  push('THREAD_CREATE', thread);
  expect((await say({ ...inThread, content: 'any ideas?' })).replyTo).toBeUndefined();
  expect(routes).toEqual([]);
  expect(await say({ ...inThread, ...MENTION })).toMatchObject({
    threadId: THREAD,
    media: [],
    // Whether Bob may write to the agent is the gateway's to judge.
    replyTo: {
      ...{ platformId: THREAD, text: '[photo]\nlook at this', origin: 'written by Bob, not by the sender', fromBot: false },
      ...{ senderId: bob.id, media: [{ ref: `${ROOM}/${THREAD}/${picture.id}` }] },
    },
  });
  await say({ ...inThread, ...MENTION });
  expect(routes).toEqual([STARTER]);
  // Our answer: from now on the thread is known.
  push('MESSAGE_CREATE', {
    id: idAt(Date.now() + 100_000),
    type: 0,
    channel_id: THREAD,
    guild_id: GUILD,
    author: bot,
    content: 'a cat',
  });
  const later = await say({ ...inThread, ...MENTION });
  expect([later.media, later.replyTo]).toEqual([[], undefined]);
});

test('the row that points to the first message is no message, and saves asking for it', async () => {
  const { say, push, host, routes } = start();
  push('THREAD_CREATE', thread);
  const row = { id: idAt(Date.now()), type: 21, channel_id: THREAD, guild_id: GUILD, author: ada, content: '' };
  push('MESSAGE_CREATE', { ...row, referenced_message: starter });
  expect((await say({ ...inThread, ...MENTION })).replyTo?.media).toMatchObject([{ ref: `${ROOM}/${THREAD}/${picture.id}` }]);
  expect(host.accepted).toHaveLength(1);
  expect(routes).toEqual([]);
});

test('a first message that is gone is asked for once and missed by nobody', async () => {
  const { say, push, routes } = start();
  push('THREAD_CREATE', thread);
  for (let n = 0; n < 2; n += 1)
    expect(await say({ ...inThread, ...MENTION })).toMatchObject({ media: [], text: 'what is this?' });
  expect(routes).toEqual([STARTER]);
});

test('the title of a post stands above its first message, and above the first question to the agent', async () => {
  const { say, push } = start({
    [`/channels/${THREAD}/messages/${THREAD}`]: { ...starter, author: ada, channel_id: THREAD },
  });
  push('THREAD_CREATE', { ...thread, parent_id: FORUM, name: 'My] cat' });
  expect((await say({ ...inThread, id: THREAD, content: 'it coughs' })).text).toBe('[forum post: My) cat]\nit coughs');
  expect(await say({ ...inThread, ...MENTION })).toMatchObject({
    text: '[forum post: My) cat]\nwhat is this?',
    replyTo: { media: [{ ref: `${THREAD}/${THREAD}/${picture.id}` }] },
  });
  const filesOnly = await say({
    ...inThread,
    id: idAt(Date.now() + 70_000),
    ...MENTION,
    content: `<@${BOT}>`,
    attachments: [picture],
  });
  expect(filesOnly.text).toBe('[forum post: My) cat]');
  expect(filesOnly.marks).toEqual([[0, filesOnly.text.length]]);
  // Above a command it would make words of it.
  expect((await say({ ...inThread, content: `<@${BOT}> /new`, mentions: [bot] })).text).toBe('/new');
});

test('the title of a post of another person is quoted as words of that person, of whom the gateway judges', async () => {
  const post = { ...thread, parent_id: FORUM, name: 'My] cat', owner_id: BOB };
  const known = start({ [`/channels/${THREAD}/messages/${THREAD}`]: { ...starter, channel_id: THREAD } });
  known.push('THREAD_CREATE', post);
  expect(await known.say({ ...inThread, ...MENTION })).toMatchObject({
    text: 'what is this?',
    replyTo: { platformId: THREAD, senderId: BOB, text: '[forum post: My) cat]\n[photo]\nlook at this', fromBot: false },
  });
  // The first message is gone, or is another person's.
  for (const first of [{}, { [`/channels/${THREAD}/messages/${THREAD}`]: { ...starter, author: ada, channel_id: THREAD } }]) {
    const gone = start(first);
    gone.push('THREAD_CREATE', post);
    const { text, replyTo } = await gone.say({ ...inThread, ...MENTION });
    expect(text).toBe('what is this?');
    if (Object.keys(first).length > 0) expect(replyTo?.text).not.toContain('forum post');
    else expect(replyTo).toMatchObject({ platformId: THREAD, senderId: BOB, text: '[forum post: My) cat]', fromBot: false });
  }
});

test('a title whose author is not known, or beside another quotation, is left out', async () => {
  const answers = { [`/channels/${THREAD}/messages/${THREAD}`]: { ...starter, channel_id: THREAD } };
  const { say, push } = start(answers);
  const { owner_id: _, ...post } = { ...thread, parent_id: FORUM, name: 'My cat' };
  push('THREAD_CREATE', post);
  expect(JSON.stringify(await say({ ...inThread, ...MENTION }))).not.toContain('My cat');
  const other = start(answers);
  other.push('THREAD_CREATE', { ...post, owner_id: BOB });
  const reply = { type: 19, message_reference: { message_id: '5000000000000000005' }, referenced_message: { author: bob } };
  expect(JSON.stringify(await other.say({ ...inThread, ...MENTION, ...reply }))).not.toContain('My cat');
});

test('the bare name points at the message replied to, else at what the thread began with; alone it is empty', async () => {
  const { say, push } = start({ [STARTER]: starter });
  const bare = { ...MENTION, content: `<@${BOT}>` };
  const referenced_message = { id: '5000000000000000005', channel_id: ROOM, author: bob, content: 'see' };
  const reply = { type: 19, message_reference: { message_id: '5000000000000000005', channel_id: ROOM }, referenced_message };
  const called = await say({ ...reply, ...bare });
  expect(called).toMatchObject({ text: '', mentionsBot: true, replyTo: { text: 'see', authorId: BOB } });
  expect(called.refusal).toBeUndefined();
  push('THREAD_CREATE', thread);
  push('MESSAGE_CREATE', { id: idAt(Date.now()), type: 0, channel_id: THREAD, guild_id: GUILD, author: bot, content: 'a cat' });
  const inIt = await say({ ...inThread, ...bare });
  expect([inIt.refusal, inIt.replyTo?.text]).toEqual([undefined, '[photo]\nlook at this']);
  for (const alone of [bare, { ...reply, ...bare, referenced_message: null }, { ...reply, content: '' }])
    expect((await say(alone)).refusal).toBe('empty');
});

test('the bare name points at the words that the thread begins with now', async () => {
  const answers: Record<string, object> = { [STARTER]: starter };
  const { say, push, routes } = start(answers);
  push('THREAD_CREATE', thread);
  const bare = { ...inThread, ...MENTION, content: `<@${BOT}>` };
  expect((await say(bare)).replyTo?.text).toBe('[photo]\nlook at this');
  const edited = { ...starter, guild_id: GUILD, content: 'look again', edited_timestamp: new Date().toISOString() };
  answers[STARTER] = edited;
  push('MESSAGE_UPDATE', edited);
  expect((await say(bare)).replyTo?.text).toBe('[photo]\nlook again');
  delete answers[STARTER];
  push('MESSAGE_DELETE', { id: THREAD, channel_id: ROOM, guild_id: GUILD });
  expect((await say(bare)).replyTo).toBeUndefined();
  expect(routes).toEqual([STARTER, STARTER, STARTER]);
});

test('the name with a file of the sender is about that file', async () => {
  const { say, push } = start({ [STARTER]: starter });
  push('THREAD_CREATE', thread);
  push('MESSAGE_CREATE', { id: idAt(Date.now()), type: 0, channel_id: THREAD, guild_id: GUILD, author: bot, content: 'a cat' });
  const own = { ...picture, id: '9100000000000000009' };
  const said = await say({ ...inThread, ...MENTION, content: `<@${BOT}>`, attachments: [own] });
  expect([said.media.length, said.replyTo]).toEqual([1, undefined]);
});

test('a post whose words the platform withholds is empty, whatever its title says', async () => {
  const { say, push } = start();
  push('THREAD_CREATE', { ...thread, parent_id: FORUM });
  expect(await say({ ...inThread, id: THREAD, content: '' })).toMatchObject({ text: '', refusal: 'empty' });
});

test('in a thread that it wrote in, what is said to nobody else is said to the agent, after a restart too', async () => {
  const { say, push, host, stop } = start({ [STARTER]: starter });
  push('THREAD_CREATE', thread);
  expect((await say({ ...inThread, content: 'hm' })).mentionsBot).toBe(false);
  push('MESSAGE_CREATE', {
    id: idAt(Date.now() + 50_000),
    type: 0,
    channel_id: THREAD,
    guild_id: GUILD,
    author: bot,
    content: 'hi',
  });
  expect((await say({ ...inThread, content: 'and now?' })).mentionsBot).toBe(true);
  expect((await say({ ...inThread, content: `<@${BOB}> you?`, mentions: [bob] })).mentionsBot).toBe(false);
  const toBob = { type: 19, message_reference: { message_id: '5000000000000000005' }, referenced_message: { author: bob } };
  expect((await say({ ...inThread, ...toBob })).mentionsBot).toBe(false);
  expect((await say({ content: 'elsewhere' })).mentionsBot).toBe(false);
  await stop();
  const again = start({}, { host });
  again.push('THREAD_CREATE', thread);
  const id = idAt(Date.now() + 90_000);
  expect((await again.say({ ...inThread, id, content: 'still there?' })).mentionsBot).toBe(true);
  await again.stop();
  const without = start({}, { host, followThreads: false });
  without.push('THREAD_CREATE', thread);
  const last = idAt(Date.now() + 95_000);
  expect((await without.say({ ...inThread, id: last, content: 'and you?' })).mentionsBot).toBe(false);
});

test('a thread that the bot started needs no mention', async () => {
  const { say, push } = start();
  push('THREAD_CREATE', { ...thread, owner_id: BOT });
  expect((await say({ ...inThread, content: 'and now?' })).mentionsBot).toBe(true);
});

test('channels and roles are shown by their names, as they are now', async () => {
  const { say, push } = start();
  const content = `see <#${ROOM}> or ask <@&${ROLE}>`;
  expect((await say({ content })).text).toBe('see #general or ask @Moderators');
  push('CHANNEL_UPDATE', { id: ROOM, type: 0, guild_id: GUILD, name: 'lobby' });
  push('GUILD_ROLE_UPDATE', { guild_id: GUILD, role: { id: ROLE, name: 'Mods' } });
  expect((await say({ content })).text).toBe('see #lobby or ask @Mods');
  push('GUILD_ROLE_DELETE', { guild_id: GUILD, role_id: ROLE });
  expect((await say({ content })).text).toBe(`see #lobby or ask <@&${ROLE}>`);
});

test('roles of a server that no event told are asked for when the agent is spoken to', async () => {
  const elsewhere = '114000000000000014';
  const route = `/guilds/${elsewhere}/roles`;
  const { say, push, routes } = start({ [route]: [{ id: ROLE, name: 'Helpers' }] });
  push('CHANNEL_CREATE', { id: DM, type: 0, guild_id: elsewhere, name: 'lobby' });
  const there = { channel_id: DM, guild_id: elsewhere };
  expect((await say({ ...there, content: `<@&${ROLE}>` })).text).toBe(`<@&${ROLE}>`);
  expect((await say({ ...there, content: `<@${BOT}> tell <@&${ROLE}>`, mentions: [bot] })).text).toBe('tell @Helpers');
  expect((await say({ ...there, content: `<@&${ROLE}>` })).text).toBe('@Helpers');
  expect(routes).toEqual([route]);
});

test('an unknown channel is asked for when the agent is spoken to, once; of another server nothing is told', async () => {
  const old = '120000000000000012';
  const foreign = '120000000000000013';
  const secret = '120000000000000014';
  const { say, routes } = start({
    [`/channels/${old}`]: { id: old, type: 0, guild_id: GUILD, name: 'archive' },
    [`/channels/${foreign}`]: { id: foreign, type: 0, guild_id: '999000000000000009', name: 'plans' },
  });
  const content = `<#${old}> <#${foreign}> <#${secret}>`;
  expect((await say({ content })).text).toBe(content);
  expect(routes).toEqual([]);
  for (let n = 0; n < 2; n += 1) {
    const { text } = await say({ content: `<@${BOT}> ${content}`, mentions: [bot] });
    expect(text).toBe(`#archive <#${foreign}> <#${secret}>`);
  }
  expect(routes).toEqual([`/channels/${old}`, `/channels/${foreign}`, `/channels/${secret}`]);
});

test('names that the message bears itself come first', async () => {
  const { say } = start();
  const resolved = { channels: { [DM]: { id: DM, name: 'elsewhere' } }, roles: {}, users: { [BOB]: bob } };
  expect((await say({ content: `<#${DM}> <@${BOB}>`, resolved })).text).toBe('#elsewhere @Bob');
});

test('a reaction in a private chat bears the name of the person, who is asked about once', async () => {
  const { push, host, routes } = start({ [`/users/${BOB}`]: bob });
  const react = (user_id: string, name: string) =>
    push('MESSAGE_REACTION_ADD', { user_id, channel_id: DM, message_id: THREAD, emoji: { id: null, name } });
  for (const name of ['👍', '👀']) react(BOB, name);
  await until('both arrived', () => host.accepted.length === 2);
  expect(host.accepted.map(({ senderName }) => senderName)).toEqual(['Bob', 'Bob']);
  expect(routes).toEqual([`/users/${BOB}`]);
});

test('a reaction of a person whose message was read needs no question', async () => {
  const { say, push, host, routes } = start();
  await say({ channel_id: DM, guild_id: undefined });
  push('MESSAGE_REACTION_ADD', { user_id: ADA, channel_id: DM, message_id: THREAD, emoji: { id: null, name: '👍' } });
  await until('it arrived', () => host.accepted.length === 2);
  expect(host.accepted[1]).toMatchObject({ kind: 'reaction', senderId: ADA, senderName: 'Ada' });
  expect(routes).toEqual([]);
});

test('a pin of a message that was edited long ago is no edit', async () => {
  const { push, host } = start();
  const long = Date.now() - 60 * 86_400_000;
  const place = { channel_id: DM, type: 0, author: ada };
  const old = { ...place, id: idAt(long), content: 'pay invoice 12', pinned: true };
  push('MESSAGE_UPDATE', { ...old, edited_timestamp: new Date(long + 60_000).toISOString() });
  push('MESSAGE_UPDATE', { ...place, id: idAt(Date.now()), content: 'new words', edited_timestamp: new Date().toISOString() });
  await until('the new edit arrived', () => host.accepted.some(({ text }) => text === 'new words'));
  expect(host.accepted.map(({ text }) => text)).toEqual(['new words']);
});
