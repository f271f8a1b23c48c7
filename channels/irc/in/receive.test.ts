/**
 * What is shown again by a bouncer or a server with history is taken once; see `simulator/irc/bouncer.ts`.
 */
import { expect, test } from 'vitest';
import type { Receipt } from '../../../src/core/channel.ts';
import type { InboundMessage } from '../../../src/core/message.ts';
import { Bouncer, type BouncerOptions, type SaidLine } from '../../../src/simulator/irc/bouncer.ts';
import { ircMissing, startIrcServer } from '../../../src/simulator/irc/server.ts';
import { startZnc, ZNC_PASSWORD, zncMissing } from '../../../src/simulator/irc/znc.ts';
import { channelDeps } from '../../../src/testing/channel-deps.ts';
import { quickClock, TestHost } from '../../../src/testing/channel-host.ts';
import { MemoryLogger, outbound, until } from '../../../src/testing/fakes.ts';
import { missing } from '../../../src/testing/needs.ts';
import { channel as descriptor } from '../index.ts';
import { formatCursor } from './cursor.ts';

const HOUR_MS = 3_600_000;
const ALL_CAPS = ['batch', 'server-time', 'message-tags', 'account-tag'];

async function scene(options: BouncerOptions) {
  const bouncer = await new Bouncer(options).listen();
  let at = Date.now();
  const adapter = async (host: TestHost, settings: object = {}) => {
    const logger = new MemoryLogger();
    const channel = await descriptor.create(
      descriptor.settings.parse({
        ...{ host: '127.0.0.1', port: bouncer.port, tls: false, nick: 'bot', channels: ['#help'] },
        ...settings,
      }),
      channelDeps({ name: 'irc', clock: quickClock(), logger }),
    );
    await channel.start(host, new AbortController().signal);
    // What is said from now on is younger than the first start.
    await until('it is in', () => host.state === 'healthy');
    return { channel, logger, [Symbol.asyncDispose]: () => channel.stop() };
  };
  return {
    bouncer,
    adapter,
    say: (text: string, line: Partial<SaidLine> = {}) => {
      at = Math.max(at + 5, Date.now());
      bouncer.say({ from: 'Ada!~ada@home.example', target: 'bot', text, at, ...line });
    },
    /** The connection is cut, and the bot is back. */
    async again(host: TestHost) {
      const states = host.states.length;
      bouncer.cut();
      await until('it is back', () => host.states.length > states + 1 && host.state === 'healthy');
    },
    async [Symbol.asyncDispose]() {
      await bouncer[Symbol.asyncDispose]();
      expect(bouncer.complaints).toEqual([]);
    },
  };
}

/** As the journal, it knows a message by its second key as well. */
class KnowingHost extends TestHost {
  readonly #known = new Set<string | undefined>();

