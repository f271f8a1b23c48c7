/** What leaves, under which id, when its keys are stored, and what its outcome is; against our own server. */
import { describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { shown, wordsOf } from '../../../src/simulator/whatsapp/readers.ts';
import { gate, outbound, until } from '../../../src/testing/fakes.ts';
import { type WhatsAppScene, whatsAppScene } from '../../../src/testing/whatsapp/scene.ts';
import { LoginStore } from '../wire/store.ts';

const ADA = '15551110000';
const GROUP = '120363000000000001@g.us';

/** What people see of our messages now. */
const words = (at: WhatsAppScene) => shown(at.platform.seen).map(({ message }) => wordsOf(message));

describe('keys', () => {
  test.each([ADA, GROUP])('the keys of a message to %s are on disk before it leaves', async (chatId) => {
    await using at = await whatsAppScene();
    at.platform.group(GROUP, [at.platform.person(ADA)]);
    await at.send({ chatId, text: 'the session is there', key: 'k1' });
    const steps: string[] = [];
    const { write } = LoginStore.prototype;
    const { send } = WebSocket.prototype;
    LoginStore.prototype.write = function (changes, now) {
      steps.push(...Object.keys(changes).filter((type) => type === 'session' || type === 'sender-key'));
      write.call(this, changes, now);
    };
    WebSocket.prototype.send = function (this: WebSocket, ...args: Parameters<typeof send>) {
      // Only the client masks its frames.
      if (!('_isServer' in this && this._isServer)) steps.push(`${(args[0] as Buffer).length} bytes`);
      send.apply(this, args);
    } as typeof send;
    try {
      expect(await at.send({ chatId, text: 'x'.repeat(2_000), key: 'k2' })).toMatchObject({ kind: 'sent' });
    } finally {
      Object.assign(LoginStore.prototype, { write });
      Object.assign(WebSocket.prototype, { send });
    }
    const left = steps.findIndex((step) => /^\d{4,} bytes$/.test(step));
    const keys = steps.map((step, at) => (step.endsWith('bytes') ? -1 : at)).filter((at) => at >= 0);
    expect(left).toBeGreaterThan(0);
    expect(keys.length).toBeGreaterThan(0);
    expect(Math.max(...keys)).toBeLessThan(left);
  });
});

describe.concurrent('sending', () => {
  test('F36 a message that the server refuses is told by meaning, and nobody saw it', async () => {
    await using at = await whatsAppScene();
    at.platform.person(ADA);
    const meanings = [
      [429, { kind: 'retry', scope: 'account', afterMs: 60_000 }],
      [404, { kind: 'refused', reason: 'chat-gone' }],
      [403, { kind: 'refused', reason: 'blocked' }],
      [421, { kind: 'retry', scope: 'part' }],
      [463, { kind: 'refused', reason: 'blocked' }],
      [479, { kind: 'refused', reason: 'invalid' }],
      [503, { kind: 'retry', scope: 'part' }],
    ] as const;
    for (const [code, expected] of meanings) {
      at.platform.faults.push({ kind: 'refuse', code });
      expect([code, await at.send({ text: 'no', key: `k${code}` })]).toMatchObject([code, expected]);
    }
    expect(at.platform.seen).toEqual([]);
    expect(await at.send({ text: 'yes', key: 'k0' })).toMatchObject({ kind: 'sent' });
  });

  test('a group that has come to call its members otherwise is asked anew, and the message is sent again', async () => {
    await using at = await whatsAppScene();
    at.platform.group(GROUP, [at.platform.person(ADA)]);
    const part = { chatId: GROUP, text: 'hello', key: 'k1' };
    expect(await at.send({ ...part, key: 'k0' })).toMatchObject({ kind: 'sent' });
    at.platform.faults.push({ kind: 'refuse', code: 421 });
    expect(await at.send(part)).toMatchObject({ kind: 'retry', scope: 'part' });
    at.platform.questionsHeld.set('w:g2 query', Promise.resolve());
    expect(await at.send(part)).toMatchObject({ kind: 'sent' });
    expect(at.platform.questionsHeld.has('w:g2 query')).toBe(false);
  });

  test('F35 too many questions before a message mean a wait, and nothing was sent', async () => {
    await using at = await whatsAppScene();
    at.platform.person(ADA);
    at.platform.questionFaults.set('usync usync', 429);
    expect(await at.send({ text: 'soon' })).toMatchObject({ kind: 'retry', scope: 'account' });
    expect(at.platform.wire).toEqual([]);
    expect(await at.send({ text: 'soon' })).toMatchObject({ kind: 'sent' });
  });

  test('F37 a server that takes a message and does not confirm it leaves the outcome unknown after the time limit', async () => {
    await using at = await whatsAppScene({ send_timeout_secs: 10 });
    at.platform.person(ADA);
    at.platform.faults.push({ kind: 'lose' });
    expect(await at.send({ text: 'maybe' })).toMatchObject({ kind: 'unknown' });
    await until('the server has seen the message', () => at.platform.seen.length === 1);
  });

  test('F37 a connection that breaks after the message left is unknown, and every attempt has the same id', async () => {
    await using at = await whatsAppScene();
    at.platform.person(ADA);
    at.platform.faults.push({ kind: 'cut' });
    expect(await at.send({ text: 'maybe', key: 'k1' })).toMatchObject({ kind: 'unknown' });
    await until('it is connected again', () => at.host.state === 'healthy' && at.platform.connections === 1);
    expect(await at.send({ text: 'maybe', key: 'k1' })).toMatchObject({ kind: 'sent' });
    expect(await at.send({ text: 'maybe', key: 'k2' })).toMatchObject({ kind: 'sent' });
    const ids = at.platform.wire.map(({ attrs }) => attrs['id']);
    expect(ids[0]).toBe(ids[1]);
    expect(ids[2]).not.toBe(ids[0]);
    expect(ids[0]).toMatch(/^3EB0[0-9A-F]{18}$/);
  });

  test('F37 an attempt that was given up and ends later does not take the confirmation of the next one', async () => {
    // The clock runs twenty times faster: given up after 2 s.
    await using at = await whatsAppScene({ send_timeout_secs: 40 });
    at.platform.group(GROUP, [at.platform.person(ADA)]);
    const [late, confirmed] = [gate(), gate()];
    at.platform.questionsHeld.set('w:g2 query', late.opened);
    at.platform.questionFaults.set('w:g2 query', 404);
    expect(await at.send({ chatId: GROUP, text: 'once' })).toMatchObject({ kind: 'unknown' });
    at.platform.faults.push({ kind: 'hold', until: confirmed.opened });
    const next = at.send({ chatId: GROUP, text: 'once' });
    await until('the next one is sent', () => at.platform.wire.length > 0);
    late.open();
    // One connection: the client reads the refusal before the confirmation.
    await late.opened.then(confirmed.open);
    expect(await next).toMatchObject({ kind: 'sent' });
  });

  test('a recipient who could not read a message gets it again, also after a restart', async () => {
    await using at = await whatsAppScene();
    const ada = at.platform.person(ADA);
    await at.send({ text: 'read me' });
    const [sent] = at.platform.seen;
    await at.restart();
    at.platform.askAgain(ada, sent?.id ?? '');
    await until('it came again', () => at.platform.wire.filter(({ attrs }) => attrs['id'] === sent?.id).length === 2);
    // One message, readable with a new session.
    expect(at.platform.seen).toHaveLength(1);
  });

  test.each(['pn', 'lid'] as const)('a group addressed by %s is written to with one key for all members', async (addressing) => {
    await using at = await whatsAppScene();
    at.platform.group(GROUP, [at.platform.person(ADA), at.platform.person('15552220000')], addressing);
    expect(await at.send({ chatId: GROUP, text: 'one', key: 'k1' })).toMatchObject({ kind: 'sent' });
    expect(await at.send({ chatId: GROUP, text: 'two', key: 'k2' })).toMatchObject({ kind: 'sent' });
    // Every member opened both.
    expect(at.platform.seen.map(({ message, to }) => [to, wordsOf(message)])).toEqual([
      [GROUP, 'one'],
      [GROUP, 'two'],
    ]);
  });

  test.each(['pn', 'lid'] as const)(
    'a reaction in a group addressed by %s names the author as the group does',
    async (addressing) => {
      await using at = await whatsAppScene();
      const ada = at.platform.person(ADA);
      at.platform.group(GROUP, [ada], addressing);
      const by = addressing === 'lid' ? 'lid' : 'phone';
      const id = await at.platform.write({ from: ada, group: GROUP, by, message: { conversation: 'hi' } });
      const { platformId, chatId } = await at.received();
      await at.channel.react?.({ chatId, platformId }, '👍', at.signal);
      const participant = addressing === 'lid' ? ada.lidJid : ada.phoneJid;
      expect(at.platform.seen[0]?.message.reactionMessage).toMatchObject({
        text: '👍',
        key: { id, fromMe: false, participant, remoteJid: GROUP },
      });
    },
  );

  test('a group we are not in is gone', async () => {
    await using at = await whatsAppScene();
    expect(await at.send({ chatId: '120363000000000009@g.us', text: 'x' })).toMatchObject({
      kind: 'refused',
      reason: 'chat-gone',
    });
  });

  test('an answer goes to the address its message came from', async () => {
    await using at = await whatsAppScene();
    const ada = at.platform.person(ADA);
    await at.platform.write({ from: ada, by: 'lid', message: { conversation: 'hi' } });
    const { chatId, replyContext } = await at.received();
    expect(chatId).toBe(ADA);
    expect(await at.send({ chatId, text: 'hello', ...(replyContext && { replyContext }) })).toMatchObject({ kind: 'sent' });
    expect(at.platform.seen[0]).toMatchObject({ to: ada.lidJid });
  });

  test('A3 what answers nothing goes to the account that was meant, also when its number has another owner by now', async () => {
    await using at = await whatsAppScene();
    const ada = at.platform.person(ADA);
    await at.platform.write({ from: ada, message: { conversation: 'remind me' } });
    const { platformId } = await at.received();
    at.platform.reassign(ADA, 'Eve');
    expect(await at.send({ text: 'the reminder' })).toMatchObject({ kind: 'sent' });
    await at.channel.react?.({ chatId: ADA, platformId }, '👍', at.signal);
    await at.channel.typing?.({ chatId: ADA }, at.signal);
    const typing = await until('it shows', () => at.platform.said.find(({ tag }) => tag === 'chatstate'));
    expect([...at.platform.seen.map(({ to }) => to), typing.attrs['to']]).toEqual([ada.lidJid, ada.lidJid, ada.lidJid]);
  });

  test('a reaction goes to where its message stands, though its person has another address too', async () => {
    await using at = await whatsAppScene();
    await at.platform.write({ from: at.platform.person(ADA), message: { conversation: 'hi' } });
    const { chatId, platformId, replyContext = {} } = await at.received();
    await at.channel.react?.({ chatId, platformId, replyContext }, '👀', at.signal);
    const { to, message } = at.platform.seen.at(-1) ?? {};
    expect([to, message?.reactionMessage?.key?.remoteJid]).toEqual([replyContext['jid'], replyContext['jid']]);
  });

  test('an answer that says again what it said before is shown, and every attempt at it has the same id', async () => {
    await using at = await whatsAppScene();
    at.platform.person(ADA);
    const sent = await at.send({ text: 'on', key: 'k1' });
    const platformId = sent.kind === 'sent' ? sent.platformId : '';
    const place = { channel: 'whatsapp', account: at.channel.account, chatId: ADA };
    for (const [key, text] of [
      ['k2', 'off'],
      ['k3', 'on'],
      ['k4', 'off'],
      ['k4', 'off'],
    ] as const)
      await at.channel.edit?.(platformId, outbound({ ...place, key, text }), { plain: false, signal: at.signal });
    expect(words(at)).toEqual(['off']);
    const [again, once] = at.platform.wire.toReversed().map(({ attrs }) => attrs['id']);
    expect(again).toBe(once);
  });

  test('what changes or takes away an answer goes to where it stands, though its person has another address too', async () => {
    await using at = await whatsAppScene();
    const from = at.platform.person(ADA);
    const id = await at.platform.write({ from, message: { conversation: 'captial of France?' } });
    const { chatId, replyContext = {} } = await at.received();
    const sent = await at.send({ chatId, text: 'What?', key: 'k1', replyContext });
    const platformId = sent.kind === 'sent' ? sent.platformId : '';
    const protocolMessage = { key: { id, fromMe: true }, type: 14, editedMessage: { conversation: 'capital of France?' } };
    await at.platform.write({ from, message: { protocolMessage }, attributes: { edit: '1' } });
    const correction = await at.received(2);
    const place = { channel: 'whatsapp', account: at.channel.account, chatId, replyContext: correction.replyContext ?? {} };
    await at.channel.edit?.(platformId, outbound({ ...place, text: 'Paris' }), { plain: false, signal: at.signal });
    expect(words(at)).toEqual(['Paris']);
    await at.channel.withdraw?.({ chatId, replyContext, platformId }, at.signal);
    expect(words(at)).toEqual([]);
  });

  test('stop waits for a send under way, so that its outcome is known', async () => {
    await using at = await whatsAppScene();
    at.platform.person(ADA);
    at.platform.faults.push({ kind: 'hold' });
    const sending = at.send({ text: 'slow' });
    await until('it left', () => at.platform.wire.length === 1);
    await at.channel.stop();
    expect(await sending).toMatchObject({ kind: 'sent' });
  });
});
