/** Albums, against our own server with real Noise and Signal. */
import type { BinaryNode } from '@whiskeysockets/baileys';
import { expect, test } from 'vitest';
import type { Receipt } from '../../../src/core/channel.ts';
import { TestHost } from '../../../src/testing/channel-host.ts';
import { FakeClock, MemoryLogger, tempDir, until } from '../../../src/testing/fakes.ts';
import { type WhatsAppScene, whatsAppScene } from '../../../src/testing/whatsapp/scene.ts';
import { LoginStore } from '../wire/store.ts';
import { Albums } from './albums.ts';
import { StanzaLine } from './stanza-line.ts';

const ADA = '15551110000';
const GROUP = '120363000000000001@g.us';
const settle = (ms = 80) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Announces an album. The result makes its pictures, which are posted together: a busy machine must not take
 * too long between them.
 */
async function album(at: WhatsAppScene, count: number | undefined, group?: string) {
  const from = at.platform.person(ADA);
  const place = { from, ...(group !== undefined && { group }) };
  const announcement = { albumMessage: { ...(count !== undefined && { expectedImageCount: count }) } };
  const id = await at.platform.write({ ...place, message: announcement });
  await until('it is acknowledged', () => at.platform.unacknowledged === 0);
  return async (caption: string, mentionedJid: string[] = []): Promise<BinaryNode> => {
    const file = at.platform.media.store('image', Buffer.from(caption));
    const imageMessage = { ...file, caption, mimetype: 'image/jpeg', contextInfo: { mentionedJid } };
    const messageContextInfo = { messageAssociation: { associationType: 1, parentMessageKey: { id } } };
    return await at.platform.compose({ ...place, message: { imageMessage, messageContextInfo } });
  };
}

const post = (at: WhatsAppScene, ...stanzas: readonly BinaryNode[]): void => {
  for (const stanza of stanzas) at.platform.post(stanza);
};
const told = ({ accepted }: TestHost) => accepted.map(({ text, media }) => [text, media.length]);
const acknowledged = (at: WhatsAppScene) => until('all are acknowledged', () => at.platform.unacknowledged === 0);

test('the pictures of an album are one message, and none is acknowledged before its commit', async () => {
  await using at = await whatsAppScene();
  const picture = await album(at, 3);
  const gate = Promise.withResolvers<Receipt>();
  at.host.next.push(gate.promise);
  post(at, await picture('one'), await picture('two'), await picture('three'));
  await at.platform.write({ from: at.platform.person('15552220000'), message: { conversation: 'me too' } });
  await until('it was offered', () => at.host.offered.length === 1);
  await settle();
  expect(at.platform.unacknowledged).toBe(4);
  gate.resolve({ kind: 'accepted' });
  await acknowledged(at);
  expect(told(at.host)).toEqual([
    ['one\ntwo\nthree', 3],
    ['me too', 0],
  ]);
});

test('an album in a group that mentions us under any of its pictures is for us', async () => {
  await using at = await whatsAppScene();
  at.platform.group(GROUP, [at.platform.person(ADA)]);
  // The key of the group comes with the first message there.
  await at.platform.write({ from: at.platform.person(ADA), group: GROUP, message: { conversation: 'hello all' } });
  await at.received();
  const picture = await album(at, 2, GROUP);
  const { owner } = at.platform;
  post(at, await picture('one'), await picture(`@${owner.phone} two`, [owner.phoneJid]));
  const received = await at.received(2);
  await acknowledged(at);
  expect([received.text, received.media.length, received.mentionsBot, at.host.accepted.length]).toEqual(['one\ntwo', 2, true, 2]);
});

test.each([true, false])(
  'F1 a kill while an album is committed loses nothing and doubles nothing (committed: %s)',
  async (committed) => {
    await using at = await whatsAppScene();
    const picture = await album(at, 3);
    const never = Promise.withResolvers<Receipt>();
    never.promise.catch(() => undefined);
    at.host.next.push(never.promise);
    const stanzas = [await picture('one'), await picture('two')];
    post(at, ...stanzas);
    // The third does not come in time.
    await until('it was offered', () => at.host.offered.length === 1);
    post(at, await picture('three'));
    const restarted = at.restart();
    if (committed) never.resolve({ kind: 'accepted' });
    else never.reject(new Error('killed'));
    await restarted;
    await acknowledged(at);
    expect(told(at.host)).toEqual([
      ['one\ntwo', 2],
      ['three', 1],
    ]);
    expect(at.host.offered[0]?.id).toBe(at.host.accepted[0]?.id);
    // The receipts were lost: nothing is told to a journal that has forgotten it all.
    const forgetful = new TestHost();
    for (const stanza of stanzas) at.platform.requeue(stanza);
    await at.restart(forgetful);
    await acknowledged(at);
    expect(forgetful.offered).toEqual([]);
  },
);

