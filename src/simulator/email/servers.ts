/** A private dovecot (IMAP, LMTP, SASL) and postfix (SMTP): own directory and ports, none of the system's. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePorts } from '../free-port.ts';
import {
  dovecotConf,
  HEADER_CHECKS,
  type MailPorts,
  mainCf,
  masterCf,
  oauth2Conf,
  RECIPIENTS,
  type TokenLogins,
} from './config.ts';
import { type Daemon, refuses, spawnDaemon, untilListening } from './process.ts';
import { submit } from './submit.ts';

const execute = promisify(execFile);
/** So that a program that hangs fails with its own command line, not as a time-out of the test. */
const run = (program: string, args: readonly string[]) => execute(program, args, { timeout: 30_000 });

/** Everybody's password. */
export const MAIL_PASSWORD = 'secret';
const USERS = ['alice', 'carol', 'bot'];

export interface MailServerOptions {
  /** Mailboxes besides those of alice, carol and bot: a test that needs an untouched one brings its own. */
  readonly users?: readonly string[];
  readonly tokens?: TokenLogins;
  /** What each attempt listens on. Default: ports that are free now. */
  readonly choosePorts?: () => Promise<MailPorts>;
}

const DOVECOT = '/usr/sbin/dovecot';
/** A start fails in about one of 25 on a busy machine, for a port that another program took. */
const ATTEMPTS = 3;
const POSTFIX_MASTER = '/usr/lib/postfix/sbin/master';

export interface StoredMail {
  readonly raw: string;
  /** Maildir flags, `S` = \Seen. */
  readonly flags: string;
  /** When it was put there. Epoch ms. */
  readonly at: number;
}

export interface MailServers extends AsyncDisposable {
  readonly host: '127.0.0.1';
  /** STARTTLS and plain text. */
  readonly imapPort: number;
  /** Implicit TLS. */
  readonly imapsPort: number;
  readonly smtpPort: number;
  readonly smtpsPort: number;
  /** Of the self-signed certificate for 127.0.0.1 and localhost. */
  readonly caFile: string;
  readonly users: Readonly<Record<'alice' | 'carol' | 'bot', string>>;
  /**
   * Straight into the mailbox over LMTP, as the receiving server would after it checked the mail: headers are
   * kept as they are. When it resolves, the mail has its UID, so mails delivered one after another lie in
   * this order.
   */
  deliver(raw: string | Buffer, to?: string): Promise<void>;
  /** Through postfix, as a stranger would: forged results of our server are removed (RFC 8601 section 5). */
  submit(raw: string | Buffer, from: string, to?: string): Promise<void>;
  /** What lies in a mailbox (INBOX unless named), oldest first. */
  mailbox(user: string, folder?: string): Promise<readonly StoredMail[]>;
  /** Mails that postfix took and has not delivered yet. */
  queued(): Promise<number>;
  doveadm(...args: string[]): Promise<string>;
  /** dovecot's log; each ended IMAP session names the bytes it carried (`out=`). */
  imapLog(): Promise<string>;
  /** As a restore from a backup would: the same mails under new UIDs and a new UIDVALIDITY. */
  renumber(user: string): Promise<void>;
  /** Ends dovecot and starts it again on the same ports and mailboxes. */
  restartImap(): Promise<void>;
  /** Safe to call twice. */
  stop(): Promise<void>;
}

/** Why the servers cannot run here; undefined when they can. Postfix must be started by root. */
export function mailServersMissing(): string | undefined {
  if (process.getuid?.() !== 0) return 'postfix can only be started by root';
  const missing = [DOVECOT, POSTFIX_MASTER, '/usr/bin/openssl'].filter((path) => !existsSync(path));
  return missing.length === 0 ? undefined : `not installed: ${missing.join(', ')}`;
}

/**
 * Starts both, each server once what it asks of the other answers. Another program may take a port between
 * the look and the bind: a start that fails is tried again with new ports, three times in all.
 *
 * @throws Error with the last lines of both servers' logs.
 */
