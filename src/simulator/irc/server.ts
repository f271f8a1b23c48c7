/** A real ngircd with people on it. Never shipped. */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { accepts, spawnDaemon } from '../email/process.ts';
import { startMailProxy } from '../email/proxy.ts';
import { freePort } from '../free-port.ts';
import { tempDir } from '../temp-dir.ts';
import { until } from '../until.ts';

const NGIRCD = '/usr/sbin/ngircd';

/** Why there is no server to talk to here. With `CI` set that is an error of its own. */
export function ircMissing(): string | undefined {
  return existsSync(NGIRCD) ? undefined : `not installed: ${NGIRCD}`;
}

/** Somebody with an IRC client. */
export interface Person {
  /** What the server sent, oldest first. */
  readonly lines: readonly string[];
  /** When each of them came: epoch ms. */
  readonly times: readonly number[];
  say(line: string): void;
  /** As `toInbound` tells it: ngircd knows no accounts. */
  readonly id: string;
  readonly nick: string;
  /** Resolves once the server took the new name. */
  rename(nick: string): Promise<void>;
  leave(): Promise<void>;
  /** Resolves when everything is in `lines` that the server had for this person by now. */
  settled(): Promise<void>;
}

/**
 * Private, on free ports of 127.0.0.1, without the pauses that ngircd makes for people who type fast. `extra`
 * ends its config.
 */
export async function startIrcServer(extra: (dir: string) => string | Promise<string> = () => '') {
  await using resources = new AsyncDisposableStack();
  const dir = resources.use(await tempDir());
  const port = await freePort();
  const file = join(dir.path, 'ngircd.conf');
  const limits =
    '[Limits]\nMaxConnectionsIP = 0\nMaxNickLength = 31\nMaxPenaltyTime = 0\n[Options]\nDNS = no\nIdent = no\nPAM = no\n';
  const global = `[Global]\nName = irc.example.test\nInfo = test\nListen = 127.0.0.1\nPorts = ${port}\nMotdPhrase = hello\n`;
  await writeFile(file, `${global}${limits}${await extra(dir.path)}`);
  const log = join(dir.path, 'log');
  const daemon = spawnDaemon(NGIRCD, ['--nodaemon', '--config', file], log);
  resources.defer(() => daemon.stop('SIGTERM'));
  const ended = daemon.ended.then(async () => {
    throw new Error(`ngircd ended: ${(await readFile(log, 'utf8')).slice(-1_000)}`);
  });
  await Promise.race([accepts(port), ended]);
  const proxy = resources.use(await startMailProxy(port));
  const people: Person[] = [];
  resources.defer(async () => void (await Promise.all(people.map((person) => person.leave()))));
  const kept = resources.move();
  return {
    /** Of the server, and of the proxy in front of it that adapters use. */
    port,
    proxy,
    async join(nick: string, user = nick.toLowerCase()): Promise<Person> {
      const person = await connectPerson(port, nick, user);
      people.push(person);
      return person;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

export type IrcServer = Awaited<ReturnType<typeof startIrcServer>>;

async function connectPerson(port: number, first: string, user: string): Promise<Person> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  const [lines, times]: [string[], number[]] = [[], []];
  let [rest, nick, pings] = ['', first, 0];
  const say = (line: string): void => void socket.write(`${line}\r\n`);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    const whole = `${rest}${chunk}`.split('\r\n');
    rest = whole.pop() ?? '';
    lines.push(...whole);
    times.push(...whole.map(() => Date.now()));
    for (const line of whole) if (line.startsWith('PING')) say(line.replace('PING', 'PONG'));
  });
  say(`NICK ${nick}`);
  say(`USER ${user} 0 * :${user}`);
  await until(`${nick} is on the server`, () => lines.some((line) => line.includes(' 001 ')));
  return {
    lines,
    times,
    say,
    id: `~${user}@127.0.0.1`,
    get nick() {
      return nick;
    },
    async rename(next) {
      if (next === nick) return;
      say(`NICK ${next}`);
      await until(`${next} is the name`, () => lines.some((line) => line.includes(` NICK :${next}`)));
      nick = next;
    },
    async settled() {
      if (socket.destroyed) return;
      pings += 1;
      const token = `look-${pings}`;
      say(`PING ${token}`);
      await until(`${nick} has all`, () => socket.destroyed || lines.some((line) => / PONG /.test(line) && line.includes(token)));
    },
    async leave() {
      if (socket.destroyed) return;
      socket.end('QUIT\r\n');
      await until(`${nick} left`, () => socket.closed);
    },
  };
}