test('a picture that comes late, and what its sender writes meanwhile, are messages of their own', async () => {
  await using at = await whatsAppScene();
  const picture = await album(at, undefined);
  const words = { from: at.platform.person(ADA), message: { conversation: 'look' } };
  const stanzas = [await picture('one'), await picture('two'), await at.platform.compose(words), await picture('three')];
  post(at, ...stanzas);
  await at.received(3);
  await acknowledged(at);
  expect(told(at.host)).toEqual([
    ['one\ntwo', 2],
    ['look', 0],
    ['three', 1],
  ]);
});

test('what others write meanwhile does not make an album wait longer for its next picture', async () => {
  await using dir = await tempDir();
  using store = await LoginStore.open(`${dir.path}/login.db`, { create: true, now: 0 });
  if (!store) throw new Error('no login');
  const clock = new FakeClock();
  const messageContextInfo = { messageAssociation: { associationType: 1, parentMessageKey: { id: 'announced' } } };
  const contents = new Map<string, object>([
    ['announced', { albumMessage: { expectedImageCount: 3 } }],
    ['one', { imageMessage: {}, messageContextInfo }],
  ]);
  const handled: string[] = [];
  const handle = async (node: BinaryNode): Promise<void> => {
    const { id = '' } = node.attrs;
    const first = { hash: id, plaintext: new Uint8Array(), node, content: contents.get(id) ?? { conversation: 'hi' } };
    await albums.others(first, async () => undefined, new AbortController().signal);
    handled.push(id);
  };
  const line = new StanzaLine({ handle, overflowed: () => undefined, logger: new MemoryLogger() });
  const decode = () => undefined;
  const albums = new Albums({ store, guard: (access) => access(), clock, line, decode, restOf: () => new Uint8Array() });
  const push = (user: string, id: string) => line.push({ tag: 'message', attrs: { from: `${user}@s.whatsapp.net`, id } });
  push(ADA, 'announced');
  push(ADA, 'one');
  for (const id of ['after 1 s', 'after 2 s', 'after 3 s']) {
    await clock.advance(1_000);
    push('15552220000', id);
  }
  await clock.advance(999);
  expect(handled).toEqual(['announced']);
  await clock.advance(1);
  await until('the others had their turn', () => handled.length === 5);
});

test.each(['in one connection', 'after the connection broke'])(
  'who takes back one picture of an album %s takes the album back',
  async (when) => {
    await using at = await whatsAppScene();
    const from = at.platform.person(ADA);
    const picture = await album(at, 2);
    const [one, two] = [await picture('one'), await picture('two')];
    post(at, one, two);
    const whole = await at.received();
    await acknowledged(at);
    if (when === 'after the connection broke') {
      const { logins } = at.platform;
      at.platform.cut();
      await until('it is back', () => at.platform.logins > logins && at.host.state === 'healthy');
    }
    const key = { id: two.attrs['id'] ?? '', fromMe: true };
    await at.platform.write({ from, message: { protocolMessage: { key, type: 0 } }, attributes: { edit: '7' } });
    expect(await at.received(2)).toMatchObject({ kind: 'delete', targetId: whole.platformId });
  },
);

test('a picture that cannot be decrypted ends its album and is counted', async () => {
  await using at = await whatsAppScene();
  const picture = await album(at, 3);
  const one = await picture('one');
  const from = at.platform.person(ADA);
  const enc = await from.encryptBytes(Buffer.from('lost'));
  const content = Buffer.from(enc.content as Uint8Array);
  content.writeUInt8(content.readUInt8(content.length - 12) ^ 1, content.length - 12);
  const broken = await at.platform.compose({ from, message: {}, enc: [{ ...enc, content }] });
  post(at, one, broken, await picture('three'));
  await at.received(3);
  expect(at.host.accepted.map(({ text, refusal }) => refusal ?? text)).toEqual(['one', 'unreadable', 'three']);
});
