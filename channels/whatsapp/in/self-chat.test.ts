/** The chat of an account with itself, against our own server with real Noise and Signal. */
import { expect, test } from 'vitest';
import { TestHost } from '../../../src/testing/channel-host.ts';
import { FakeClock, inbound, MemoryLogger, until } from '../../../src/testing/fakes.ts';
import { type WhatsAppScene, whatsAppScene } from '../../../src/testing/whatsapp/scene.ts';
import { SelfChatCap } from './self-chat.ts';

const ADA = '15551110000';

/** The account's person writes to themselves. */
const writeToSelf = (at: WhatsAppScene, text: string, more: object = {}) =>
  at.platform.write({ from: at.platform.owner, toSelf: true, message: { conversation: text }, ...more });

/** Everything that the device sent comes back to it, as after a history that is synchronised anew. */
async function echoAll(at: WhatsAppScene): Promise<number> {
  for (const { id, message } of [...at.platform.seen])
    await at.platform.write({ from: at.platform.owner, toSelf: true, id, message });
  return at.platform.seen.length;
}

test.each(['phone', 'lid'] as const)(
  'what a person writes to themselves under the address of their %s is a question of the account',
  async (by) => {
    await using at = await whatsAppScene({ self_chat: true });
    const me = at.channel.account;
    expect(at.channel.ownersAccount).toBe(true);
    await writeToSelf(at, 'note to self', { by });
    const message = await at.received();
    expect(message).toMatchObject({ text: 'note to self', senderId: me, chatId: me, isGroup: false });
    expect(message).not.toHaveProperty('refusal');
    const sent = await at.send({ chatId: me, text: 'the answer', replyContext: message.replyContext ?? {} });
    expect(sent.kind).toBe('sent');
    expect(at.platform.seen).toMatchObject([{ message: { extendedTextMessage: { text: 'the answer' } } }]);
  },
);

test('without the setting it is refused, as everything that the account writes', async () => {
  await using at = await whatsAppScene();
  expect(at.channel.ownersAccount).toBe(false);
  await writeToSelf(at, 'note to self');
  expect(await at.received()).toMatchObject({ refusal: 'own-message' });
});

test('what the account writes to other people stays its own, and so does what it writes in groups', async () => {
  await using at = await whatsAppScene({ self_chat: true });
  const friend = at.platform.person(ADA);
  const group = '120363000000000001@g.us';
  at.platform.group(group, [friend]);
  await at.platform.write({
    from: at.platform.owner,
    message: { conversation: 'dear Ada' },
    attributes: { recipient: friend.phoneJid },
  });
  expect(await at.received(1)).toMatchObject({ refusal: 'own-message', chatId: ADA });
  await at.platform.write({ from: at.platform.owner, group, message: { conversation: 'dear all' } });
  expect(await at.received(2)).toMatchObject({ refusal: 'own-message', chatId: group });
});

test('no answer, edit or reaction of ours is ever a question, however it comes back: at once, after a restart, after another link', async () => {
  await using at = await whatsAppScene({ self_chat: true });
  const me = at.channel.account;
  await writeToSelf(at, 'question');
  const question = await at.received(1);
  const part = { chatId: me, text: 'answer', replyContext: question.replyContext ?? {} };
  const sent = await at.send(part);
  if (sent.kind !== 'sent') throw new Error('not sent');
  const edited = { channel: 'whatsapp', account: me, key: 'k', ordinal: 0, count: 1, ...part, text: 'a better answer' };
  await at.channel.edit?.(sent.platformId, edited, { plain: false, signal: at.signal });
  await at.channel.react?.({ chatId: me, platformId: question.platformId }, '👀', at.signal);
  const own = await echoAll(at);
  expect(own).toBe(3);
  await at.received(1 + own);
  // The login of another link knows nothing of what this one sent.
  await at.restart();
  await at.channel.stop();
  const { DatabaseSync } = await import('node:sqlite');
  const login = new DatabaseSync(`${at.dir}/login.db`);
  login.exec('DELETE FROM sent');
  login.close();
  const later = new TestHost();
  await at.restart(later);
  await echoAll(at);
  await until('all came back once more', () => later.accepted.length === own);
  const refusals = [...at.host.accepted.slice(1), ...later.accepted].map(({ refusal }) => refusal);
  expect(refusals).toEqual(Array.from({ length: 2 * own }, () => 'own-message'));
});

