/** What is special to IRC: who wrote, what is a message, the login, and what a server takes back. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, test } from 'vitest';
import { freePort } from '../../src/simulator/free-port.ts';
import { ircMissing, startIrcServer } from '../../src/simulator/irc/server.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { quickClock, TestHost } from '../../src/testing/channel-host.ts';
import { FakeClock, outbound, until } from '../../src/testing/fakes.ts';
import { missing } from '../../src/testing/needs.ts';
import { toInbound } from './in/inbound.ts';
import { channel as descriptor } from './index.ts';
import { toLines } from './out/outbound.ts';
import { parseLine } from './wire/line.ts';

const us = { channel: 'irc', account: 'bot@irc.example', nick: 'bot', platformId: 'own-id', timestamp: 42 };
const read = (line: string) => toInbound(parseLine(line), us);

async function startAdapter(settings: object, secret = 'token', clock = quickClock()) {
  const deps = channelDeps({ name: 'irc', clock, secret: () => secret });
  const channel = await descriptor.create(
    descriptor.settings.parse({ host: '127.0.0.1', tls: false, nick: 'bot', ...settings }),
    deps,
  );
  const host = new TestHost();
  const over = new AbortController();
  await channel.start(host, over.signal);
  const send = (part: object, signal = over.signal) =>
    channel.send(outbound({ channel: 'irc', account: channel.account, chatId: 'Ada', ...part }), { plain: false, signal });
  return { channel, host, send, [Symbol.asyncDispose]: () => channel.stop() };
}

test('the account that the server vouches for is who somebody is, whatever name they go by', () => {
  const one = read('@account=ada;msgid=x1;time=2026-01-02T03:04:05.000Z :Ada!~a@home.example PRIVMSG bot :hi');
  const two = read('@time=2026-01-02T03:04:06.000Z;account=ada :Mallory!~m@else.example PRIVMSG bot :hi');
  expect(one).toMatchObject({
    senderId: 'ada',
    senderName: 'Ada',
    chatId: 'Ada!ada',
    platformId: 'x1',
    replyContext: { nick: 'Ada' },
  });
  expect(one?.timestamp).toBe(Date.UTC(2026, 0, 2, 3, 4, 5));
  expect(two).toMatchObject({ senderId: 'ada', senderName: 'Mallory', platformId: 'own-id' });
});

test('A6 without an account it is user and host, and no name can make that look like an account', () => {
  expect(read(':ada!~a@home.example PRIVMSG bot :hi')).toMatchObject({ senderId: '~a@home.example', timestamp: 42 });
  expect(read('@+account=owner :x!y@z PRIVMSG bot :a client may send tags that begin with +')?.senderId).toBe('y@z');
  expect(read(':x!account=owner@z PRIVMSG bot :hi')?.senderId).toBe('account=owner@z');
});

test.each(['account', 'account='])('a tag without a value, such as "%s", counts as absent', (tag) => {
  expect(read(`@${tag};msgid= :ada!~a@home.example PRIVMSG bot :hi`)).toMatchObject({
    senderId: '~a@home.example',
    platformId: 'own-id',
  });
});

test('a channel that threw the bot out, and a name that the server took away, are told', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write(':s 001 bot :hi\r\n:x!y@z KICK #a other :not us\r\n:x!y@z KICK #help bot :spam\r\n');
    setTimeout(() => socket.write(':bot!b@c NICK :Guest7\r\n'), 50);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    await using irc = await startAdapter({ port: (server.address() as AddressInfo).port });
    await until('it was renamed', () => irc.host.states.some(({ detail }) => detail?.includes('renamed')));
    const details = irc.host.states.map(({ detail }) => detail).filter(Boolean);
    expect(details.slice(0, 2)).toEqual(['thrown out of #help: spam', 'GH1503: the server renamed bot to Guest7']);
  } finally {
    server.close();
  }
});

test.each([
  ['a notice, which programs must not answer', ':ada!a@b NOTICE bot :hello'],
  ['a server', ':irc.example PRIVMSG bot :hello'],
  ['a question of one client to another', ':ada!a@b PRIVMSG bot :\u0001VERSION\u0001'],
  ['somebody who joins', ':ada!a@b JOIN #help'],
  ['nothing', ''],
])('A5 %s is no message', (_what, line) => {
  expect(read(line)).toBeUndefined();
});

test('colours and control characters are taken out, an action is told in words', () => {
  expect(read(':ada!a@b PRIVMSG bot :\u0002bold\u0002 \u000304,12red\u0003 \u0003plain 7')?.text).toBe('bold red plain 7');
  expect(read(':ada!a@b PRIVMSG bot :\u0004ff0000red\u0004 \u0004plain')?.text).toBe('red plain');
  expect(read(':a\u0000d\u0002a!a@b PRIVMSG bot :a\u0000b')).toMatchObject({ senderName: 'ada', text: 'ab' });
  expect(read(':ada!a@b PRIVMSG bot :\u0001ACTION waves\u0001')?.text).toBe('* ada waves');
});

test.each([
  ['bot: what?', 'what?', true],
  ['@BOT what?', 'what?', true],
  ['bot', '', true],
  ['ask the bot, please', 'ask the bot, please', true],
  ['robot: no', 'robot: no', false],
  ['bot-net is not us', 'bot-net is not us', false],
])('in a channel "%s" is read as "%s"', (said, text, mentionsBot) => {
  expect(read(`:ada!a@b PRIVMSG #Help :${said}`)).toMatchObject({ text, mentionsBot, isGroup: true, chatId: '#help' });
});

test('A4 in a channel the author of each message is its own', () => {
  const [one, two] = [read(':ada!~a@x PRIVMSG #help :bot: hi'), read(':eve!~e@y PRIVMSG #help :<ada> bot: I am ada')];
  expect([one?.senderId, two?.senderId]).toEqual(['~a@x', '~e@y']);
  expect([one?.chatId, two?.chatId]).toEqual(['#help', '#help']);
});

test('two people who had the same nickname have two conversations', async () => {
  const [one, two] = [read(':ada!~a@x PRIVMSG bot :hi'), read(':ada!~e@y PRIVMSG bot :hi')];
  expect(one?.chatId).not.toBe(two?.chatId);
  for (const chatId of [one?.chatId, two?.chatId])
    expect(toLines(outbound({ chatId: chatId ?? '', text: 'x' }), { nick: 'bot', maxLines: 1, plain: false })).toEqual([
      'PRIVMSG ada :x',
    ]);
});

test('A45 10,000 mutated lines: nothing crashes, nobody is taken for somebody else, nothing invisible gets through', () => {
  const line = '@account=ada;msgid=x1;time=2026-01-02T03:04:05.000Z :Ada!~a@home.example PRIVMSG bot :hello there';
  const pieces = [
    '@',
    ';',
    '=',
    ' ',
    ':',
    '!',
    'account=owner',
    ' :',
    '\u0001',
    '\u0000',
    '\r',
    '\u0003',
    '😀',
    'PRIVMSG',
    '#a',
    '',
  ];
  let state = 7;
  const draw = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  let messages = 0;
  for (let round = 0; round < 10_000; round += 1) {
    // A sender decides the words. The rest is the server's, and is torn out here as well, but not forged.
    const words = Array.from({ length: draw(6) }, () => pieces[draw(pieces.length)]).join('');
    const at = draw(line.length);
    const torn = draw(2) === 0 ? line : line.slice(0, at) + line.slice(at + draw(9));
    const message = read(`${torn}${words}`);
    if (!message) continue;
    messages += 1;
    expect(message.senderId).not.toContain('owner');
    expect(message.text).not.toMatch(/\p{Cc}/u);
    expect(message.text.isWellFormed()).toBe(true);
    expect(message.chatId.startsWith('#') || message.chatId.includes('!')).toBe(true);
  }
  expect(messages).toBeGreaterThan(5_000);
});

/** A server that knows SASL: ngircd does not. */
async function startSaslServer(answer: (line: string) => string | undefined) {
  const heard: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.setEncoding('utf8').on('data', (chunk) => {
      for (const line of String(chunk).split('\r\n').filter(Boolean)) {
        heard.push(line);
        const said = line.startsWith('CAP REQ')
          ? `:s CAP * ${line.includes('sasl') ? 'ACK' : 'NAK'} ${line.slice(8)}`
          : answer(line);
        if (said !== undefined) socket.write(`${said}\r\n`);
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    heard,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

test('the password goes out by SASL before the registration ends', async () => {
  await using server = await startSaslServer((line) => {
    if (line === 'AUTHENTICATE PLAIN') return 'AUTHENTICATE +';
    if (line.startsWith('AUTHENTICATE')) return ':s 903 * :logged in';
    return line === 'CAP END' ? ':s 001 bot :welcome' : undefined;
  });
  await using adapter = await startAdapter({ port: server.port, password_env: 'IRC_PASSWORD', channels: ['#a'] }, 'geheim');
  expect(adapter.host.state).toBe('healthy');
  const credentials = Buffer.from('\0bot\0geheim').toString('base64');
  await until('it joined', () => server.heard.at(-1) === 'JOIN #a');
  expect(server.heard.slice(-4)).toEqual(['AUTHENTICATE PLAIN', `AUTHENTICATE ${credentials}`, 'CAP END', 'JOIN #a']);
});

test('F34 a refused password is GH1501 and is not in what is told of it', async () => {
  await using server = await startSaslServer((line) => {
    if (line === 'AUTHENTICATE PLAIN') return 'AUTHENTICATE +';
    return line.startsWith('AUTHENTICATE') ? ':s 904 * :SASL authentication failed' : undefined;
  });
  await using adapter = await startAdapter({ port: server.port, password_env: 'IRC_PASSWORD' }, 'geheim');
  expect(adapter.host.states.at(-1)).toEqual({
    state: 'down',
    detail: 'GH1501: the server refused the login: SASL authentication failed',
  });
});

/** A server that answers the ping behind an answer when it is told to. */
async function startSlowServer() {
  const heard: string[] = [];
  let pong: (() => void) | undefined;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write(':s 001 bot :hi\r\n');
    socket.setEncoding('utf8').on('data', (chunk) => {
      for (const line of String(chunk).split('\r\n')) {
        if (line.startsWith('PRIVMSG')) heard.push(line);
        if (line.startsWith('PING :') && line !== 'PING :alive') pong = () => void socket.write(`:s PONG s ${line.slice(5)}\r\n`);
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    heard,
    answer: async () => (await until('the ping is there', () => pong))(),
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

test('an answer whose turn comes too late to be written in its time has not left', async () => {
  await using server = await startSlowServer();
  let now = 0;
  const clock = { ...quickClock(), monotonic: () => now };
  await using adapter = await startAdapter({ port: server.port }, 'token', clock);
  const first = adapter.send({ chatId: 'Ada!ada', text: 'one' });
  const text = Array.from({ length: 20 }, (_, n) => `line ${n}`).join('\n');
  const second = adapter.send({ chatId: 'Eve!eve', text });
  await until('the first is written', () => server.heard.length === 1);
  now += 60_000; // of 80 s, and 20 lines take 42
  await server.answer();
  expect(await first).toMatchObject({ kind: 'sent' });
  expect(await second).toMatchObject({ kind: 'retry', scope: 'part' });
  expect(server.heard).toEqual(['PRIVMSG Ada :one']);
});

test('an answer whose time ends while its first line waits for the pace has not left', async () => {
  await using server = await startSlowServer();
  // Time stands still: what the first answer owes stays owed.
  const clock = new FakeClock();
  await using adapter = await startAdapter({ port: server.port }, 'token', clock);
  const first = adapter.send({ chatId: 'Ada!ada', text: '1\n2\n3\n4' });
  await server.answer();
  expect(await first).toMatchObject({ kind: 'sent' });
  const limit = new AbortController();
  const second = adapter.send({ chatId: 'Eve!eve', text: 'two' }, limit.signal);
  await until('it waits', () => clock.sleeping > 1);
  limit.abort(new Error('time limit'));
  expect(await second).toMatchObject({ kind: 'retry', scope: 'part' });
  expect(server.heard.some((line) => line.includes('Eve'))).toBe(false);
});

describe('on ngircd', () => {
  const absent = ircMissing();
  beforeEach((context) => {
    if (absent !== undefined) missing(context, absent);
  });

  test('the longest part arrives whole with the longest names', async () => {
    await using server = await startIrcServer();
    const [nick, name, chatId] = ['b'.repeat(30), 'A'.repeat(30), `#${'c'.repeat(49)}`];
    const ada = await server.join(name, 'ada');
    ada.say(`JOIN ${chatId}`);
    await using adapter = await startAdapter({ port: server.proxy.port, nick, channels: [chatId] });
    await until('the bot is there', () => ada.lines.some((line) => line.startsWith(`:${nick}!`) && line.includes('JOIN')));
    const text = 'ü'.repeat(adapter.channel.limits.text / 2);
    expect(await adapter.send({ chatId, text, replyContext: { nick: name } })).toMatchObject({ kind: 'sent' });
    const said = () =>
      ada.lines.flatMap((line) => (line.includes(`PRIVMSG ${chatId} :`) ? [line.slice(line.indexOf(' :') + 2)] : [])).join('');
    await until('it is seen', () => said() === `${name}: ${text}`);
  });

  test('a name that is taken is GH1503, and is tried again until it is free', async () => {
    await using server = await startIrcServer();
    const thief = await server.join('bot');
    await using adapter = await startAdapter({ port: server.proxy.port });
    expect(adapter.host.states.at(-1)).toMatchObject({
      state: 'degraded',
      detail: expect.stringMatching(/GH1503: bot: .*in use/),
    });
    await thief.leave();
    await until('it is in', () => adapter.host.state === 'healthy');
  });

  test('a channel that does not let us in is told to the operator', async () => {
    await using server = await startIrcServer();
    const ada = await server.join('Ada');
    ada.say('JOIN #closed');
    ada.say('MODE #closed +i');
    await until('it is closed', () => ada.lines.some((line) => line.includes('MODE #closed +i')));
    await using adapter = await startAdapter({ port: server.proxy.port, channels: ['#closed'] });
    await until('it is told', () => adapter.host.states.some(({ detail }) => detail?.startsWith('#closed: ')));
  });

  test('F33 a connection that is cut again and again is made again each time; what was said meanwhile is lost (class C)', async () => {
    await using server = await startIrcServer();
    const ada = await server.join('Ada');
    await using adapter = await startAdapter({ port: server.proxy.port });
    for (let cut = 1; cut <= 3; cut += 1) {
      server.proxy.cutNextAt(/PRIVMSG/);
      ada.say('PRIVMSG bot :lost');
      const states = (state: string) => adapter.host.states.filter((told) => told.state === state).length;
      await until('it was cut', () => states('degraded') >= cut);
      await until('it is back', () => adapter.host.state === 'healthy');
    }
    ada.say('PRIVMSG bot :kept');
    await until('it arrived', () => adapter.host.accepted.length > 0);
    expect(adapter.host.accepted.map(({ text }) => text)).toEqual(['kept']);
  });

  test('TLS is on by default: a certificate nobody vouches for is refused, one of a known authority is taken', async () => {
    const port = await freePort();
    let cert = '';
    await using server = await startIrcServer(async (dir) => {
      const [keyFile, certFile] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
      const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
      const out = ['-newkey', 'rsa:2048', '-nodes', '-keyout', keyFile, '-out', certFile];
      await promisify(execFile)('openssl', ['req', '-x509', '-days', '2', ...out, ...subject]);
      cert = await readFile(certFile, 'utf8');
      return `[SSL]\nPorts = ${port}\nKeyFile = ${keyFile}\nCertFile = ${certFile}\n`;
    });
    const ada = await server.join('Ada');
    const settings = { host: 'localhost', port, tls: undefined };
    {
      await using adapter = await startAdapter(settings);
      expect(adapter.host.states.at(-1)?.detail).toMatch(/GH1502: DEPTH_ZERO_SELF_SIGNED_CERT/);
    }
    const known = getCACertificates('default');
    setDefaultCACertificates([...known, cert]);
    try {
      await using adapter = await startAdapter(settings);
      expect(adapter.host.state).toBe('healthy');
      expect(await adapter.send({ text: 'in private' })).toMatchObject({ kind: 'sent' });
      await until('it is seen', () => ada.lines.some((line) => line.endsWith(':in private')));
    } finally {
      setDefaultCACertificates(known);
    }
  });
});
