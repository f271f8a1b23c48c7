/** Which lines of a server tell what became of the part under way, and which only look so. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { startZnc, ZNC_PASSWORD, zncMissing } from '../../../src/simulator/irc/znc.ts';
import { channelDeps } from '../../../src/testing/channel-deps.ts';
import { quickClock, TestHost } from '../../../src/testing/channel-host.ts';
import { outbound, until } from '../../../src/testing/fakes.ts';
import { missing } from '../../../src/testing/needs.ts';
import { toInbound } from '../in/inbound.ts';
import { channel as descriptor } from '../index.ts';
import { toLines } from '../out/outbound.ts';
import { requireWelcome } from './failure.ts';
import { isChannel, parseLine } from './line.ts';

interface ServerOptions {
  readonly welcome?: readonly string[];
  /** To each line of a part, or to those with these indexes. */
  readonly reply?: readonly string[];
  readonly to?: readonly number[];
}

/** A server that lets the bot in with `welcome`, and says `reply` to a part before it answers its ping. */
async function startAdapter({ welcome = [], reply = [], to }: ServerOptions) {
  const heard: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write([':s 001 bot :hi', ...welcome, ''].join('\r\n'));
    socket.setEncoding('utf8').on('data', (chunk) => {
      for (const line of String(chunk).split('\r\n')) {
        if (line.startsWith('PRIVMSG')) {
          const index = heard.push(line) - 1;
          for (const said of reply) if (to?.includes(index) ?? true) socket.write(`${said}\r\n`);
        }
        if (line.startsWith('PING')) socket.write(`:s PONG s ${line.slice(5)}\r\n`);
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const settings = { host: '127.0.0.1', port, tls: false, nick: 'bot', channels: ['#help'] };
  const channel = await descriptor.create(
    descriptor.settings.parse(settings),
    channelDeps({ name: 'irc', clock: quickClock(), secret: () => 'token' }),
  );
  const host = new TestHost();
  const over = new AbortController();
  await channel.start(host, over.signal);
  const send = (chatId: string, text = 'hello') =>
    channel.send(outbound({ channel: 'irc', account: channel.account, chatId, text }), { plain: false, signal: over.signal });
  const stop = async () => {
    await channel.stop();
    server.close();
  };
  return { host, send, heard, [Symbol.asyncDispose]: stop };
}

// doc/tgchange.txt of charybdis and solanum; ERR_TARGETTOOFAST of Undernet.
test.each([
  [':s 707 bot Ada :Targets changing too fast, message dropped', 60_000],
  [':s 439 bot Ada :Target change too fast. Please wait 57 seconds.', 57_000],
])('F35 a message that the server dropped since the bot wrote to many is sent again: %s', async (reply, afterMs) => {
  await using irc = await startAdapter({ reply: [reply] });
  expect(await irc.send('Ada!ada')).toMatchObject({ kind: 'retry', scope: 'chat', afterMs });
});

test.each([
  ['a channel that does not exist cannot be joined', ':s 403 bot #gone :No such channel'],
  ['a channel needs a registered name to be joined', ':s 477 bot #closed :Cannot join channel (+r)'],
  ['NickServ is away', ':s 401 bot NickServ :No such nick/channel'],
  ['the greeting of some networks', ':s 439 * :Please wait while we process your connection.'],
])('an answer that arrived is not refused while the server says of another that %s', async (_what, reply) => {
  await using irc = await startAdapter({ reply: [reply] });
  expect(await irc.send('#help')).toMatchObject({ kind: 'sent' });
});

test.each([
  [':s 404 bot #HELP :Cannot send to channel', '#help', 'blocked'],
  [':s 401 bot Ada :No such nick', 'Ada!ada', 'chat-gone'],
  [':s 404 bot #a!b :Cannot send to channel', '#a!b', 'blocked'],
  [':s 404 bot #help :Cannot send to channel', '@#help', 'blocked'],
  [":s 482 bot #help :You're not a channel operator", '@#help', 'blocked'],
])('a refusal that names whom the answer is for is one of it: %s', async (reply, chatId, reason) => {
  await using irc = await startAdapter({ reply: [reply] });
  expect(await irc.send(chatId)).toMatchObject({ kind: 'refused', reason });
});

test.each(['403', '405', '437', '470', '477', '489', '520'])('a JOIN that is refused by %s is told', async (number) => {
  await using irc = await startAdapter({ welcome: [`:s ${number} bot #help :not you`] });
  await until('it is told', () => irc.host.states.some(({ detail }) => detail === '#help: not you'));
});

test('a name that is held after a split of the network is GH1503', async () => {
  await using irc = await startAdapter({ welcome: [':s 437 * bot :Nick/channel is temporarily unavailable'] });
  await until('it is told', () => irc.host.states.some(({ detail }) => detail?.startsWith('GH1503: bot: ')));
});

test('a name that the server cut off, or changed, as it let the bot in is GH1503, and another case of it is none', () => {
  const settings = descriptor.settings.parse({ host: 's', nick: 'gatehouse-helper-bot' });
  const welcome = (name: string) => () => requireWelcome(parseLine(`:s 001 ${name} :Welcome`), settings);
  for (const name of ['gatehouse-helper', 'Guest7'])
    expect(welcome(name)).toThrow(expect.objectContaining({ code: 'GH1503', message: expect.stringContaining(name) }));
  expect(welcome('Gatehouse-Helper-Bot')).not.toThrow();
});

test('what operators of a channel tell each other is answered to them alone, and only when the bot is named', () => {
  const us = { channel: 'irc', account: 'bot@irc.example', nick: 'bot', platformId: 'own-id', timestamp: 42 };
  const message = toInbound(parseLine(':ada!a@b PRIVMSG @#Help :bot: who is it?'), us);
  expect(message).toMatchObject({ isGroup: true, chatId: '@#help', text: 'who is it?', mentionsBot: true });
  const part = outbound({ chatId: '@#help', text: 'Eve', replyContext: { nick: 'ada' } });
  expect(toLines(part, { nick: 'bot', maxLines: 1, plain: false })).toEqual(['PRIVMSG @#help :ada: Eve']);
  expect(toInbound(parseLine(':ada!a@b PRIVMSG @#Help :hello all'), us)).toMatchObject({ isGroup: true, mentionsBot: false });
});

test('nothing more of a part is written once the server refused a line of it', async () => {
  await using irc = await startAdapter({ reply: [':s 707 bot Ada :Targets changing too fast, message dropped'] });
  const text = Array.from({ length: 20 }, (_, n) => `line ${n}`).join('\n');
  expect(await irc.send('Ada!ada', text)).toMatchObject({ kind: 'retry' });
  const written = irc.heard.length;
  expect(written).toBeLessThan(20);
  // The line that waits for its turn would come by now.
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(irc.heard.length).toBe(written);
});

const ZNC_DROPPED = ':*status!znc@znc.in PRIVMSG bot :Your message to Ada got lost, you are not connected to IRC!';

// `CClient::OnTextMessage` of ZNC 1.8 and 1.6, `upstreamForCommand` and the older `unmarshalEntity` of soju.
test.each([
  ['ZNC', ZNC_DROPPED],
  ['an older ZNC', ZNC_DROPPED.replace('Ada', '[Ada]')],
  ['soju', ':soju.example 400 * PRIVMSG :Disconnected from upstream network'],
  ['an older soju', ':soju.example 403 bot Ada :Disconnected from upstream network'],
])('what %s drops while it has no network has not left, though it answers the ping', async (_what, reply) => {
  await using irc = await startAdapter({ reply: [reply] });
  expect(await irc.send('Ada!ada', 'one')).toMatchObject({ kind: 'retry', scope: 'account' });
  expect(await irc.send('Ada!ada', 'one\ntwo\nthree')).toMatchObject({ kind: 'retry', scope: 'account' });
});

test.each([[[0]], [[2]]])(
  'F37 an answer of three lines of which a bouncer dropped only those with the index %s is unknown',
  async (to) => {
    await using irc = await startAdapter({ reply: [ZNC_DROPPED], to });
    expect(await irc.send('Ada!ada', 'one\ntwo\nthree')).toMatchObject({ kind: 'unknown' });
  },
);

test('what a bouncer drops of another conversation or command, and what a person says of it, changes nothing', async () => {
  const said = ZNC_DROPPED.replace('*status!znc@znc.in', 'Eve!eve@znc.in');
  const join = ':soju.example 400 * JOIN :Disconnected from upstream network';
  await using irc = await startAdapter({ reply: [ZNC_DROPPED.replace('Ada', 'NickServ'), said, join] });
  expect(await irc.send('Ada!ada')).toMatchObject({ kind: 'sent' });
});

test('a real ZNC without its network drops answers, and they have not left', async (context) => {
  const absent = zncMissing();
  if (absent !== undefined) missing(context, absent);
  await using znc = await startZnc({ ircPort: undefined, keeps: false });
  const settings = { host: '127.0.0.1', port: znc.port, tls: false, nick: 'bot', server_password_env: 'ZNC' };
  const deps = channelDeps({ name: 'irc', clock: quickClock(), secret: () => ZNC_PASSWORD });
  const channel = await descriptor.create(descriptor.settings.parse(settings), deps);
  const { signal } = new AbortController();
  await channel.start(new TestHost(), signal);
  const part = outbound({ channel: 'irc', account: channel.account, chatId: 'Ada!ada', text: 'one\ntwo' });
  expect(await channel.send(part, { plain: false, signal })).toMatchObject({ kind: 'retry', scope: 'account' });
  await channel.stop();
});

test.each(['#help', '&local', '@#help', '@&local', '~&@%+#help'])('%s is a channel, and so a group', (target) => {
  expect([isChannel(target), descriptor.groupId?.test(target)]).toEqual([true, true]);
});

test.each(['Ada!ada', '@ada', '+x'])('%s is no channel', (target) => {
  expect([isChannel(target), descriptor.groupId?.test(target)]).toEqual([false, false]);
});
