/** Connections, receipts and faults, against our own server with real Noise and Signal. */
import { execFile } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect, promisify } from 'node:util';
import { proto } from '@whiskeysockets/baileys';
import { describe, expect, test } from 'vitest';
import type { Receipt } from '../../src/core/channel.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { TestHost } from '../../src/testing/channel-host.ts';
import { until } from '../../src/testing/fakes.ts';
import { type WhatsAppScene, whatsAppScene } from '../../src/testing/whatsapp/scene.ts';
import { channel as descriptor } from './index.ts';
import { LoginStore } from './wire/store.ts';

const ADA = '15551110000';
const GROUP = '120363000000000001@g.us';
const settle = (ms = 80) => new Promise((resolve) => setTimeout(resolve, ms));

test('settings have defaults, refuse unknown keys and other schemes', () => {
  expect(descriptor.settings.parse({})).toMatchObject({
    web_socket_url: 'wss://web.whatsapp.com/ws/chat',
    require_encryption: true,
  });
  expect(() => descriptor.settings.parse({ web_socket: 'wss://x' })).toThrow();
  expect(() => descriptor.settings.parse({ web_socket_url: 'https://x' })).toThrow();
  expect(() => descriptor.settings.parse({ pairing_phone: '0155' })).toThrow();
});