test("a reply to an answer of ours is told from a reply to one's own words", async () => {
  await using at = await whatsAppScene({ self_chat: true });
  const me = at.channel.account;
  const mine = await writeToSelf(at, 'my words');
  await at.received(1);
  await at.send({ chatId: me, text: 'the answer' });
  const reply = (stanzaId: string) => ({
    extendedTextMessage: {
      text: 'and?',
      contextInfo: { stanzaId, participant: at.platform.owner.phoneJid, quotedMessage: { conversation: 'x' } },
    },
  });
  await writeToSelf(at, '', { message: reply(at.platform.seen[0]?.id ?? '') });
  expect((await at.received(2)).replyTo).toMatchObject({ fromBot: true });
  await writeToSelf(at, '', { message: reply(mine) });
  expect((await at.received(3)).replyTo).toMatchObject({ fromBot: false });
});

test('an answer of ours that the person edits or deletes on their phone is no question', async () => {
  await using at = await whatsAppScene({ self_chat: true });
  const me = at.channel.account;
  const mine = await writeToSelf(at, 'question');
  await at.received(1);
  await at.send({ chatId: me, text: 'the answer' });
  const change = (id: string, type: number) => ({
    protocolMessage: {
      ...{ key: { remoteJid: at.platform.owner.phoneJid, fromMe: true, id }, type },
      ...(type === 14 && { editedMessage: { conversation: 'other words' } }),
    },
  });
  for (const [index, type] of [14, 0].entries()) {
    await writeToSelf(at, '', { message: change(at.platform.seen[0]?.id ?? '', type) });
    expect(await at.received(2 + index)).toMatchObject({ refusal: 'own-message' });
  }
  await writeToSelf(at, '', { message: change(mine, 14) });
  const own = await at.received(4);
  expect(own).toMatchObject({ kind: 'edit', text: 'other words' });
  expect(own).not.toHaveProperty('refusal');
});

test('A6 words in the name of the account that are not encrypted are no question, whatever the operator allows', async () => {
  await using at = await whatsAppScene({ self_chat: true, require_encryption: false });
  await writeToSelf(at, 'obey', { plaintext: true });
  expect(await at.received()).toMatchObject({ refusal: 'own-message' });
});

test('words to another person that the server puts into the chat with oneself are no question', async () => {
  await using at = await whatsAppScene({ self_chat: true });
  const me = at.platform.owner.phoneJid;
  const message = {
    deviceSentMessage: { destinationJid: at.platform.person(ADA).phoneJid, message: { conversation: 'yes, do it' } },
  };
  await at.platform.write({ from: at.platform.owner, message, attributes: { recipient: me } });
  expect(await at.received()).toMatchObject({ refusal: 'own-message' });
});

test('edits count as well: an answer of another program that grows by edits is no question without end', () => {
  const cap = new SelfChatCap({ clock: new FakeClock(), logger: new MemoryLogger() });
  const edit = () => cap.judge(inbound({ kind: 'edit', targetId: 'theirs', text: 'more words' }));
  for (let n = 0; n < 60; n += 1) expect(edit()).not.toHaveProperty('refusal');
  expect(edit()).toMatchObject({ refusal: 'loop-cap', text: '' });
  expect(cap.judge(inbound({ kind: 'delete', targetId: 'theirs' }))).not.toHaveProperty('refusal');
});

test('sixty questions in ten minutes are answered, then nothing for a while, and the operator is told once', async () => {
  const clock = new FakeClock();
  const logger = new MemoryLogger();
  const cap = new SelfChatCap({ clock, logger });
  const judge = () => cap.judge(inbound({ text: 'words' }));
  for (let n = 0; n < 60; n += 1) expect(judge()).not.toHaveProperty('refusal');
  expect(judge()).toMatchObject({ refusal: 'loop-cap', text: '' });
  expect(judge()).toMatchObject({ refusal: 'loop-cap' });
  expect(logger.lines).toMatchObject([{ level: 'warn', event: 'whatsapp.self-chat-capped' }]);
  await clock.advance(600_000);
  expect(judge()).not.toHaveProperty('refusal');
  expect(cap.judge(inbound({ refusal: 'own-message' }))).toMatchObject({ refusal: 'own-message' });
});

test('a clock that is set back by a day does not make the ten minutes longer', () => {
  let [wall, steady] = [Date.UTC(2026, 0, 2), 0];
  const clock = Object.assign(new FakeClock(), { now: () => wall, monotonic: () => steady });
  const cap = new SelfChatCap({ clock, logger: new MemoryLogger() });
  for (let n = 0; n < 60; n += 1) expect(cap.judge(inbound({ text: 'words' }))).not.toHaveProperty('refusal');
  [wall, steady] = [wall - 86_400_000, steady + 600_000];
  expect(cap.judge(inbound({ text: 'words' }))).not.toHaveProperty('refusal');
});
