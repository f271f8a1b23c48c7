/** A real ZNC between a bot and an IRC server. Never shipped. */
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { accepts, spawnDaemon } from '../email/process.ts';
import { freePort } from '../free-port.ts';
import { tempDir } from '../temp-dir.ts';
import { until } from '../until.ts';

const ZNC = '/usr/bin/znc';
/** What a client sends as the password of the server. */
export const ZNC_PASSWORD = 'bot/net:geheim';
const SALT = 'abcdefghij0123456789';
/** Started by root, ZNC waits for half a minute before it begins. */
const [UNPRIVILEGED, UNPRIVILEGED_ARGS] = [65_534, ['--reuid=65534', '--regid=65534', '--clear-groups', ZNC]];

/** Why there is none to talk to here. */
export function zncMissing(): string | undefined {
  return existsSync(ZNC) ? undefined : `not installed: ${ZNC}`;
}

/** On the server at `ircPort`; with undefined it has no network, and looks for none. */
export interface ZncOptions {
  readonly ircPort: number | undefined;
  /** Each new connection sees its buffers. */
  readonly keeps: boolean;
}

/** For the nickname `bot` in #help. */
export async function startZnc({ ircPort, keeps }: ZncOptions) {
  await using resources = new AsyncDisposableStack();
  const dir = resources.use(await tempDir());
  const port = await freePort();
  const configs = join(dir.path, 'configs');
  const file = join(configs, 'znc.conf');
  await mkdir(configs);
  await writeFile(file, config(port, { ircPort, keeps }));
  const log = join(dir.path, 'log');
  const isRoot = process.getuid?.() === 0;
  if (isRoot) for (const path of [dir.path, configs, file]) await chown(path, UNPRIVILEGED, UNPRIVILEGED);
  const args = ['--foreground', '--datadir', dir.path];
  const daemon = isRoot ? spawnDaemon('/usr/bin/setpriv', [...UNPRIVILEGED_ARGS, ...args], log) : spawnDaemon(ZNC, args, log);
  resources.defer(() => daemon.stop('SIGTERM'));
  const ended = daemon.ended.then(async () => {
    throw new Error(`znc ended: ${(await readFile(log, 'utf8')).slice(-1_000)}`);
  });
  // On a busy machine its start takes longer than that of other daemons.
  const listens = until('znc listens', () =>
    accepts(port).then(
      () => true,
      () => false,
    ),
  );
  await Promise.race([listens, ended]);
  ended.catch(() => undefined); // it is told to end
  const kept = resources.move();
  return { port, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

function config(port: number, { ircPort, keeps }: ZncOptions): string {
  return `Version = 1.8.2
ConnectDelay = 0
ServerThrottle = 1
AnonIPLimit = 100
<Listener l>
  Port = ${port}
  IPv4 = true
  IPv6 = false
  SSL = false
  Host = 127.0.0.1
</Listener>
<User bot>
  Nick = bot
  AltNick = bot_
  Ident = bot
  Allow = *
  AutoClearChanBuffer = ${!keeps}
  AutoClearQueryBuffer = ${!keeps}
  <Pass password>
    Method = sha256
    Hash = ${hash('sha256', `geheim${SALT}`)}
    Salt = ${SALT}
  </Pass>
  <Network net>
    IRCConnectEnabled = ${ircPort !== undefined}
    Server = 127.0.0.1 ${ircPort ?? 1}
    <Chan #help>
    </Chan>
  </Network>
</User>
`;
}
