/** The adapter against the emulator alone: it must agree with a peer we did not write, without our proxy. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { OutboundPart } from '../../src/core/message.ts';
import { COMMAND_MENU } from '../../src/gateway/commands/index.ts';
import { startDiscordPeer } from '../../src/simulator/discord/peer.ts';
import { backoffClock } from '../../src/simulator/discord/proxy.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { TestHost } from '../../src/testing/channel-host.ts';
import { outbound, tempDir, until } from '../../src/testing/fakes.ts';
import { channel as descriptor } from './index.ts';

const ADA = '201000000000000001';
const DM = '301000000000000001';

async function scene() {
  const peer = await startDiscordPeer();
  const settings = descriptor.settings.parse({ api_root: peer.url, cdn_origins: [peer.origin] });
  const create = () =>
    descriptor.create(
      settings,
      channelDeps({
        name: 'discord',
        secret: () => peer.token,
        clock: backoffClock(),
        random: () => 0.5,
        commands: COMMAND_MENU,
      }),
    );
  let channel = await create();
  const host = new TestHost();
  await channel.start(host, new AbortController().signal);
  return {
    peer,
    host,
    send: (part: Partial<OutboundPart>) =>
      channel.send(outbound({ channel: 'discord', account: channel.account, ...part }), {
        plain: false,
        signal: new AbortController().signal,
      }),
    restart: async () => {
      await channel.stop();
      channel = await create();
      await channel.start(host, new AbortController().signal);
    },
    stop: () => channel.stop(),
    async [Symbol.asyncDispose]() {
      await channel.stop();
      await peer[Symbol.asyncDispose]();
    },
  };
}

test('text goes in and its answer goes out, in private and in a server', async () => {
  await using at = await scene();
  const { guildId, channelId, botId } = at.peer;
  await at.peer.inject({ channelId: DM, senderId: ADA, senderName: 'Ada', content: 'ping' });
  await at.peer.inject({ channelId, guildId, senderId: ADA, senderName: 'Ada', content: `<@${botId}> hello` });
  await until('both arrived', () => at.host.accepted.length === 2);
  const [dm, group] = at.host.accepted;
  expect(dm).toMatchObject({ text: 'ping', senderId: ADA, senderName: 'Ada', chatId: DM, isGroup: false });
  expect(group).toMatchObject({ text: 'hello', mentionsBot: true, isGroup: true, chatId: channelId });
  expect(await at.send({ chatId: DM, text: '**pong**' })).toMatchObject({ kind: 'sent' });
  const replyContext = group?.replyContext ?? {};
  expect(await at.send({ chatId: channelId, text: 'hi', key: 'second', replyContext })).toMatchObject({ kind: 'sent' });
  const sends = (await at.peer.calls()).filter(({ method, path }) => method === 'POST' && path.endsWith('/messages'));
  expect(sends.map(({ path, body }) => [path, body['content']])).toEqual([
    [`/channels/${DM}/messages`, '**pong**'],
    [`/channels/${channelId}/messages`, 'hi'],
  ]);
  expect(sends[1]?.body).toMatchObject({ message_reference: { message_id: group?.platformId }, allowed_mentions: { parse: [] } });
  // Our own messages come back over the gateway; they are nobody's question.
  expect(at.host.offered).toHaveLength(2);
});

test('the commands are put into the menu once', async () => {
  await using at = await scene();
  const posts = async () => (await at.peer.calls()).filter(({ method, path }) => method === 'POST' && path.endsWith('/commands'));
  await until('they are registered', async () => (await posts()).length === COMMAND_MENU.length);
  expect((await posts()).map(({ body }) => body['name'])).toEqual(COMMAND_MENU.map(({ name }) => name));
  await at.restart();
  await until('it looked again', async () => {
    const looks = (await at.peer.calls()).filter(({ method, path }) => method === 'GET' && path.endsWith('/commands'));
    return looks.length === 2;
  });
  expect(await posts()).toHaveLength(COMMAND_MENU.length);
});

// The emulator resumes a session and replays nothing: the history alone tells.
test('F1 what was written while the daemon was down is answered, although nothing is replayed', async () => {
  await using at = await scene();
  const { guildId, channelId } = at.peer;
  await at.peer.inject({ channelId: DM, senderId: ADA, content: 'before' });
  await at.peer.inject({ channelId, guildId, senderId: ADA, content: 'before, in the server' });
  await until('both arrived', () => at.host.accepted.length === 2);
  await at.stop();
  for (let n = 0; n < 30; n += 1) await at.peer.inject({ channelId: DM, senderId: ADA, content: `private ${n}` });
  await at.peer.inject({ channelId, guildId, senderId: ADA, content: 'in the server' });
  await at.restart();
  await until('all arrived', () => at.host.accepted.length === 33);
  const privates = at.host.accepted.filter(({ chatId }) => chatId === DM).map(({ text }) => text);
  expect(privates).toEqual(['before', ...Array.from({ length: 30 }, (_, n) => `private ${n}`)]);
});

test('a file is uploaded under its name', async () => {
  await using at = await scene();
  await using dir = await tempDir();
  const path = join(dir.path, 'copy');
  await writeFile(path, 'bytes of a file');
  const file = { path, name: 'my report.pdf', mime: 'application/pdf', kind: 'document', bytes: 15 } as const;
  expect(await at.send({ chatId: at.peer.channelId, text: '*see*', file })).toMatchObject({ kind: 'sent' });
  const [sent] = (await at.peer.calls()).filter(({ path: route }) => route.endsWith('/messages'));
  expect(sent?.body).toMatchObject({
    content: '*see*',
    attachments: [{ filename: 'my report.pdf', size: 15, content_type: 'application/pdf' }],
  });
});

test('F36 a chat that is not there is gone', async () => {
  await using at = await scene();
  expect(await at.send({ chatId: '999000000000000009', text: 'x' })).toMatchObject({ kind: 'refused', reason: 'chat-gone' });
});
