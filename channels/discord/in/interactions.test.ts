/** Commands and pressed components against the simulated platform: acknowledged, then answered to whom they concern. */
import { afterEach, expect, test } from 'vitest';
import type { Channel, SendResult } from '../../../src/core/channel.ts';
import type { InboundMessage, OutboundPart } from '../../../src/core/message.ts';
import type { Clock } from '../../../src/core/ports.ts';
import { COMMAND_MENU } from '../../../src/gateway/commands/index.ts';
import { backoffClock, startDiscordProxy } from '../../../src/simulator/discord/proxy.ts';
import { channelDeps } from '../../../src/testing/channel-deps.ts';
import { TestHost } from '../../../src/testing/channel-host.ts';
import { gate, MemoryLogger, outbound, until } from '../../../src/testing/fakes.ts';
import { channel as descriptor } from '../index.ts';
import { idAt } from '../wire/ids.ts';

const ADA = '201000000000000001';
const TOKEN = 'interaction-token';
const CALLBACK = /^POST \/interactions\//;
const ORIGINAL = `PATCH /webhooks/135000000000000001/${TOKEN}/messages/@original`;

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

async function scene(clock: Clock = backoffClock()) {
  const proxy = await startDiscordProxy();
  open.push(() => proxy.close());
  const { guildId, channelId } = proxy.peer;
  const settings = descriptor.settings.parse({ api_root: proxy.url, cdn_origins: [proxy.origin], slash_commands: false });
  const [host, logger] = [new TestHost(), new MemoryLogger()];
  const deps = { name: 'discord', secret: () => proxy.peer.token, commands: COMMAND_MENU, clock, logger, random: () => 0.5 };
  const start = async (): Promise<Channel> => {
    const channel = await descriptor.create(settings, channelDeps(deps));
    open.push(() => channel.stop());
    await channel.start(host, new AbortController().signal);
    return channel;
  };
  const channel = await start();
  await proxy.write({ guildId, channelId, senderId: ADA, content: 'hello' });
  return {
    ...{ proxy, channel, host, logger, channelId },
    /** A new adapter on the same journal, as after a kill. */
    again: start,
    async command(text: string, fields: object = {}): Promise<InboundMessage> {
      const [name, ...args] = text.slice(1).split(' ');
      const options = args.length === 0 ? [] : [{ type: 3, name: 'args', value: args.join(' ') }];
      const base = { id: idAt(Date.now()), application_id: '135000000000000001', token: TOKEN, type: 2, version: 1 };
      const place = { channel_id: channelId, guild_id: guildId, member: { user: { id: ADA, username: 'ada' } } };
      proxy.gateway.dispatch('INTERACTION_CREATE', { ...base, ...place, data: { type: 1, name, options }, ...fields });
      return await until('the command arrived', () => host.accepted.find((message) => message.text === text));
    },
    answer(to: InboundMessage, part: Partial<OutboundPart> = {}, by = channel): Promise<SendResult> {
      const { replyContext } = to;
      const base = { channel: 'discord', account: channel.account, chatId: to.chatId, text: 'the answer' };
      const whole = outbound({ ...base, ...(replyContext && { replyContext }), ...part });
      return by.send(whole, { plain: false, signal: new AbortController().signal });
    },
  };
}

test('the answer to a command that concerns its sender alone is shown to that person alone', async () => {
  const { proxy, command, answer } = await scene();
  const help = await command('/help');
  expect(await answer(help)).toMatchObject({ kind: 'sent' });
  expect(proxy.interactions.shown(TOKEN)).toEqual({ isEphemeral: true, content: 'the answer' });
  expect(proxy.sends().map(({ call }) => call)).toEqual([ORIGINAL]);
});

test.each(['/new', '/model gpt-9'])('the answer to %s is for all people there', async (text) => {
  const { proxy, command, answer } = await scene();
  await answer(await command(text));
  expect(proxy.interactions.shown(TOKEN)).toEqual({ isEphemeral: false, content: 'the answer' });
});

test('in a private chat there is no other person to hide an answer from', async () => {
  const { proxy, command, answer } = await scene();
  const place = { channel_id: '301000000000000001', guild_id: undefined, member: undefined };
  await answer(await command('/help', { ...place, user: { id: ADA, username: 'ada' } }));
  expect(proxy.interactions.shown(TOKEN)).toMatchObject({ isEphemeral: false });
});

test('an answer that is ready before the command is acknowledged waits for that', async () => {
  const { proxy, command, answer } = await scene();
  const held = gate();
  proxy.fault({ call: CALLBACK, kind: 'hold', until: held.opened });
  const help = await command('/help');
  const answered = answer(help);
  await until('the platform was told', () => proxy.calls.some(({ call }) => CALLBACK.test(call)));
  expect(proxy.sends()).toEqual([]);
  held.open();
  expect(await answered).toMatchObject({ kind: 'sent' });
  expect(proxy.interactions.shown(TOKEN)).toEqual({ isEphemeral: true, content: 'the answer' });
});

test('a kill between acknowledgement and answer leaves one answer, which still concerns its sender alone', async () => {
  const { proxy, command, answer, again, channel } = await scene();
  const help = await command('/help');
  await until('it is acknowledged', () => proxy.interactions.shown(TOKEN));
  proxy.fault({ call: /^PATCH \/webhooks/, kind: 'drop' });
  expect(await answer(help)).toMatchObject({ kind: 'unknown' });
  await channel.stop();
  const next = await again();
  expect(await answer(help, {}, next)).toMatchObject({ kind: 'sent' });
  expect(proxy.interactions.shown(TOKEN)).toEqual({ isEphemeral: true, content: 'the answer' });
  expect((await proxy.peer.calls()).filter(({ method, path }) => method === 'POST' && path.endsWith('/messages'))).toEqual([]);
});