  override async receive(batch: readonly InboundMessage[], cursor?: string): Promise<Receipt> {
    const fresh = batch.filter(({ secondaryId }) => secondaryId === undefined || !this.#known.has(secondaryId));
    const receipt = await super.receive(fresh, cursor);
    if (receipt.kind === 'accepted') for (const { secondaryId } of fresh) this.#known.add(secondaryId);
    return receipt;
  }
}

const texts = (host: TestHost) => host.accepted.map(({ text }) => text);
const ids = (host: TestHost) => host.accepted.map(({ id }) => id);

test.each<[string, BouncerOptions]>([
  ['ZNC that keeps its buffers', { replays: 'all' }],
  ['ZNC that keeps its buffers, of a version without batches', { replays: 'all', caps: ['server-time'] }],
  ['ZNC as it is installed', { replays: 'missed' }],
  ['soju', { replays: 'unconfirmed', caps: ALL_CAPS, batch: 'chathistory' }],
  ['a channel with history', { replays: 'all', caps: ALL_CAPS, batch: 'chathistory', keepsMsgids: true }],
])('%s: what was taken is not taken again, what was missed is taken once with its time', async (_what, options) => {
  await using at = await scene(options);
  const host = new KnowingHost();
  await using adapter = await at.adapter(host);
  at.say('one', { msgid: 'm1' });
  at.say('bot: two', { target: '#help', msgid: 'm2' });
  await until('both arrived', () => host.accepted.length === 2);
  at.bouncer.cut();
  await until('it is gone', () => at.bouncer.connections === 0);
  const missed = Date.now() + 100;
  at.say('three', { at: missed, msgid: 'm3' });
  await until('it is back', () => host.accepted.length === 3);
  await at.again(host);
  at.say('four', { msgid: 'm4' });
  await until('the last arrived', () => texts(host).includes('four'));
  expect(texts(host)).toEqual(['one', 'two', 'three', 'four']);
  expect(host.accepted[2]?.timestamp).toBe(missed);
  await adapter.channel.stop();
});

test('a line that was live with an id, and is shown again without it, is known by its second key', async () => {
  await using at = await scene({ replays: 'all', caps: ALL_CAPS });
  const host = new TestHost();
  await using _adapter = await at.adapter(host);
  at.say('one', { msgid: 'm1' });
  await until('it arrived', () => host.accepted.length === 1);
  await at.again(host);
  await until('it is shown again', () => host.offered.length === 2);
  const [live, again] = host.offered;
  expect(live?.platformId).toBe('m1');
  expect(again?.secondaryId).toBe(live?.secondaryId);
  expect(live?.secondaryId).toBeDefined();
});

test('the same written twice within a millisecond is two messages, live and missed', async () => {
  await using at = await scene({ replays: 'all' });
  const host = new TestHost();
  await using _adapter = await at.adapter(host);
  const now = Date.now();
  for (const _ of [1, 2]) at.say('yes', { at: now });
  await until('both arrived', () => host.accepted.length === 2);
  at.bouncer.cut();
  await until('it is gone', () => at.bouncer.connections === 0);
  for (const _ of [1, 2]) at.say('no', { at: now + 50 });
  await until('all arrived', () => host.accepted.length === 4);
  await at.again(host);
  at.say('end');
  await until('the end arrived', () => texts(host).includes('end'));
  expect(texts(host)).toEqual(['yes', 'yes', 'no', 'no', 'end']);
});

test('a killed process: what it had not stored is taken by the next, and what it had is not', async () => {
  await using at = await scene({ replays: 'all' });
  const doomed = new TestHost();
  {
    await using _first = await at.adapter(doomed);
    at.say('stored');
    await until('it arrived', () => doomed.accepted.length === 1);
    doomed.next.push(new Error('killed'));
    at.say('lost');
    await until('it was offered', () => doomed.offered.length >= 2);
  }
  const host = new TestHost(await doomed.cursor());
  await using _second = await at.adapter(host);
  await until('both are shown again', () => host.accepted.length === 2);
  expect(ids(host)[0]).toBe(ids(doomed)[0]);
  expect(texts(host)).toEqual(['stored', 'lost']);
});

test('soju is told of a line once that is stored, and shows it again before', async () => {
  await using at = await scene({ replays: 'unconfirmed', caps: ALL_CAPS });
  const host = new TestHost();
  const gate = Promise.withResolvers<never>();
  host.next.push(gate.promise);
  {
    await using _adapter = await at.adapter(host);
    at.say('one');
    await until('it is offered', () => host.offered.length === 1);
    gate.reject(new Error('killed'));
  }
  const next = new TestHost(await host.cursor());
  await using _adapter = await at.adapter(next);
  await until('it is shown again', () => next.accepted.length === 1);
  expect(next.offered[0]?.id).toBe(host.offered[0]?.id);
});

test('history from before the first start, or older than catch_up_hours, is left out and told in the log', async () => {
  await using at = await scene({ replays: 'all' });
  const old = (hours: number) => ({ at: Date.now() - hours * HOUR_MS });
  at.say('before the first start', old(0.001));
  const host = new TestHost();
  await using first = await at.adapter(host);
  at.say('now');
  await until('it arrived', () => host.accepted.length === 1);
  expect(first.logger.lines.filter(({ event }) => event === 'irc.too-old')).toHaveLength(1);
  await first.channel.stop();
  at.say('too old', old(4));
  at.say('not too old', old(2));
  const later = new TestHost(JSON.stringify({ since: Date.now() - 100 * HOUR_MS }));
  await using _second = await at.adapter(later, { catch_up_hours: 3 });
  await until('the rest arrived', () => later.accepted.length === 3);
  expect(texts(later)).toEqual(['before the first start', 'now', 'not too old']);
});

test('a server whose clock is half an hour late is answered from the first start on', async () => {
  await using at = await scene({ replays: 'missed' });
  const host = new TestHost();
  await using _adapter = await at.adapter(host);
  at.say('hello', { at: Date.now() - HOUR_MS / 2 });
  await until('it arrived', () => host.accepted.length === 1);
});

test('F22 where the clock was ahead at the first start, what is said from then on is answered', async () => {
  await using at = await scene({ replays: 'missed' });
  const host = new TestHost(formatCursor(Date.now() + 8 * HOUR_MS));
  await using _adapter = await at.adapter(host);
  at.say('now');
  at.say('by a server whose clock is late', { at: Date.now() - HOUR_MS / 2 });
  await until('both arrived', () => host.accepted.length === 2);
});

test('F22 where the clock was ahead at the first start, what is missed from then on is answered', async () => {
  await using at = await scene({ replays: 'all', caps: ALL_CAPS, batch: 'chathistory', keepsMsgids: true });
  const host = new KnowingHost(formatCursor(Date.now() + 8 * HOUR_MS));
  await using _adapter = await at.adapter(host);
  at.say('now', { msgid: 'm1' });
  await until('it arrived', () => host.accepted.length === 1);
  at.bouncer.cut();
  await until('it is gone', () => at.bouncer.connections === 0);
  at.say('missed', { msgid: 'm2' });
  await until('it arrived', () => texts(host).includes('missed'));
});

test('what the bot said itself, and what ZNC and Ergo say, is no message', async () => {
  await using at = await scene({ replays: 'all' });
  const host = new TestHost();
  await using _adapter = await at.adapter(host);
  at.say('bot: my own answer', { from: 'Bot!b@bot.example', target: '#help' });
  at.say('to Ada, from another client', { from: 'bot!b@bot.example', target: 'Ada' });
  at.say('Disconnected from IRC. Reconnecting...', { from: '*status!znc@znc.in' });
  at.say('bot joined the channel', { from: 'HistServ!HistServ@localhost', target: '#help' });
  at.say('end');
  await until('the end arrived', () => host.accepted.length > 0);
  await at.again(host);
  at.say('end again');
  await until('the end arrived again', () => texts(host).includes('end again'));
  expect(texts(host)).toEqual(['end', 'end again']);
});

test('history of a ZNC that says no times is refused, and what is said live is answered', async () => {
  await using at = await scene({ replays: 'missed', caps: [] });
  const host = new TestHost();
  await using _adapter = await at.adapter(host);
  at.bouncer.cut();
  await until('it is gone', () => at.bouncer.connections === 0);
  at.say('missed');
  at.say('\u0001ACTION waves\u0001');
  at.say('bot: missed too', { target: '#help' });
  await until('it is back', () => host.accepted.length === 3);
  at.say('live');
  await until('it arrived', () => host.accepted.length === 4);
  expect(host.accepted.map(({ refusal }) => refusal)).toEqual(['undated', 'undated', 'undated', undefined]);
});

test.for([true, false])('the same behind a real ZNC that keeps its buffers: %s', async (keeps, context) => {
  const absent = ircMissing() ?? zncMissing();
  if (absent !== undefined) missing(context, absent);
  await using server = await startIrcServer();
  const ada = await server.join('Ada');
  ada.say('JOIN #help');
  await using znc = await startZnc({ ircPort: server.port, keeps });
  await until('ZNC is in the channel', () => ada.lines.some((line) => /^:bot!\S+ JOIN/.test(line)));
  const host = new KnowingHost();
  const adapter = async () => {
    const channel = await descriptor.create(
      descriptor.settings.parse({
        ...{ host: '127.0.0.1', port: znc.port, tls: false, nick: 'bot', channels: ['#help'], server_password_env: 'ZNC' },
      }),
      channelDeps({ name: 'irc', clock: quickClock(), secret: () => ZNC_PASSWORD }),
    );
    await channel.start(host, new AbortController().signal);
    return { channel, [Symbol.asyncDispose]: () => channel.stop() };
  };
  const sayAll = (word: string) => {
    for (const line of [`bot :${word}`, `bot :${word}`, `#help :bot: ${word}`, `bot :\u0001ACTION ${word}\u0001`])
      ada.say(`PRIVMSG ${line}`);
  };
  {
    await using first = await adapter();
    sayAll('live');
    await until('all arrived', () => host.accepted.length === 4);
    const part = outbound({ channel: 'irc', account: first.channel.account, chatId: '#help', text: 'bot: my answer' });
    await first.channel.send(part, { plain: false, signal: new AbortController().signal });
  }
  sayAll('away');
  await ada.settled();
  for (const round of [1, 2]) {
    await using _next = await adapter();
    ada.say(`PRIVMSG bot :end ${round}`);
    await until('the end arrived', () => texts(host).includes(`end ${round}`));
  }
  const all = ['live', 'live', 'live', '* Ada live', 'away', 'away', 'away', '* Ada away', 'end 1', 'end 2'];
  expect(texts(host).toSorted()).toEqual(all.toSorted());
  expect(host.accepted.every(({ refusal }) => refusal === undefined)).toBe(true);
});
