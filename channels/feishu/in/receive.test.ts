/** Receiving over the long connection: what the contract suite cannot know about it. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Clock } from '../../../src/core/ports.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { feishuEvent } from '../../../src/simulator/feishu/events.ts';
import { quickClock, TestHost } from '../../../src/testing/channel-host.ts';
import { tempDir, until } from '../../../src/testing/fakes.ts';
import { type FeishuScene, feishuPlatform, feishuScene } from '../../../src/testing/feishu/scene.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const item of open.splice(0).reverse()) await item[Symbol.asyncDispose]();
});

async function scene(options?: Parameters<typeof feishuScene>[1]): Promise<FeishuScene> {
  const made = await feishuScene('ws', options);
  open.push(made);
  return made;
}

test('F1 an acknowledgement leaves only after the commit, and late is better than never', async () => {
  const at = await scene();
  const gate = Promise.withResolvers<{ kind: 'accepted' }>();
  at.host.next.push(gate.promise);
  const { header } = at.server.say({ text: 'slow' });
  await until('it was offered', () => at.host.offered.length === 1);
  await new Promise((resolve) => setTimeout(resolve, 200)); // beyond the 3 s of the platform, as this clock runs
  expect(at.server.acknowledged).toEqual([]);
  gate.resolve({ kind: 'accepted' });
  await until('it is acknowledged', () => at.server.acknowledged.length === 1);
  expect(at.server.acknowledged).toEqual([{ eventId: header.event_id, code: 200 }]);
});

test('F2 an event that is delivered again while the first is being committed is one message', async () => {
  const at = await scene();
  const gate = Promise.withResolvers<{ kind: 'accepted' }>();
  at.host.next.push(gate.promise);
  const event = at.server.say({ text: 'once' });
  await until('it was offered', () => at.host.offered.length === 1);
  at.server.redeliver(event);
  at.server.redeliver(event);
  gate.resolve({ kind: 'accepted' });
  await until('all are acknowledged', () => at.server.acknowledged.length === 3);
  expect(at.host.accepted).toHaveLength(1);
  expect(new Set(at.host.offered.map(({ id }) => id)).size).toBe(1);
});

test('an event that comes in many frames is one message', async () => {
  const at = await scene();
  at.server.fragments = 7;
  const text = '长 message '.repeat(500);
  at.server.say({ text });
  expect((await at.message()).text).toBe(text);
  await until('it is acknowledged once', () => at.server.acknowledged.length === 1);
});

test('events that are no message are acknowledged and leave no trace, unreadable ones are counted', async () => {
  const at = await scene();
  at.server.emit(feishuEvent('im.message.message_read_v1', { reader: {} }, at.server));
  at.server.emit(feishuEvent('im.message.receive_v1', { message: {} }, at.server));
  at.server.emit(feishuEvent('im.message.receive_v1', { message: {} }, { appId: 'cli_ffffffffffffffff' }));
  at.server.say({ text: 'behind them' });
  await until('all are acknowledged', () => at.server.unacknowledged === 0);
  expect(at.host.accepted.map(({ refusal, text }) => refusal ?? text)).toEqual(['unreadable', 'unreadable', 'behind them']);
});

test('F33 a connection that breaks again and again is made anew with back-off, one at a time', async () => {
  const at = await scene({ clock: quickClock(100) });
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, at.server.liveClients);
    at.server.disconnect();
  }, 5);
  await new Promise((resolve) => setTimeout(resolve, 600));
  const asked = () => at.server.calls.filter((call) => call.includes('/callback/ws/endpoint')).length;
  await until('it came back at least once', () => asked() > 1);
  clearInterval(watch);
  const connects = asked();
  expect(most).toBe(1);
  // A minute of this clock: without back-off there would be more than a hundred.
  expect(connects).toBeLessThan(14);
  expect(at.host.states.some(({ detail }) => detail?.includes('GH1502'))).toBe(true);
  at.server.say({ text: 'after the storm' });
  expect(await at.message()).toMatchObject({ text: 'after the storm' });
  await until('one acknowledgement left', () => at.server.acknowledged.length > 0);
  expect(at.server.acknowledged.filter(({ code }) => code === 200)).toHaveLength(1);
  expect(at.host.state).toBe('healthy');
});

test('F34 credentials that are refused later are down with what to do, and come back by themselves', async () => {
  // Five minutes between two tries; everything else as fast as in the other tests.
  const sleep: Clock['sleep'] = (ms, signal) => quickClock().sleep(ms >= 300_000 ? 1_000 : ms, signal);
  const at = await scene({ clock: { ...systemClock, sleep } });
  const refused = { match: /\/callback\/ws\/endpoint/, kind: 'error', status: 200, code: 514, msg: 'auth failed' } as const;
  at.server.faults.push(refused);
  at.server.disconnect();
  const down = await until('it is down', () => at.host.states.find(({ state }) => state === 'down'));
  expect(down.detail).toMatch(/^GH1501: .*App Secret/);
  await until('it is back', () => at.host.state === 'healthy');
});

test('an app without a bot is told as such', async () => {
  await using platform = await feishuPlatform();
  const channel = await platform.create();
  platform.server.faults.push({
    match: /bot\/v3\/info/,
    kind: 'error',
    status: 400,
    code: 230006,
    msg: 'Bot ability is not activated.',
  });
  const host = new TestHost();
  await channel.start(host, new AbortController().signal);
  expect(host.states.at(-1)).toMatchObject({ state: 'down', detail: expect.stringContaining('Bot ability is not activated') });
  await channel.stop();
});

test('a connection that went silent is noticed by its ping, one that answers stays', async () => {
  await using platform = await feishuPlatform();
  const { server } = platform;
  server.pingSecs = 0.4;
  const { FeishuClient } = await import('../wire/client.ts');
  const client = new FeishuClient({ appId: server.appId, appSecret: server.appSecret, apiRoot: server.url, pongWaitSecs: 0.3 });
  const connection = await client.connect(() => Promise.resolve(), new AbortController().signal);
  const { closed } = connection;
  let over = false;
  const ended = closed.then(() => {
    over = true;
  });
  await until('pings are answered', () => server.pings > 1);
  expect(over).toBe(false);
  server.mute = true;
  await ended;
  connection.close();
  client.close();
});

test('a reply is held up for a moment only when the platform does not tell what it answers', async () => {
  const at = await scene();
  at.server.faults.push({ match: /^GET .*\/messages\/om_old/, kind: 'hang' });
  at.server.say({ text: 'as I said', parentId: 'om_old' });
  expect(await at.message()).toMatchObject({ text: 'as I said', replyTo: { platformId: 'om_old', fromBot: false } });
  await until('it is acknowledged', () => at.server.unacknowledged === 0);
});

test('a reply to a long message brings all of it, also the second time, and its beginning where the platform does not answer', async () => {
  const at = await scene({ clock: systemClock });
  const text = Array.from({ length: 300 }, (_, n) => `line ${n}`).join('\n');
  at.server.say({ messageId: 'om_long', text });
  for (const n of [1, 2]) {
    at.server.say({ text: 'why?', parentId: 'om_long' });
    expect((await at.message(n)).replyTo?.text).toBe(text);
  }
  at.server.faults.push({ match: /^GET .*\/messages\/om_long/, kind: 'error', status: 500, code: 1 });
  at.server.say({ text: 'and?', parentId: 'om_long' });
  expect((await at.message(3)).replyTo?.text).toBe(`${text.slice(0, 2_000)}…`);
});

test('a reply to a picture brings the picture, also after a restart, and a reply to that reply brings none', async () => {
  const at = await scene({ clock: systemClock });
  at.server.files.set('img_v3_p', Buffer.from('bytes'));
  at.server.say({ messageId: 'om_picture', type: 'image', content: { image_key: 'img_v3_p' } });
  at.server.say({ messageId: 'om_reply', text: 'what is this?', parentId: 'om_picture' });
  const media = [{ kind: 'photo', ref: 'om_picture:image:img_v3_p' }] as const;
  expect(await at.message(1)).toMatchObject({ text: 'what is this?', media, replyTo: { text: '[photo]' } });
  at.server.say({ text: 'and why?', parentId: 'om_reply' });
  expect(await at.message(2)).toMatchObject({ media: [], replyTo: { text: 'what is this?' } });
  const second = await at.create({ clock: systemClock });
  open.push({ [Symbol.asyncDispose]: () => second.stop() });
  await at.channel.stop();
  const host = new TestHost();
  await second.start(host, new AbortController().signal);
  at.server.say({ text: 'and this?', parentId: 'om_picture' });
  const message = await until('it arrived', () => host.accepted[0]);
  expect(message).toMatchObject({ media, replyTo: { text: '[photo]' } });
  const file = await second.download?.(media[0], new AbortController().signal);
  expect(await new Response(ReadableStream.from(file?.bytes ?? [])).text()).toBe('bytes');
});

test('a reply to a file of ours brings it', async () => {
  const at = await scene({ clock: systemClock });
  await using dir = await tempDir();
  await writeFile(join(dir.path, 'chart.png'), 'bytes');
  const file = { path: join(dir.path, 'chart.png'), name: 'chart.png', mime: 'image/png', kind: 'photo', bytes: 5 } as const;
  const sent = await at.send({ text: '', file });
  const parentId = sent.kind === 'sent' ? sent.platformId : '';
  const [key] = [...at.server.uploads.keys()];
  at.server.say({ text: 'and in colour?', parentId });
  expect(await at.message()).toMatchObject({
    media: [{ kind: 'photo', ref: `${parentId}:image:${key}` }],
    replyTo: { text: '[photo]', fromBot: true },
  });
});

test('what an event only names is asked from the platform after a restart', async () => {
  // In real time: a busy machine must not use up the second that is left for asking.
  const at = await scene({ clock: systemClock });
  const sent = await at.send({ chatId: 'oc_team', text: 'our words' });
  at.server.modes.set('oc_team', 'group');
  at.server.modes.set('oc_ou_ada', 'p2p');
  at.server.say({ messageId: 'om_question', text: 'oops' });
  await at.message();
  await at.channel.stop();
  const second = await at.create({ clock: systemClock });
  open.push({ [Symbol.asyncDispose]: () => second.stop() });
  const host = new TestHost();
  await second.start(host, new AbortController().signal);
  const parentId = sent.kind === 'sent' ? sent.platformId : '';
  at.server.say({ chatId: 'oc_team', chatType: 'group', parentId, text: 'why?' });
  at.server.emit(
    feishuEvent('im.message.recalled_v1', { message_id: 'om_question', chat_id: 'oc_ou_ada', recall_time: '1' }, at.server),
  );
  await until('both arrived', () => host.accepted.length === 2);
  expect(host.accepted[0]).toMatchObject({ replyTo: { platformId: parentId, text: 'our words', fromBot: true } });
  expect(host.accepted[1]).toMatchObject({ kind: 'delete', senderId: 'ou_ada', isGroup: false });
});

test('a button in a private chat is pressed there, also where we wrote before any message came', async () => {
  const at = await scene({ clock: systemClock });
  at.server.modes.set('oc_ou_ada', 'p2p');
  await at.send({ text: 'May it?', choices: [{ label: 'Allow', value: '/allow ABC234' }] });
  const [post] = at.server.posts;
  const elements = post?.content['elements'] as { actions?: { value: object }[] }[];
  const press = {
    operator: { open_id: 'ou_ada' },
    action: { value: elements.at(-1)?.actions?.[0]?.value, tag: 'button' },
    context: { open_message_id: post?.id, open_chat_id: 'oc_ou_ada' },
  };
  at.server.emit(feishuEvent('card.action.trigger', press, at.server));
  expect(await at.message()).toMatchObject({ text: '/allow ABC234', senderId: 'ou_ada', isGroup: false });
});

test('F44 more events than can wait are left with the platform', async () => {
  const at = await scene();
  const gate = Promise.withResolvers<{ kind: 'accepted' }>();
  at.host.next.push(gate.promise);
  for (let index = 0; index < 510; index += 1) at.server.say({ text: `m${index}` });
  await until('the last ones are refused', () => at.server.acknowledged.length === 10);
  expect(at.server.acknowledged.every(({ code }) => code === 500)).toBe(true);
  gate.resolve({ kind: 'accepted' });
  await until('the others are taken', () => at.host.accepted.length === 500);
  await until('they are acknowledged', () => at.server.unacknowledged === 10);
  at.server.disconnect();
  await until('the rest comes again', () => at.host.accepted.length === 510);
  await until('nothing is left', () => at.server.unacknowledged === 0);
});

test('a stopped channel leaves no timer and no socket behind', async () => {
  const busy = (): string[] =>
    process
      .getActiveResourcesInfo()
      .filter((name) => /Timeout|TCPSocket/.test(name))
      .sort();
  const platform = await feishuPlatform();
  open.push(platform);
  const before = busy().length;
  const channel = await platform.create({ clock: systemClock });
  await channel.start(new TestHost(), new AbortController().signal);
  await channel.stop();
  await until('the server closed its ends', () => platform.server.connections === 0);
  expect(busy().length).toBeLessThanOrEqual(before);
});
