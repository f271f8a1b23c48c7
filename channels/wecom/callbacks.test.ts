// Messages on their way in, over a real connection from a platform that repeats as the real one does.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Receipt } from '../../src/core/channel.ts';
import { TestHost } from '../../src/testing/channel-host.ts';
import { until } from '../../src/testing/fakes.ts';
import { startWecomPlatform, startWecomScene } from '../../src/testing/wecom/scene.ts';

test('the address is verified with the echo, and only with the right keys', async () => {
  await using at = await startWecomScene();
  expect(await at.push.verify('4711 中')).toEqual({ status: 200, body: '4711 中' });
  expect(await at.push.verify('4711', { token: 'guess' })).toEqual({ status: 403, body: '' });
  expect(await at.push.verify('4711', { receiveId: 'wwother' })).toEqual({ status: 403, body: '' });
});

test('an empty answer is given after the commit, and notices are answered at once', async () => {
  await using at = await startWecomScene();
  at.push.message('ada', { MsgType: 'event', Event: 'enter_agent', EventKey: '' });
  at.push.message('ada', { MsgType: 'text', Content: 'hello' });
  await until('both are answered', () => at.push.pending === 0);
  expect(at.push.statuses).toEqual([200, 200]);
  expect(at.host.batches.map(({ messages }) => messages.length)).toEqual([1]);
});

test('A9 A13 forged, stale and unsigned requests reach nobody, and a replay is the same message', async () => {
  await using at = await startWecomScene();
  const xml = at.push.xml('ada', { MsgType: 'text', Content: 'pay' });
  expect(await at.push.post(at.push.seal(xml, { token: 'guess' }))).toBe(403);
  expect(await at.push.post(at.push.seal(xml, { timestamp: 1_500_000_000 }))).toBe(403);
  expect(await at.push.post({ query: new URLSearchParams(), body: xml })).toBe(403);
  expect(await at.push.post({ query: new URLSearchParams(), body: 'x'.repeat(100_000) })).toBe(413);
  expect(at.host.offered).toEqual([]);
  const sealed = at.push.seal(xml);
  expect([await at.push.post(sealed), await at.push.post(sealed)]).toEqual([200, 200]);
  expect(at.host.accepted).toHaveLength(1);
});

test('A13 a replay to the next process is refused by the key, not by a list in memory', async () => {
  await using at = await startWecomScene();
  const sealed = at.push.seal(at.push.xml('ada', { MsgType: 'text', Content: 'once' }));
  expect(await at.push.post(sealed)).toBe(200);
  await at.channel.stop();
  const next = await at.create();
  await next.start(at.host, new AbortController().signal);
  expect(await at.push.post(sealed)).toBe(200);
  expect(at.host.accepted).toHaveLength(1);
  expect(at.host.offered).toHaveLength(2);
  await next.stop();
});

test('F1 a slow gateway: the platform hangs up and repeats, the message is offered once and accepted once', async () => {
  await using platform = await startWecomPlatform({ timeoutMs: 150, pauseMs: 20 });
  const host = new TestHost();
  const channel = await platform.create();
  await channel.start(host, new AbortController().signal);
  const gate = Promise.withResolvers<Receipt>();
  host.next.push(gate.promise);
  platform.push.message('ada', { MsgType: 'text', Content: 'patience' });
  await until('the platform repeated', () => platform.push.statuses.length >= 2);
  expect(platform.push.statuses.slice(0, 2)).toEqual([0, 0]);
  platform.push.timeoutMs = 5_000;
  gate.resolve({ kind: 'accepted' });
  await until('it is acknowledged', () => platform.push.pending === 0);
  expect(platform.push.statuses.at(-1)).toBe(200);
  expect(host.accepted).toHaveLength(1);
  await channel.stop();
});

test('a message stays in line after the platform gave up, and is accepted when the gateway has room', async () => {
  await using platform = await startWecomPlatform({ timeoutMs: 150, pauseMs: 5 });
  const host = new TestHost();
  const channel = await platform.create();
  await channel.start(host, new AbortController().signal);
  const gate = Promise.withResolvers<Receipt>();
  host.next.push(gate.promise);
  platform.push.message('ada', { MsgType: 'text', Content: 'late' });
  await until('the platform gave up', () => platform.push.pending === 0);
  expect(platform.push.statuses).toEqual([0, 0, 0, 0]);
  gate.resolve({ kind: 'busy', retryAfterMs: 20 });
  await until('it was accepted', () => host.accepted.length === 1);
  await channel.stop();
});

test('order is kept over connections: the second message waits for a first one that waits', async () => {
  await using at = await startWecomScene();
  const gate = Promise.withResolvers<Receipt>();
  at.host.next.push(gate.promise);
  const post = (text: string) => at.push.post(at.push.seal(at.push.xml('ada', { MsgType: 'text', Content: text })));
  const first = post('first');
  await until('it was offered', () => at.host.offered.length === 1);
  const second = post('second');
  await sleep(50);
  expect(at.host.offered).toHaveLength(1);
  gate.resolve({ kind: 'busy', retryAfterMs: 100 });
  expect([await first, await second]).toEqual([200, 200]);
  expect(at.host.accepted.map(({ text }) => text)).toEqual(['first', 'second']);
});

test('F33 a restart in the middle: what was not acknowledged comes again and is accepted', async () => {
  await using platform = await startWecomPlatform({ pauseMs: 200 });
  const host = new TestHost();
  const first = await platform.create();
  await first.start(host, new AbortController().signal);
  await first.stop();
  platform.push.message('ada', { MsgType: 'text', Content: 'while down' });
  await until('the platform tried', () => platform.push.statuses.length === 1);
  expect(platform.push.statuses).toEqual([404]);
  const second = await platform.create();
  await second.start(host, new AbortController().signal);
  await until('it arrived', () => host.accepted.length === 1);
  await until('it is acknowledged', () => platform.push.pending === 0);
  await second.stop();
});

test('a stop while a message waits answers the platform without an acknowledgement', async () => {
  await using at = await startWecomScene();
  at.host.next.push({ kind: 'busy', retryAfterMs: 60_000 });
  const waiting = at.push.post(at.push.seal(at.push.xml('ada', { MsgType: 'text', Content: 'x' })));
  await until('it was offered', () => at.host.offered.length === 1);
  await at.channel.stop();
  expect(await waiting).toBe(503);
  expect(at.host.accepted).toEqual([]);
});

test('callbacks are taken while the API cannot be reached or refuses us: they are signed with keys of their own', async () => {
  await using platform = await startWecomPlatform();
  const host = new TestHost();
  const channel = await platform.create({}, {}, 'revoked');
  await channel.start(host, new AbortController().signal);
  expect(host.state).toBe('down');
  platform.push.message('ada', { MsgType: 'text', Content: 'hello' });
  await until('it arrived', () => host.accepted.length === 1);
  expect(host.state).toBe('down');
  await channel.stop();
});
