/**
 * Commands and pressed components against the simulated platform: acknowledged, then answered to whom they
 * concern.
 */
import { afterEach, expect, test } from 'vitest';
import type { SendResult } from '../../../src/core/channel.ts';
import type { InboundMessage, OutboundPart } from '../../../src/core/message.ts';
import type { Clock } from '../../../src/core/ports.ts';
import { COMMAND_MENU } from '../../../src/gateway/commands/index.ts';
import { backoffClock } from '../../../src/simulator/discord/proxy.ts';
import { ADA, CALLBACK, DM, discordSetup, ORIGINAL, TOKEN } from '../../../src/testing/discord/setup.ts';
import { gate, until } from '../../../src/testing/fakes.ts';
import { channel as descriptor } from '../index.ts';
import { idAt } from '../wire/ids.ts';

const plain = { plain: false, signal: new AbortController().signal };

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
});

async function scene(clock: Clock = backoffClock()) {
  const at = await discordSetup(descriptor, { deps: { commands: COMMAND_MENU, clock } });
  open.push(at);
  const { host, interact } = at;
  await at.say('hello');
  return {
    ...at,
    async command(text: string, fields: object = {}): Promise<InboundMessage> {
      const [name, ...args] = text.slice(1).split(' ');
      const options = args.length === 0 ? [] : [{ type: 3, name: 'args', value: args.join(' ') }];
      interact({ type: 2, data: { type: 1, name, options }, ...fields });
      return await until('the command arrived', () => host.accepted.find((message) => message.text === text));
    },
    answer: (to: InboundMessage, part: Partial<OutboundPart> = {}, by = at.channel): Promise<SendResult> =>
      by.send(at.partOf(to, part), plain),
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
  const place = { channel_id: DM, guild_id: undefined, member: undefined };
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
  const { proxy, command, answer, room } = await scene();
  const help = await command('/help');
  await until('it is acknowledged', () => proxy.interactions.shown(TOKEN));
  proxy.interactions.expire(TOKEN);
  expect(await answer(help)).toMatchObject({ kind: 'retry', scope: 'part', afterMs: 0 });
  expect(await answer(help)).toMatchObject({ kind: 'sent' });
  expect(proxy.sends().map(({ call }) => call)).toEqual([`POST /channels/${room}/messages`]);
});

test.each([40_004, 40_006, 40_062, 40_333])(
  'after error %i, which passes, a hidden answer is shown later, and to its sender alone',
  async (code) => {
    const { proxy, command, answer } = await scene();
    const help = await command('/help');
    await until('it is acknowledged', () => proxy.interactions.shown(TOKEN));
    proxy.fault({ call: /^PATCH \/webhooks/, kind: 'answer', status: 403, body: { message: 'not now', code } });
    const waiting = await answer(help);
    expect(await answer(help)).toMatchObject({ kind: 'sent' });
    expect(proxy.sends().map(({ call }) => call)).toEqual([ORIGINAL]);
    expect(proxy.interactions.shown(TOKEN)).toEqual({ isEphemeral: true, content: 'the answer' });
    expect(waiting).toMatchObject({ kind: 'retry', scope: 'chat', afterMs: 60_000 });
  },
);

test('in the last minutes of a token a part that may have been sent before is not sent in another form', async () => {
  let passed = 0;
  const clock = backoffClock();
  const { proxy, command, answer, again, room } = await scene({ ...clock, now: () => clock.now() + passed });
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
  expect(proxy.sends().at(-1)?.call).toBe(`POST /channels/${room}/messages`);
});

test('what a task says later is a message of its own, also in the next process', async () => {
  const { proxy, command, answer, again, channel, room } = await scene();
  const task = await command('/task tidy');
  expect(await answer(task, { messageId: task.id })).toMatchObject({ kind: 'sent' });
  await channel.stop();
  const next = await again();
  const result = { key: 'task-1#0', messageId: 'task-1', text: 'done' };
  expect(await answer(task, result, next)).toMatchObject({ kind: 'sent' });
  expect(proxy.interactions.shown(TOKEN)).toMatchObject({ content: 'the answer' });
  expect(proxy.sends().at(-1)?.call).toBe(`POST /channels/${room}/messages`);
});

test('what does not fit one message follows as messages that the same key cannot make twice', async () => {
  const { proxy, command, answer, room } = await scene();
  const help = await command('/help');
  await answer(help, { key: 'a#0', count: 2 });
  await answer(help, { key: 'a#1', ordinal: 1, count: 2, text: 'and more' });
  expect(proxy.sends().map(({ call }) => call)).toEqual([ORIGINAL, `POST /channels/${room}/messages`]);
  expect(proxy.sends()[1]?.body).toMatchObject({ enforce_nonce: true });
});

test.each([
  ['a menu of people', { type: 3, data: { component_type: 5, custom_id: 'theirs', values: [ADA] } }],
  ['a menu of roles', { type: 3, data: { component_type: 6, custom_id: 'theirs', values: ['119000000000000019'] } }],
  ['a menu of channels', { type: 3, data: { component_type: 8, custom_id: 'theirs', values: ['110000000000000010'] } }],
  ['a button', { type: 3, data: { component_type: 2, custom_id: 'theirs' } }],
  ['a form', { type: 5, data: { custom_id: 'theirs', components: [] } }],
  ['a command in the menu of a message', { type: 2, data: { type: 3, name: 'Report', target_id: '5000000000000000005' } }],
])('%s that another program gave the same bot is recorded as unreadable, and left to that program', async (_name, fields) => {
  const { proxy, host, channel, room, logger, interact } = await scene();
  const id = idAt(Date.now());
  interact({ id, message: { id: '5000000000000000005', author: { id: channel.account } }, ...fields });
  const refused = await until('it was offered', () => host.accepted.find(({ platformId }) => platformId === id));
  expect(refused).toMatchObject({ refusal: 'unreadable', senderId: ADA, text: '', chatId: room });
  await until('it is logged', () => logger.lines.some(({ event }) => event === 'discord.interaction-not-ours'));
  expect(proxy.calls.some(({ call }) => CALLBACK.test(call))).toBe(false);
});
