/** The adapter against a Feishu emulator that is not ours. */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startFeishuServer } from '@openclaw/crabline';
import { expect, test } from 'vitest';
import type { OutboundPart } from '../../src/core/message.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { quickClock, TestHost } from '../../src/testing/channel-host.ts';
import { outbound, until } from '../../src/testing/fakes.ts';
import { channel as descriptor } from './index.ts';

async function scene(secret?: string) {
  // It syncs a record of every call; in memory that takes half the time, and no test here is about its disk.
  const dir = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'gatehouse-crabline-'));
  const recorderPath = join(dir, 'feishu.jsonl');
  const platform = await startFeishuServer({ recorderPath });
  const { manifest } = platform;
  const channel = await descriptor.create(descriptor.settings.parse({ api_root: manifest.baseUrl }), {
    ...channelDeps({ clock: quickClock() }),
    name: 'feishu',
    secret: (variable) => (variable === 'FEISHU_APP_ID' ? manifest.appId : (secret ?? manifest.appSecret)),
  });
  const host = new TestHost();
  await channel.start(host, new AbortController().signal);
  const recorded = async (stage: string) => {
    const lines = (await readFile(recorderPath, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
    const bodies = lines.map((line) => (JSON.parse(line) as { body: Record<string, unknown> }).body);
    return bodies.filter((body) => body['stage'] === stage);
  };
  if (secret === undefined) await until('it is connected', async () => (await recorded('websocket.connected')).length > 0);
  return {
    manifest,
    channel,
    host,
    recorded,
    async inject(message: Readonly<Record<string, unknown>>): Promise<void> {
      const response = await fetch(manifest.endpoints.adminInboundUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-crabline-admin-token': manifest.adminToken, connection: 'close' },
        body: JSON.stringify(message),
      });
      if (!response.ok) throw new Error(`the emulator refused the message: ${await response.text()}`);
    },
    send: (part: Partial<OutboundPart>) =>
      channel.send(outbound({ channel: 'feishu', account: channel.account, ...part }), {
        plain: false,
        signal: new AbortController().signal,
      }),
    async [Symbol.asyncDispose]() {
      await channel.stop();
      await platform.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

test('text goes in, is acknowledged with 200 after its commit, and its answer goes out', async () => {
  await using at = await scene();
  const gate = Promise.withResolvers<{ kind: 'accepted' }>();
  at.host.next.push(gate.promise);
  await at.inject({ chatId: 'oc_1', senderId: 'ou_ada', text: 'ping' });
  await until('it was offered', () => at.host.offered.length === 1);
  expect(await at.recorded('sdk.ack')).toEqual([]);
  gate.resolve({ kind: 'accepted' });
  const [ack] = await until('it is acknowledged', async () => {
    const acks = await at.recorded('sdk.ack');
    return acks.length > 0 ? acks : undefined;
  });
  expect(ack).toMatchObject({ code: 200, messageId: at.host.accepted[0]?.platformId });
  expect(at.host.accepted[0]).toMatchObject({ text: 'ping', senderId: 'ou_ada', chatId: 'oc_1', isGroup: false });
  const sent = await at.send({ chatId: 'oc_1', text: 'pong' });
  const [posted] = await at.recorded('outbound.accepted');
  expect(posted).toMatchObject({
    receiveId: 'oc_1',
    receiveIdType: 'chat_id',
    message: { msg_type: 'text', body: { content: '{"text":"pong"}' } },
  });
  expect(posted).toMatchObject({ message: { message_id: sent.kind === 'sent' ? sent.platformId : 'none' } });
});

test('an event in fragments that come in any order is one message', async () => {
  await using at = await scene();
  const text = 'a long message 长 '.repeat(200);
  await at.inject({ chatId: 'oc_1', senderId: 'ou_ada', text, fragments: 5, fragmentOrder: [3, 0, 4, 1, 2] });
  expect((await until('the message arrived', () => at.host.accepted[0])).text).toBe(text);
  await until('it is acknowledged once', async () => (await at.recorded('sdk.ack')).length === 1);
});

test('in a group the answer refers to the question, rich text and cards are taken', async () => {
  await using at = await scene();
  await at.inject({ chatId: 'oc_team', chatType: 'group', senderId: 'ou_ada', text: 'what?' });
  const question = await until('the message arrived', () => at.host.accepted[0]);
  expect(question.isGroup).toBe(true);
  const answer = { chatId: 'oc_team', replyContext: question.replyContext ?? {} };
  await at.send({ ...answer, text: '*that*', key: 'a' });
  await at.send({ ...answer, text: '# That\n\n| a | b |\n|---|---|\n| 1 | 2 |\n', key: 'b' });
  const posts = (await at.recorded('outbound.accepted')).map(({ message }) => message as Record<string, unknown>);
  expect(posts.map(({ msg_type, parent_id }) => [msg_type, parent_id])).toEqual([
    ['post', question.platformId],
    ['interactive', question.platformId],
  ]);
});

test('what an event only names is found with its author', async () => {
  await using at = await scene();
  const sent = await at.send({ chatId: 'oc_1', text: 'our words' });
  if (sent.kind !== 'sent') throw new Error('not sent');
  // The emulator cannot make people reply, so the question that a reply would raise is asked here.
  const { FeishuClient } = await import('./wire/client.ts');
  const { manifest } = at;
  const client = new FeishuClient({ appId: manifest.appId, appSecret: manifest.appSecret, apiRoot: manifest.baseUrl });
  const [stored] = await client.messages(sent.platformId, new AbortController().signal);
  client.close();
  expect(stored).toMatchObject({ chat_id: 'oc_1', msg_type: 'text', sender: { sender_type: 'app' } });
});

test('refused credentials are down with GH1501', async () => {
  await using at = await scene('another-secret');
  expect(at.host.states.at(-1)).toMatchObject({ state: 'down', detail: expect.stringContaining('GH1501') });
});
