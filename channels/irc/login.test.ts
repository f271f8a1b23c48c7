/** Logging in: the password of the server, and NickServ. SASL is in `irc.test.ts`. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Clock } from '../../src/core/ports.ts';
import { ircMissing, startIrcServer } from '../../src/simulator/irc/server.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { quickClock, TestHost } from '../../src/testing/channel-host.ts';
import { until } from '../../src/testing/fakes.ts';
import { missing } from '../../src/testing/needs.ts';
import { channel as descriptor } from './index.ts';

const SECRETS: Readonly<Record<string, string>> = { SERVER: 'tür auf', SERVICE: 'geheim', BROKEN: 'a\nQUIT' };

async function startAdapter(settings: object, clock: Clock = quickClock()) {
  const deps = channelDeps({ name: 'irc', clock, secret: (name) => SECRETS[name] ?? '' });
  const parsed = descriptor.settings.parse({ host: '127.0.0.1', tls: false, nick: 'bot', channels: ['#a'], ...settings });
  const channel = await descriptor.create(parsed, deps);
  const host = new TestHost();
  await channel.start(host, new AbortController().signal);
  return { host, [Symbol.asyncDispose]: () => channel.stop() };
}

/**
 * A network that lets nobody into a channel whom NickServ does not know. `onIdentify` is what NickServ says
 * to a password.
 */
async function startStrictServer(onIdentify: (password: string) => readonly string[]) {
  const heard: string[] = [];
  const joined: string[] = [];
  const server = createServer((socket: Socket) => {
    let known = false;
    const say = (...lines: readonly string[]): void => void socket.write(lines.map((line) => `${line}\r\n`).join(''));
    socket.on('error', () => socket.destroy());
    socket.setEncoding('utf8').on('data', (chunk) => {
      for (const line of String(chunk).split('\r\n').filter(Boolean)) {
        heard.push(line);
        if (line.startsWith('CAP REQ')) say(`:s CAP * NAK ${line.slice(8)}`);
        if (line === 'CAP END')
          say(':s 001 bot :hi', ':NickServ!s@services NOTICE bot :This nickname is registered. Please identify.');
        const password = /^PRIVMSG NickServ :IDENTIFY (.*)/.exec(line)?.[1];
        if (password !== undefined) {
          const answers = onIdentify(password);
          known ||= answers.some((answer) => / 900 | MODE |identified/.test(answer));
          say(...answers);
        }
        const name = /^JOIN (\S+)/.exec(line)?.[1];
        if (name !== undefined && known) joined.push(name);
        if (name !== undefined && !known) say(`:s 477 bot ${name} :You need to be identified to a registered account to join`);
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    heard,
    joined,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

const asNotice = (text: string) => [`:NickServ!s@services NOTICE bot :${text}`];

test.each<[string, readonly string[]]>([
  ['by number', [':s 900 bot bot!b@c bot :You are now logged in as bot']],
  ['by mode', [':bot MODE bot :+Rr']],
  ['in words', asNotice('You are now identified for bot.')],
])('NickServ is told the password before a channel is joined: it accepts %s', async (_how, answers) => {
  await using server = await startStrictServer((password) => (password === 'geheim' ? answers : asNotice('Password incorrect.')));
  // No time passes: the answer alone ends the wait.
  const still: Clock = {
    ...quickClock(),
    sleep: (_ms, signal) => new Promise((_done, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
  };
  await using adapter = await startAdapter({ port: server.port, nickserv_password_env: 'SERVICE' }, still);
  await until('it joined', () => server.joined.length === 1);
  expect(server.heard.slice(-2)).toEqual(['PRIVMSG NickServ :IDENTIFY geheim', 'JOIN #a']);
  expect(adapter.host.state).toBe('healthy');
});

test('a password that NickServ refuses is told to the operator without it, and the channels that are open are joined', async () => {
  await using server = await startStrictServer((password) => asNotice(`Invalid password ${password} for \u0002bot\u0002.`));
  await using adapter = await startAdapter({ port: server.port, nickserv_password_env: 'SERVICE' });
  const told = await until('it is told', () => adapter.host.states.find(({ state }) => state === 'degraded'));
  expect(told.detail).toBe('NickServ refused the login: Invalid password [password] for bot.');
  await until('it tried to join', () => server.heard.includes('JOIN #a'));
  expect(JSON.stringify(adapter.host.states)).not.toContain('geheim');
});

test('a NickServ that is silent, or not there, does not keep the bot out for long', async () => {
  await using silent = await startStrictServer(() => []);
  await using one = await startAdapter({ port: silent.port, nickserv_password_env: 'SERVICE' });
  await until('it went on', () => silent.heard.includes('JOIN #a'));
  // It greeted, so it is there; what it says may be in another language.
  expect(one.host.states.some(({ detail }) => detail?.includes('NickServ'))).toBe(false);
  await using absent = await startStrictServer(() => [':s 401 bot NickServ :No such nick/channel']);
  await using two = await startAdapter({ port: absent.port, nickserv_password_env: 'SERVICE' });
  await until('it is told', () => two.host.states.some(({ detail }) => detail === 'there is no NickServ on this server'));
});

test('a connection that ends while NickServ is waited for is made again', async () => {
  let tries = 0;
  const server = createServer((socket) => {
    tries += 1;
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => {
      if (String(chunk).includes('CAP END')) socket.write(':s 001 bot :hi\r\n');
      if (String(chunk).includes('IDENTIFY')) socket.destroy();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await using adapter = await startAdapter({ port: (server.address() as AddressInfo).port, nickserv_password_env: 'SERVICE' });
    await until('it came again', () => tries > 1);
    expect(adapter.host.state).not.toBe('healthy');
  } finally {
    server.close();
  }
});

test('a password that would end its line is refused before anything is sent', async () => {
  for (const key of ['password_env', 'server_password_env', 'nickserv_password_env']) {
    await expect(startAdapter({ port: 1, [key]: 'BROKEN' })).rejects.toMatchObject({ code: 'GH1101' });
  }
});

describe('on ngircd with a password', () => {
  const absent = ircMissing();
  beforeEach((context) => {
    if (absent !== undefined) missing(context, absent);
  });

  test('the password of the server lets the bot in, and without it the login is refused', async () => {
    await using server = await startIrcServer(() => `[Global]\nPassword = ${SECRETS['SERVER']}\n`);
    await using adapter = await startAdapter({ port: server.proxy.port, server_password_env: 'SERVER' });
    expect(adapter.host.state).toBe('healthy');
    for (const wrong of [{}, { server_password_env: 'SERVICE' }]) {
      await using refused = await startAdapter({ port: server.proxy.port, nick: 'other', ...wrong });
      expect(refused.host.states.at(-1)).toMatchObject({ state: 'down', detail: expect.stringContaining('GH1501') });
    }
  });
});