test('once the platform takes no answer to the command any more, a message of its own says it', async () => {
  const { proxy, command, answer, channelId } = await scene();
  const help = await command('/help');
  await until('it is acknowledged', () => proxy.interactions.shown(TOKEN));
  proxy.interactions.expire(TOKEN);
  expect(await answer(help)).toMatchObject({ kind: 'retry', scope: 'part', afterMs: 0 });
  expect(await answer(help)).toMatchObject({ kind: 'sent' });
  expect(proxy.sends().map(({ call }) => call)).toEqual([`POST /channels/${channelId}/messages`]);
});

test('in the last minutes of a token a part that may have been sent before is not sent in another form', async () => {
  let passed = 0;
  const clock = backoffClock();
  const { proxy, command, answer, again, channelId } = await scene({ ...clock, now: () => clock.now() + passed });
  const help = await command('/help');
  await until('it is acknowledged', () => proxy.interactions.shown(TOKEN));
  proxy.fault({ call: /^PATCH \/webhooks/, kind: 'drop' });
  expect(await answer(help)).toMatchObject({ kind: 'unknown' });
  passed = 14 * 60_000;
  // The process that tried it may do so again, another one cannot know of it.
  expect(await answer(help)).toMatchObject({ kind: 'sent' });
  const next = await again();
  const waiting = await answer(help, {}, next);
  expect(waiting).toMatchObject({ kind: 'retry', scope: 'part' });
  passed += (waiting.kind === 'retry' ? waiting.afterMs : undefined) ?? 0;
  expect(await answer(help, {}, next)).toMatchObject({ kind: 'sent' });
  expect(proxy.sends().at(-1)?.call).toBe(`POST /channels/${channelId}/messages`);
});

test('what does not fit one message follows as messages that the same key cannot make twice', async () => {
  const { proxy, command, answer, channelId } = await scene();
  const help = await command('/help');
  await answer(help, { key: 'a#0', count: 2 });
  await answer(help, { key: 'a#1', ordinal: 1, count: 2, text: 'and more' });
  expect(proxy.sends().map(({ call }) => call)).toEqual([ORIGINAL, `POST /channels/${channelId}/messages`]);
  expect(proxy.sends()[1]?.body).toMatchObject({ enforce_nonce: true });
});

test('what people choose in a menu of ours is what they say', async () => {
  const { proxy, channel, host, channelId } = await scene();
  const choices = ['one', 'two', 'three', 'four', 'five', 'six'].map((label) => ({ label, value: label }));
  const part = outbound({ channel: 'discord', account: channel.account, chatId: channelId, text: 'How many?', choices });
  const sent = await channel.send(part, { plain: false, signal: new AbortController().signal });
  if (sent.kind !== 'sent') throw new Error('not sent');
  const rows = proxy.sends().flatMap(({ body }) => body['components'] as { components: object[] }[]);
  const [menu] = rows.flatMap(({ components }) => components) as { custom_id: string; options: { value: string }[] }[];
  const message = { id: sent.platformId, author: { id: channel.account }, content: 'How many?' };
  const data = { component_type: 3, custom_id: menu?.custom_id, values: [menu?.options[5]?.value] };
  proxy.gateway.dispatch('INTERACTION_CREATE', {
    ...{ id: idAt(Date.now()), application_id: '135000000000000001', token: 'menu-token', type: 3, version: 1 },
    ...{ channel_id: channelId, guild_id: proxy.peer.guildId, member: { user: { id: ADA, username: 'ada' } }, message, data },
  });
  const chosen = await until('it arrived', () => host.accepted.find(({ text }) => text === 'six'));
  expect(chosen).toMatchObject({ senderId: ADA, mentionsBot: true, replyTo: { platformId: sent.platformId, fromBot: true } });
  await until('it is acknowledged', () => proxy.calls.some(({ call, body }) => CALLBACK.test(call) && body['type'] === 6));
});

test.each([
  ['a menu of people', { type: 3, data: { component_type: 5, custom_id: 'theirs', values: [ADA] } }],
  ['a menu of roles', { type: 3, data: { component_type: 6, custom_id: 'theirs', values: ['119000000000000019'] } }],
  ['a menu of channels', { type: 3, data: { component_type: 8, custom_id: 'theirs', values: ['110000000000000010'] } }],
  ['a button', { type: 3, data: { component_type: 2, custom_id: 'theirs' } }],
  ['a form', { type: 5, data: { custom_id: 'theirs', components: [] } }],
  ['a command in the menu of a message', { type: 2, data: { type: 3, name: 'Report', target_id: '5000000000000000005' } }],
])('%s that another program gave the same bot is recorded as unreadable, and left to that program', async (_name, fields) => {
  const { proxy, host, channel, channelId, logger } = await scene();
  const id = idAt(Date.now());
  const base = { id, application_id: '135000000000000001', token: TOKEN, version: 1, channel_id: channelId };
  const person = { guild_id: proxy.peer.guildId, member: { user: { id: ADA, username: 'ada' } } };
  const message = { id: '5000000000000000005', author: { id: channel.account } };
  proxy.gateway.dispatch('INTERACTION_CREATE', { ...base, ...person, message, ...fields });
  const refused = await until('it was offered', () => host.accepted.find(({ platformId }) => platformId === id));
  expect(refused).toMatchObject({ refusal: 'unreadable', senderId: ADA, text: '', chatId: channelId });
  await until('it is logged', () => logger.lines.some(({ event }) => event === 'discord.interaction-not-ours'));
  expect(proxy.calls.some(({ call }) => CALLBACK.test(call))).toBe(false);
});