test('loading the descriptor does not load the SDK', async () => {
  const script = `await import(${JSON.stringify(join(import.meta.dirname, 'index.ts'))});
    const { default: { _cache } } = await import('node:module');
    console.log(Object.keys(_cache).filter((file) => /baileys|libsignal/.test(file)).length);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  expect(stdout.trim()).toBe('0');
});

test('what the Signal library prints of its sessions never reaches the terminal, and other lines do', async () => {
  const script = `await import(${JSON.stringify(join(import.meta.dirname, 'wire/client.ts'))});
    const { SessionRecord } = (await import('libsignal')).default;
    const record = new SessionRecord();
    const session = { indexInfo: { baseKey: Buffer.from('secret'), closed: -1, baseKeyType: 1 }, chains: {}, getChain() {} };
    record.closeSession(session); record.openSession(session); record.closeSession(session); record.closeSession(session);
    console.info('said by somebody else');`;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  expect([stdout.trim(), stderr.trim()]).toEqual(['said by somebody else', '']);
});

test('A29 the login is readable by its owner alone, and neither logs nor errors hold keys or messages', async () => {
  await using at = await whatsAppScene();
  await at.platform.write({ from: at.platform.person(ADA), message: { conversation: 'my-private-words' } });
  await at.received();
  await at.send({ text: 'our-private-words' });
  expect((await stat(at.dir)).mode & 0o777).toBe(0o700);
  const files = await readdir(at.dir);
  expect(files).toContain('login.db');
  for (const file of files.filter((name) => name.startsWith('login.db')))
    expect([file, (await stat(join(at.dir, file))).mode & 0o777]).toEqual([file, 0o600]);
  const said = inspect(at.logger.lines, { depth: 10 });
  expect(said).not.toMatch(/private-words|privKey|private:/);
});

test('an account that is not linked is down with what to do, and sends wait', async () => {
  const channel = await descriptor.create(descriptor.settings.parse({}), channelDeps({ name: 'wa', dir: '/nonexistent/wa' }));
  const host = new TestHost();
  await channel.start(host, new AbortController().signal);
  expect(host.states.at(-1)).toMatchObject({ state: 'down', detail: expect.stringContaining('GH1501') });
  expect(host.states.at(-1)?.detail).toContain('gatehouse channels login wa');
  await channel.stop();
});

describe('receipts', () => {
  test('F1 nothing that a message causes is sent before it is committed, not even the delivery receipt', async () => {
    await using at = await whatsAppScene();
    const gate = Promise.withResolvers<Receipt>();
    at.host.next.push(gate.promise);
    const id = await at.platform.write({ from: at.platform.person(ADA), message: { conversation: 'hi' } });
    await until('it was offered', () => at.host.offered.length === 1);
    await settle();
    expect(at.platform.said.filter(({ attrs }) => attrs['id'] === id)).toEqual([]);
    gate.resolve({ kind: 'accepted' });
    await until('the receipt came', () => at.platform.said.some(({ tag, attrs }) => tag === 'receipt' && attrs['id'] === id));
  });

  test('F1 a kill between decrypting and commit loses nothing: the same ciphertext is read again', async () => {
    await using at = await whatsAppScene();
    const from = at.platform.person(ADA);
    // A session that has moved on: the next key is used once.
    await at.platform.write({ from, message: { conversation: 'one' } });
    await at.received();
    const never = Promise.withResolvers<Receipt>();
    never.promise.catch(() => undefined);
    at.host.next.push(new Error('disk full'), never.promise);
    await at.platform.write({ from, message: { conversation: 'two' } });
    await until('it was offered twice', () => at.host.offered.length === 3);
    never.reject(new Error('killed'));
    await at.restart();
    expect(await at.received(2)).toMatchObject({ text: 'two' });
    await until('it is acknowledged', () => at.platform.unacknowledged === 0);
    expect(at.platform.said.filter(({ attrs }) => attrs['type'] === 'retry')).toEqual([]);
  });

  test('F2 a message whose receipt was lost is acknowledged again, and its words are no longer stored', async () => {
    await using at = await whatsAppScene();
    await at.platform.write({ from: at.platform.person(ADA), message: { conversation: 'remember-me-not' } });
    const stanza = at.platform.lastStanza();
    await at.received();
    await until('it is acknowledged', () => at.platform.unacknowledged === 0);
    at.platform.requeue(stanza);
    await at.restart();
    await until('it is acknowledged again', () => at.platform.unacknowledged === 0);
    expect(at.host.accepted).toHaveLength(1);
    expect(at.platform.said.filter(({ attrs }) => attrs['type'] === 'retry' || attrs['error'])).toEqual([]);
    await at.channel.stop();
    for (const file of await readdir(at.dir)) {
      expect((await readFile(join(at.dir, file))).includes('remember-me-not')).toBe(false);
    }
  });

  test('F13 a login that cannot be written ends the connection instead of refusing the message', async () => {
    await using at = await whatsAppScene();
    const from = at.platform.person(ADA);
    const write = LoginStore.prototype.write;
    let failures = 0;
    LoginStore.prototype.write = function (changes, now) {
      if (failures++ < 1) throw new Error('database or disk is full');
      return write.call(this, changes, now);
    };
    try {
      await at.platform.write({ from, message: { conversation: 'kept' } });
      expect(await at.received()).toMatchObject({ text: 'kept' });
    } finally {
      LoginStore.prototype.write = write;
    }
    expect(at.platform.logins).toBe(2);
    expect(at.host.states).toContainEqual({ state: 'down', detail: expect.stringContaining('disk is full') });
    expect(at.platform.said.filter(({ attrs }) => attrs['error'] ?? attrs['type'] === 'retry')).toEqual([]);
    await until('it is acknowledged', () => at.platform.unacknowledged === 0);
  });

  test('F13 a login whose people cannot be read ends the connection too, and the message comes again', async () => {
    await using at = await whatsAppScene();
    const { phoneOf } = LoginStore.prototype;
    let failures = 0;
    LoginStore.prototype.phoneOf = function (lid) {
      if (failures++ < 1) throw new Error('disk I/O error');
      return phoneOf.call(this, lid);
    };
    try {
      await at.platform.write({ from: at.platform.person(ADA), message: { conversation: 'kept' } });
      expect(await at.received()).toMatchObject({ text: 'kept' });
    } finally {
      LoginStore.prototype.phoneOf = phoneOf;
    }
    expect(at.platform.logins).toBe(2);
    expect(at.host.states).toContainEqual({ state: 'down', detail: expect.stringContaining('disk I/O error') });
    expect(at.platform.said.filter(({ attrs }) => attrs['error'] ?? attrs['type'] === 'retry')).toEqual([]);
    await until('it is acknowledged', () => at.platform.unacknowledged === 0);
  });

  test('messages that waited at the server while nobody was connected are real ones, in order', async () => {
    await using at = await whatsAppScene({}, { started: false });
    const from = at.platform.person(ADA);
    for (const text of ['one', 'two', 'three']) await at.platform.write({ from, message: { conversation: text } });
    await at.channel.start(at.host, at.signal);
    await at.received(3);
    expect(at.host.accepted.map(({ text }) => text)).toEqual(['one', 'two', 'three']);
    await until('they are acknowledged', () => at.platform.unacknowledged === 0);
  });

  test('a live message does not pass those that waited at the server, however long the gateway is busy', async () => {
    await using at = await whatsAppScene({}, { started: false });
    const from = at.platform.person(ADA);
    for (const text of ['one', 'two', 'three']) await at.platform.write({ from, message: { conversation: text } });
    const gate = Promise.withResolvers<Receipt>();
    at.host.next.push(gate.promise);
    await at.channel.start(at.host, at.signal);
    await until('the first was offered', () => at.host.offered.length === 1);
    await at.platform.write({ from, message: { conversation: 'live' } });
    await settle();
    gate.resolve({ kind: 'accepted' });
    await at.received(4);
    expect(at.host.accepted.map(({ text }) => text)).toEqual(['one', 'two', 'three', 'live']);
    await until('they are acknowledged', () => at.platform.unacknowledged === 0);
  });

  test('more than is kept in memory comes in several connections, in order, and each makes progress', async () => {
    await using at = await whatsAppScene({}, { started: false });
    const from = at.platform.person(ADA);
    const texts = Array.from({ length: 520 }, (_, index) => String(index));
    for (const text of texts) await at.platform.write({ from, message: { conversation: text } });
    const gate = Promise.withResolvers<Receipt>();
    at.host.next.push(gate.promise);
    await at.channel.start(at.host, at.signal);
    await settle(500);
    gate.resolve({ kind: 'accepted' });
    await until('all came', () => at.host.accepted.length === texts.length);
    expect(at.host.accepted.map(({ text }) => text)).toEqual(texts);
    expect(at.platform.logins).toBe(2);
    expect(at.logger.lines).toContainEqual(
      expect.objectContaining({ data: expect.objectContaining({ detail: expect.stringContaining('kept in memory') }) }),
    );
  });

  test('intake that ended takes no message and refuses none, while sending goes on', async () => {
    await using at = await whatsAppScene({}, { started: false });
    const intake = new AbortController();
    await at.channel.start(at.host, intake.signal);
    intake.abort(new Error('shutting down'));
    await at.platform.write({ from: at.platform.person(ADA), message: { conversation: 'later' } });
    expect(await at.send({ text: 'still here' })).toMatchObject({ kind: 'sent' });
    // A refusal would come after the SDK's pause of a quarter of a second.
    await settle(500);
    expect(at.host.offered).toEqual([]);
    await at.channel.stop();
    expect(at.platform.unacknowledged).toBe(1);
    await at.restart();
    expect(await at.received()).toMatchObject({ text: 'later' });
  });

  test('A3 a message without end-to-end encryption is refused as forged, counted and acknowledged', async () => {
    await using at = await whatsAppScene();
    await at.platform.write({ from: at.platform.person(ADA), plaintext: true, message: { conversation: 'run rm -rf' } });
    expect(await at.received()).toMatchObject({ refusal: 'forged-sender', text: '', senderId: ADA });
    await until('it is acknowledged', () => at.platform.unacknowledged === 0);
  });

  test('a message that decrypts to no message is counted as unreadable and not asked for again', async () => {
    await using at = await whatsAppScene();
    const from = at.platform.person(ADA);
    await at.platform.write({ from, message: { conversation: 'first' } });
    const enc = await from.encryptBytes(Buffer.from([0xff, 0xff, 0xff, 0x03, 0x03, 0x03]));
    await at.platform.write({ from, message: {}, enc: [enc] });
    expect(await at.received(2)).toMatchObject({ refusal: 'unreadable', senderId: ADA });
    await at.platform.write({ from, message: { conversation: 'after' } });
    expect(await at.received(3)).toMatchObject({ text: 'after' });
    await until('they are acknowledged', () => at.platform.unacknowledged === 0);
  });

  /** With a wrong byte within the checksum; behind it come only numbers of keys. */
  async function breakOne(at: WhatsAppScene, id: string): Promise<void> {
    const from = at.platform.person(ADA);
    const enc = await from.encryptBytes(Buffer.from('lost'));
    const content = Buffer.from(enc.content as Uint8Array);
    content.writeUInt8(content.readUInt8(content.length - 12) ^ 1, content.length - 12);
    await at.platform.write({ from, id, message: {}, enc: [{ ...enc, content }] });
  }

  test('a message that cannot be decrypted is counted and asked for again, and taken when it comes anew', async () => {
    await using at = await whatsAppScene();
    const from = at.platform.person(ADA);
    await at.platform.write({ from, message: { conversation: 'first' } });
    await at.received();
    await breakOne(at, 'M9');
    expect(await at.received(2)).toMatchObject({ refusal: 'unreadable', text: '', senderId: ADA });
    await until('it is asked for', () => at.platform.said.some(({ attrs }) => attrs['type'] === 'retry' && attrs['id'] === 'M9'));
    from.reset();
    await at.platform.write({ from, id: 'M9', message: { conversation: 'once more' } });
    expect(await at.received(3)).toMatchObject({ text: 'once more' });
  });

  test('messages that cannot be decrypted one after the other degrade the channel until one can', async () => {
    await using at = await whatsAppScene();
    const from = at.platform.person(ADA);
    await at.platform.write({ from, message: { conversation: 'first' } });
    await at.received();
    for (let time = 1; time <= 5; time += 1) {
      expect(at.host.state).toBe('healthy');
      await breakOne(at, 'M9');
      await until('it is acknowledged', () => at.platform.unacknowledged === 0);
    }
    expect(at.host.states.at(-1)).toMatchObject({
      state: 'degraded',
      detail: expect.stringContaining('channels login whatsapp'),
    });
    const warned = at.logger.lines.filter(({ event }) => event === 'whatsapp.message-undecryptable');
    expect(warned.map(({ level }) => level)).toEqual(['warn', 'warn', 'warn', 'warn', 'warn']);
    from.reset();
    await at.platform.write({ from, message: { conversation: 'good' } });
    await until('it is healthy', () => at.host.state === 'healthy');
    // Attempts at one message are one refusal.
    expect(at.host.accepted.map(({ text, refusal }) => refusal ?? text)).toEqual(['first', 'unreadable', 'good']);
  });

  test('what the phone sends on is acknowledged after its commit, stays nowhere, and only our own phone can', async () => {
    await using at = await whatsAppScene();
    const [from, { owner }] = [at.platform.person(ADA), at.platform];
    await at.platform.write({ from, id: 'M9', message: {}, enc: [{ tag: 'unavailable', attrs: {} }] });
    expect(await at.received()).toMatchObject({ refusal: 'unreadable' });
    const webMessageInfoBytes = proto.WebMessageInfo.encode({
      // As the phone knows it.
      key: { remoteJid: from.lidJid, fromMe: false, id: 'M9' },
      message: { conversation: 'sent-on-by-the-phone' },
      messageTimestamp: 1_790_000_000,
    }).finish();
    const peerDataOperationResult = [{ placeholderMessageResendResponse: { webMessageInfoBytes } }];
    const message = { protocolMessage: { type: 17, peerDataOperationRequestResponseMessage: { peerDataOperationResult } } };
    await at.platform.write({ from, message, attributes: { category: 'peer' } });
    await until('it is acknowledged', () => at.platform.unacknowledged === 0);
    expect(at.host.accepted).toHaveLength(1);
    const never = Promise.withResolvers<Receipt>();
    never.promise.catch(() => undefined);
    at.host.next.push(never.promise);
    await at.platform.write({ from: owner, message, attributes: { category: 'peer' } });
    await until('it was offered', () => at.host.offered.length === 2);
    await settle();
    expect(at.platform.unacknowledged).toBe(1);
    never.reject(new Error('killed'));
    await at.restart();
    expect(await at.received(2)).toMatchObject({ text: 'sent-on-by-the-phone', senderId: ADA, platformId: `${ADA}:${ADA}:M9` });
    await until('it is acknowledged', () => at.platform.unacknowledged === 0);
    await at.channel.stop();
    for (const file of await readdir(at.dir)) {
      expect((await readFile(join(at.dir, file))).includes('sent-on-by-the-phone')).toBe(false);
    }
  });

  test('what can be viewed once is told in words, and other content that a linked device is not sent is counted', async () => {
    await using at = await whatsAppScene();
    const from = at.platform.person(ADA);
    const absent = (type: string) => ({ from, message: {}, enc: [{ tag: 'unavailable', attrs: { type } }] });
    const gate = Promise.withResolvers<Receipt>();
    at.host.next.push(gate.promise);
    await at.platform.write(absent('view_once'));
    await until('it was offered', () => at.host.offered.length === 1);
    await settle();
    expect(at.platform.unacknowledged).toBe(1);
    gate.resolve({ kind: 'accepted' });
    expect(await at.received()).toMatchObject({ text: '[view-once media, not available here]', senderId: ADA, media: [] });
    await at.platform.write(absent('hosted_unavailable_fanout'));
    expect(await at.received(2)).toMatchObject({ refusal: 'unreadable', senderId: ADA });
    await until('they are acknowledged', () => at.platform.unacknowledged === 0);
    expect(at.host.state).toBe('healthy');
  });
});

// Most of their time is waiting.
describe.concurrent('endings', () => {
  test.each([
    ['removed by the phone', 401, 'GH1501'],
    ['locked by the platform', 403, 'GH1501'],
    ['banned by the platform', 406, 'GH1501'],
    ['replaced by another program', 440, 'GH1503'],
  ])('F34 a login %s is down for good: nothing is tried again', async (_what, code, expected) => {
    await using at = await whatsAppScene();
    at.platform.endWith(code);
    await until('it is down', () => at.host.state === 'down');
    expect(at.host.states.at(-1)?.detail).toContain(expected);
    await settle(200);
    expect(at.platform.logins).toBe(1);
    expect(await at.send({ text: 'x' })).toMatchObject({ kind: 'retry', scope: 'account' });
  });

  test('a server that wants us to connect again is obeyed at once', async () => {
    await using at = await whatsAppScene();
    at.platform.endWith(515);
    await until('it is connected again', () => at.platform.logins === 2 && at.platform.connections === 1);
    expect(at.host.states.some(({ state }) => state === 'degraded')).toBe(false);
    // Each wait before a connection is logged.
    expect(at.logger.lines.filter(({ event }) => event === 'whatsapp.disconnected')).toEqual([]);
    await until('it can send', async () => (await at.send({ text: 'x' })).kind === 'sent');
  });

  test('F33 a connection that flaps is one at a time, with growing waits, and receives once', async () => {
    await using at = await whatsAppScene();
    for (let flap = 1; flap <= 4; flap += 1) {
      await until('it is connected', () => at.host.state === 'healthy' && at.platform.connections === 1);
      at.platform.cut();
      await until('it noticed', () => at.host.states.filter(({ state }) => state === 'degraded').length === flap);
      expect(at.platform.connections).toBeLessThanOrEqual(1);
    }
    await at.platform.write({ from: at.platform.person(ADA), message: { conversation: 'once' } });
    await at.received();
    await settle();
    expect(at.host.offered).toHaveLength(1);
    const waits = at.logger.lines.filter(({ event }) => event === 'whatsapp.disconnected').map(({ data }) => data['waitMs']);
    expect(waits).toEqual([500, 1_000, 2_000, 4_000]);
  });

  test.each<[Record<string, string>, number]>([
    [{}, 6],
    [{ expire: '7200' }, 2],
    [{ expire: '99999999' }, 336],
    [{ expire: 'soon' }, 6],
  ])('a ban for a time (%o) is down, and nothing is tried before %i hours are over', async (attrs, hours) => {
    await using at = await whatsAppScene();
    at.platform.fail({ reason: '402', ...attrs });
    await until('it is down', () => at.host.state === 'down');
    expect(at.host.states.at(-1)?.detail).toMatch(new RegExp(`GH1502.*402.* ${hours} h,`));
    // Without a wait of its own the next attempt would come after half a second at most.
    await settle(600);
    expect(at.platform.logins).toBe(1);
  });

  test('a version that the platform refuses is told with the setting that mends it, and tried again slowly', async () => {
    await using at = await whatsAppScene({}, { started: false });
    at.platform.failures.push(405);
    await at.channel.start(at.host, at.signal);
    expect(at.host.states.at(-1)).toMatchObject({ state: 'down', detail: expect.stringMatching(/GH1502.*client_version/) });
  });

  test('F42 a second one on the same login does not connect, and does so once the first has ended', async () => {
    await using at = await whatsAppScene();
    const second = await descriptor.create(descriptor.settings.parse({ web_socket_url: at.platform.url }), at.deps);
    const host = new TestHost();
    await second.start(host, at.signal);
    expect(host.states.at(-1)).toMatchObject({ state: 'degraded', detail: expect.stringContaining('GH1503') });
    expect(at.platform.logins).toBe(1);
    await at.channel.stop();
    await until('the second is connected', () => host.state === 'healthy');
    await second.stop();
  });

  test('F42 one that waits for a login ends at once when it is stopped', async () => {
    await using at = await whatsAppScene();
    const second = await descriptor.create(descriptor.settings.parse({ web_socket_url: at.platform.url }), at.deps);
    const host = new TestHost();
    await second.start(host, at.signal);
    await second.stop();
    expect([host.state, host.failures, at.platform.logins]).toEqual(['stopped', [], 1]);
  });

  test('a login that became that of another account breaks the channel, so that it is made anew', async () => {
    await using at = await whatsAppScene({}, { started: false });
    {
      using login = await LoginStore.open(join(at.dir, 'login.db'), { create: false, now: 0 });
      login?.write({ creds: { creds: { me: { id: '15557770000:7@s.whatsapp.net' } } } }, 0);
    }
    const host = new TestHost();
    await at.channel.start(host, at.signal);
    expect(host.failures).toEqual([new Error('the login is of another account by now')]);
    expect(at.platform.logins).toBe(0);
  });
});

describe.concurrent('A3 who wrote', () => {
  test('a person has one id under number and LID, in private and in groups', async () => {
    await using at = await whatsAppScene();
    const ada = at.platform.person(ADA);
    at.platform.group(GROUP, [ada], 'lid');
    await at.platform.write({ from: ada, message: { conversation: '1' } });
    await at.platform.write({ from: ada, by: 'lid', message: { conversation: '2' } });
    await at.platform.write({ from: ada, by: 'lid', alone: true, message: { conversation: '3' } });
    await at.platform.write({ from: ada, by: 'lid', group: GROUP, message: { conversation: '4' } });
    await at.received(4);
    expect(at.host.accepted.map(({ senderId }) => senderId)).toEqual([ADA, ADA, ADA, ADA]);
    expect(at.host.accepted.map(({ chatId }) => chatId)).toEqual([ADA, ADA, ADA, GROUP]);
  });

  test('who comes under the LID alone has the number that is known from elsewhere, and otherwise keeps the LID', async () => {
    await using at = await whatsAppScene();
    const [ada, bob] = [at.platform.person(ADA), at.platform.person('15552220000')];
    // Whom we write to first is asked for at the platform, which names both addresses.
    await at.send({ text: 'good morning' });
    await at.platform.write({ from: ada, by: 'lid', alone: true, message: { conversation: '1' } });
    await at.platform.write({ from: bob, by: 'lid', alone: true, message: { conversation: '2' } });
    await at.platform.write({ from: bob, by: 'lid', message: { conversation: '3' } });
    await at.platform.write({ from: bob, message: { conversation: '4' } });
    await at.received(4);
    expect(at.host.accepted.map(({ senderId }) => senderId)).toEqual([ADA, bob.lidJid, bob.lidJid, bob.lidJid]);
    expect(at.host.accepted.map(({ chatId }) => chatId)).toEqual([ADA, bob.lidJid, bob.lidJid, bob.lidJid]);
  });

  test('the new owner of a number is not the person who had it', async () => {
    await using at = await whatsAppScene();
    await at.platform.write({ from: at.platform.person(ADA, 'Ada'), message: { conversation: 'mine' } });
    await at.received();
    const other = at.platform.reassign(ADA, 'Ada');
    await at.platform.write({ from: other, message: { conversation: 'mine now' } });
    expect(await at.received(2)).toMatchObject({ senderId: other.lidJid, senderName: 'Ada' });
  });
});