export async function startMailServers(options: MailServerOptions = {}): Promise<MailServers> {
  const { choosePorts = () => freePorts(['imap', 'imaps', 'lmtp', 'sasl', 'smtp', 'smtps'] as const) } = options;
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(options, await choosePorts());
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

async function startOnce({ users = [], tokens }: MailServerOptions, ports: MailPorts): Promise<MailServers> {
  const root = await mkdtemp(join(tmpdir(), 'gh-mail-'));
  await writeTree(root, ports, { users: [...USERS, ...users], tokens });
  const conf = join(root, 'dovecot.conf');
  const startDovecot = () => spawnDaemon(DOVECOT, ['-F', '-c', conf], join(root, 'dovecot.out'));
  const daemons: { dovecot: Daemon; postfix?: Daemon } = { dovecot: startDovecot() };
  let stopped = false;
  const stop = async () => {
    if (stopped) return;
    stopped = true;
    await Promise.all([daemons.dovecot.stop('SIGKILL'), daemons.postfix?.stop('SIGTERM')]);
    await rm(root, { recursive: true, force: true, maxRetries: 5 });
  };
  const listening = [ports.imap, ports.imaps, ports.lmtp, ports.sasl];
  try {
    await untilListening('dovecot', daemons.dovecot, listening);
    const etc = join(root, 'postfix');
    await run('/usr/sbin/postfix', ['-c', etc, 'check']);
    daemons.postfix = spawnDaemon(POSTFIX_MASTER, ['-c', etc, '-d'], join(root, 'postfix.out'));
    await untilListening('postfix', daemons.postfix, [ports.smtp, ports.smtps]);
    await untilListening('dovecot', daemons.dovecot, listening); // another program may have answered on its ports
  } catch (error) {
    const why = await startupLogs(root);
    await stop();
    throw new Error(`the mail servers did not start\n${why}`, { cause: error });
  }
  const startAgain = async () => {
    await removeLocks(join(root, 'mail'));
    // What was killed may hold its ports a moment longer; a dovecot that finds one taken ends at once.
    await Promise.all(listening.map((port) => refuses(port)));
    const dovecot = startDovecot();
    daemons.dovecot = dovecot;
    await untilListening('dovecot', dovecot, listening);
    // postfix keeps a connection to the login service that is gone and would refuse the next login with 454
    await run('/usr/sbin/postfix', ['-c', join(root, 'postfix'), 'reload']);
  };
  const doveadm = async (...args: string[]) => (await run('/usr/bin/doveadm', ['-c', conf, ...args])).stdout;
  return {
    host: '127.0.0.1',
    imapPort: ports.imap,
    imapsPort: ports.imaps,
    smtpPort: ports.smtp,
    smtpsPort: ports.smtps,
    caFile: join(root, 'cert.pem'),
    users: { alice: 'alice@example.test', carol: 'carol@example.test', bot: 'bot@example.test' },
    async deliver(raw, to = 'bot') {
      await submit({ port: ports.lmtp, hello: 'LHLO test', from: 'sender@example.test', to: `${to}@example.test`, raw });
      await giveUids(join(root, 'mail', to), () => doveadm('index', '-u', `${to}@example.test`, 'INBOX'));
    },
    submit: (raw, from, to = 'bot') =>
      submit({ port: ports.smtp, hello: 'EHLO stranger.test', from, to: `${to}@example.test`, raw }),
    mailbox: (user, folder) => readMaildir(join(root, 'mail', user, folder === undefined ? '' : `.${folder}`)),
    queued: () => countQueue(join(root, 'spool')),
    doveadm,
    async restartImap() {
      await daemons.dovecot.stop('SIGKILL');
      await startAgain();
    },
    imapLog: () => readFile(join(root, 'dovecot.log'), 'utf8'),
    async renumber(user) {
      await daemons.dovecot.stop('SIGKILL');
      const box = join(root, 'mail', user);
      const before = Number(/ V(\d+) /.exec(await readFile(join(box, 'dovecot-uidlist'), 'utf8'))?.[1]);
      const names = (await readdir(box)).filter((name) => /^dovecot[-.](uidlist|uidvalidity|index)/.test(name));
      await Promise.all(names.map((name) => rm(join(box, name))));
      // dovecot takes the time in seconds as the new UIDVALIDITY
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, (before + 1) * 1_000 - Date.now())));
      await startAgain();
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function startupLogs(root: string): Promise<string> {
  const logs = ['dovecot.out', 'dovecot.log', 'postfix.out', 'postfix.log'].map(async (name) => {
    const text = await readFile(join(root, name), 'utf8').catch(() => 'none');
    return `${name}: ${text.slice(-1000)}`;
  });
  return (await Promise.all(logs)).join('\n');
}

async function writeTree(
  root: string,
  ports: MailPorts,
  { users, tokens }: { readonly users: readonly string[]; readonly tokens: TokenLogins | undefined },
): Promise<void> {
  // dovecot's login processes and postfix's unprivileged daemons pass through this directory.
  await chmod(root, 0o755);
  for (const folder of ['run', 'state', 'mail', 'postfix', 'spool', 'data']) await mkdir(join(root, folder));
  await run('/usr/bin/openssl', [
    ...[
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=localhost',
    ],
    ...['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', join(root, 'key.pem'), '-out', join(root, 'cert.pem')],
  ]);
  await run('/bin/chown', ['nobody:nogroup', join(root, 'mail')]);
  await run('/bin/chown', ['postfix', join(root, 'data')]);
  await writeFile(join(root, 'users'), users.map((user) => `${user}@example.test:{PLAIN}${MAIL_PASSWORD}\n`).join(''));
  await writeFile(join(root, 'dovecot.conf'), dovecotConf(root, ports, tokens));
  if (tokens) await writeFile(join(root, 'oauth2.conf'), oauth2Conf(tokens));
  await writeFile(join(root, 'postfix', 'main.cf'), mainCf(root, ports));
  await writeFile(join(root, 'postfix', 'master.cf'), masterCf(ports));
  await writeFile(join(root, 'postfix', 'header_checks'), HEADER_CHECKS);
  await writeFile(join(root, 'postfix', 'recipients'), RECIPIENTS);
  const mailboxes = users.map((user) => `${user}@example.test ok\n`).join('');
  await writeFile(join(root, 'postfix', 'mailboxes'), mailboxes);
}

/**
 * Of a dovecot that was killed. While a lock that names no process lies there, dovecot waits for it for two
 * minutes; one that was killed between making the file and writing its number leaves such a lock.
 */
async function removeLocks(mailboxes: string): Promise<void> {
  const names = await readdir(mailboxes, { recursive: true });
  const locks = names.filter((name) => name.endsWith('.lock'));
  await Promise.all(locks.map((name) => rm(join(mailboxes, name), { force: true })));
}

/** In the order in which a mail passes through, so that one on its way is not missed. */
async function countQueue(spool: string): Promise<number> {
  let count = 0;
  for (const queue of ['maildrop', 'incoming', 'active', 'deferred']) {
    const entries = await readdir(join(spool, queue), { recursive: true, withFileTypes: true });
    count += entries.filter((entry) => entry.isFile()).length;
  }
  return count;
}

/**
 * Whether a mail of the INBOX has no UID yet. While a session holds the lock of the UID list, LMTP leaves the
 * mail in `new` without one; the next look at the mailbox gives it one, which may be above those of mails
 * that came later.
 */
async function awaitsUid(box: string): Promise<boolean> {
  const list = await readFile(join(box, 'dovecot-uidlist'), 'utf8').catch((error: unknown) => {
    if (isAbsent(error)) return '';
    throw error;
  });
  const names = await readdir(join(box, 'new'));
  const numbered = new Set(list.split('\n').map((line) => line.slice(line.indexOf(':') + 1)));
  return names.some((name) => !numbered.has(name));
}

async function giveUids(box: string, index: () => Promise<unknown>): Promise<void> {
  const end = performance.now() + 60_000;
  while (await awaitsUid(box)) {
    if (performance.now() > end) throw new Error(`dovecot gave a mail in ${box} no UID within 60 s`);
    await index();
  }
}

/** A mail that is marked meanwhile gets another file name: then the folder is read again. */
async function readMaildir(path: string): Promise<readonly StoredMail[]> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await readMaildirOnce(path);
    } catch (error) {
      if (attempt === 20 || !isAbsent(error)) throw error;
    }
  }
}

async function readMaildirOnce(path: string): Promise<readonly StoredMail[]> {
  const files: { mail: StoredMail; name: string }[] = [];
  for (const folder of ['new', 'cur']) {
    const names = await readdir(join(path, folder)).catch((error: unknown) => {
      if (isAbsent(error)) return [];
      throw error;
    });
    for (const name of names) {
      const file = join(path, folder, name);
      const [raw, info] = await Promise.all([readFile(file, 'latin1'), stat(file)]);
      files.push({ mail: { raw, flags: name.split(':2,')[1] ?? '', at: info.mtimeMs }, name });
    }
  }
  return files.sort((a, b) => a.mail.at - b.mail.at || (a.name < b.name ? -1 : 1)).map((file) => file.mail);
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
