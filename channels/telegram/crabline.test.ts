/** The adapter against a Bot API emulator that is not ours. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { OutboundFile, OutboundPart } from '../../src/core/message.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { quickClock, TestHost } from '../../src/testing/channel-host.ts';
import { startCrablineTelegram } from '../../src/testing/crabline.ts';
import { MemoryLogger, outbound, tempDir, until } from '../../src/testing/fakes.ts';
import { channel as descriptor } from './index.ts';

async function scene() {
  const platform = await startCrablineTelegram();
  const channel = await descriptor.create(descriptor.settings.parse({ api_root: platform.url, poll_timeout_secs: 1 }), {
    ...channelDeps(),
    name: 'telegram',
    secret: () => platform.token,
    clock: quickClock(),
    logger: new MemoryLogger(),
    random: () => 0.5,
  });
  const host = new TestHost();
  await channel.start(host, new AbortController().signal);
  const send = (part: Partial<OutboundPart>, plain = false) =>
    channel.send(outbound({ channel: 'telegram', account: channel.account, ...part }), {
      plain,
      signal: new AbortController().signal,
    });
  return {
    platform,
    channel,
    host,
    send,
    async [Symbol.asyncDispose]() {
      await channel.stop();
      await platform[Symbol.asyncDispose]();
    },
  };
}

test('text goes in and its answer goes out', async () => {
  await using at = await scene();
  await at.platform.inject({ chatId: '1000', fromId: 1000, fromName: 'Ada', text: 'ping' });
  const message = await until('the message arrived', () => at.host.accepted[0]);
  expect(message).toMatchObject({ text: 'ping', senderId: '1000', senderName: 'Ada', chatId: '1000', isGroup: false });
  expect(await at.send({ chatId: message.chatId, text: '**pong** & more' })).toMatchObject({
    kind: 'sent',
    platformId: '1000:2',
  });
  expect(await at.platform.sends()).toEqual([
    {
      method: 'sendMessage',
      body: expect.objectContaining({ chat_id: '1000', text: '<b>pong</b> &amp; more', parse_mode: 'HTML' }),
    },
  ]);
});

test('in a group a mention is recognised and the answer refers to it', async () => {
  await using at = await scene();
  const text = '@gatehouse_bot hello';
  const entities = [{ type: 'mention', offset: 0, length: 14 }];
  await at.platform.inject({ chatId: '-4001', chatType: 'group', fromId: 1000, text, entities });
  const message = await until('the message arrived', () => at.host.accepted[0]);
  expect(message).toMatchObject({ text: 'hello', mentionsBot: true, isGroup: true, senderId: '1000' });
  const answer = { chatId: message.chatId, text: 'hi', ...(message.replyContext && { replyContext: message.replyContext }) };
  expect(await at.send(answer)).toMatchObject({ kind: 'sent' });
  const [sent] = await at.platform.sends();
  expect(sent?.body).toMatchObject({ reply_parameters: { message_id: 1, allow_sending_without_reply: true } });
});

test('answers reach their forum topic, and the General topic goes unnamed', async () => {
  await using at = await scene();
  const chatId = '-1001234567890';
  await at.platform.inject({ chatId, chatType: 'supergroup', isForum: true, fromId: 1000, text: 'hi' });
  expect((await until('the message arrived', () => at.host.accepted[0])).threadId).toBe('1');
  expect(await at.send({ chatId, threadId: '1', text: 'general' })).toMatchObject({ kind: 'sent' });
  expect(await at.send({ chatId, threadId: '42', text: 'topic' })).toMatchObject({ kind: 'sent' });
  const threads = (await at.platform.sends()).map(({ body }) => body['message_thread_id']);
  expect(threads).toEqual([undefined, 42]);
});

test('photo and document are uploaded with their names and captions', async () => {
  await using at = await scene();
  await using dir = await tempDir();
  const path = join(dir.path, 'copy');
  await writeFile(path, 'bytes of a file');
  const file: OutboundFile = { path, name: 'cat.png', mime: 'image/png', kind: 'photo', bytes: 15 };
  expect(await at.send({ chatId: '1000', text: '*cat*', file })).toMatchObject({ kind: 'sent' });
  const report: OutboundFile = { ...file, name: 'my report.pdf', mime: 'application/pdf', kind: 'document' };
  expect(await at.send({ chatId: '1000', text: '', file: report })).toMatchObject({ kind: 'sent' });
  const sends = await at.platform.sends();
  expect(sends.map(({ method }) => method)).toEqual(['sendPhoto', 'sendDocument']);
  expect(sends[0]?.body).toMatchObject({ caption: '<i>cat</i>', parse_mode: 'HTML' });
  expect(JSON.stringify(sends)).toContain('cat.png');
  expect(JSON.stringify(sends)).toContain('my report.pdf');
});

test('F36 a text beyond the limit is refused as too long', async () => {
  await using at = await scene();
  expect(await at.send({ chatId: '1000', text: 'x'.repeat(4_097) })).toMatchObject({ kind: 'refused', reason: 'too-long' });
});
