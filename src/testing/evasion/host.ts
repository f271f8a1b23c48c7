/** The machine around a sandbox: what a program must not change, read, reach or leave behind. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { lstat, mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { isErrno } from '../../lib/errno.ts';
import { findCanaries } from '../canaries.ts';
import type { Targets } from './corpus.ts';

/** A secret that is found again in any encoding; the front makes it easy to look for. */
export function canary(): string {
  return `CANARY${randomBytes(18).toString('hex')}`;
}

/** Lays out what a person has on their machine. */
export async function makeTree(dir: string, secret: string): Promise<Pick<Targets, 'H' | 'S' | 'HOME' | 'CFG'>> {
  const files: readonly (readonly [string, string, number])[] = [
    ['secrets/key', `${secret}\n`, 0o600],
    ['config/gatehouse.json', `{"token": "${secret}"}\n`, 0o600],
    ['home/.bashrc', 'alias ll="ls -l"\n', 0o644],
    ['home/.profile', 'umask 022\n', 0o644],
    ['home/.env', `TOKEN=${secret}\n`, 0o600],
    ['home/.ssh/authorized_keys', 'ssh-ed25519 AAAA ada\n', 0o600],
    ['home/.ssh/id_ed25519', `${secret}\n`, 0o600],
    ['home/project/.git/HEAD', 'ref: refs/heads/main\n', 0o644],
    ['home/project/.git/config', '[core]\n\tbare = false\n', 0o644],
    ['home/project/.git/hooks/post-commit', '#!/bin/sh\n', 0o755],
  ];
  for (const [name, text, mode] of files) {
    const path = join(dir, name);
    await mkdir(join(path, '..'), { recursive: true });
    await writeFile(path, text, { mode });
  }
  return { H: dir, S: join(dir, 'secrets/key'), HOME: join(dir, 'home'), CFG: join(dir, 'config/gatehouse.json') };
}

/** Of names, modes, owners, links and contents: two are the same when nothing was changed. */
export async function treeHash(dir: string): Promise<string> {
  const hash = createHash('sha256');
  const entries = await readdir(dir, { recursive: true }).catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  });
  for (const name of ['.', ...entries.sort()]) {
    const stat = await lstat(join(dir, name)).catch(() => undefined);
    hash.update(`${name}\0${stat?.mode}\0${stat?.uid}\0${stat?.gid}\0${stat?.nlink}\0`);
    if (stat?.isFile()) hash.update(await readFile(join(dir, name)));
    if (stat?.isSymbolicLink()) hash.update(await readlink(join(dir, name)));
  }
  return hash.digest('hex');
}

/** Where programs that start later are named, as far as the system has them. */
const SYSTEM = [
  '/',
  '/etc',
  '/etc/cron.d',
  '/etc/profile.d',
  '/etc/sudoers.d',
  '/etc/systemd/system',
  '/usr/bin',
  '/usr/local/bin',
];
const SYSTEM_FILES = ['/etc/passwd', '/etc/crontab', '/etc/hosts', '/etc/resolv.conf', '/etc/environment', '/etc/ld.so.preload'];
const HOME_FILES = [
  '.bashrc',
  '.profile',
  '.npmrc',
  '.gitconfig',
  '.ssh/authorized_keys',
  '.config/systemd/user',
  '.config/autostart',
];
const KERNEL = ['kernel/core_pattern', 'kernel/hostname', 'kernel/modprobe', 'net/ipv4/ip_forward'].map(
  (name) => `/proc/sys/${name}`,
);

/** The parts of this very machine that commands aim at: names in directories, and the contents of files. */
export async function systemState(): Promise<Readonly<Record<string, string>>> {
  const home = process.env['HOME'] ?? '/root';
  const state: Record<string, string> = {};
  for (const dir of [...SYSTEM, '/opt', '/srv', '/var/lib', '/run', '/var/spool/cron/crontabs']) {
    const names = await readdir(dir).catch(() => ['(not there)']);
    // What other programs do there meanwhile is not asked.
    state[dir] = ['/var/lib', '/run'].includes(dir) ? String(names.includes('made')) : names.sort().join(' ');
  }
  for (const path of [...SYSTEM_FILES, ...HOME_FILES.map((name) => join(home, name)), ...KERNEL])
    state[path] = await readFile(path, 'utf8').catch(() => '(not there)');
  return state;
}

/** Puts back what programs of root may have told the kernel: it would hold for the whole machine. */
export async function restoreKernel(state: Readonly<Record<string, string>>): Promise<void> {
  for (const path of KERNEL) {
    const before = state[path];
    if (before !== undefined && (await readFile(path, 'utf8').catch(() => before)) !== before) await writeFile(path, before);
  }
}

/** Listens by every way that a program of the same machine could take. */
export async function openListeners(dir: string) {
  let contacts = 0;
  const count = (): void => {
    contacts += 1;
  };
  const servers: Server[] = [];
  const listen = async (where: { readonly path: string } | { readonly host: string; readonly port: number }): Promise<Server> => {
    const server = createServer((socket) => {
      count();
      socket.on('error', () => undefined);
      socket.destroy();
    });
    servers.push(server);
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(where, resolve));
    return server;
  };
  const { port } = (await listen({ host: '127.0.0.1', port: 0 })).address() as AddressInfo;
  const [socketPath, abstract] = [
    join(dir, 'listener.sock'),
    `gatehouse-evasion-${process.pid}-${randomBytes(4).toString('hex')}`,
  ];
  await listen({ path: socketPath });
  await listen({ path: `\0${abstract}` });
  const udp = createSocket('udp4', count);
  await new Promise<void>((resolve) => udp.bind(0, '127.0.0.1', resolve));
  return {
    targets: { SOCK: socketPath, PORT: String(port), UDP: String(udp.address().port), ABSTRACT: abstract },
    contacts: () => contacts,
    async [Symbol.asyncDispose]() {
      udp.close();
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}

/** A process of another program. */
export function startVictim(): { readonly pid: number; isAlive(): boolean } & Disposable {
  const child: ChildProcess = spawn('sleep', ['3600'], { stdio: 'ignore', detached: true });
  return {
    pid: child.pid ?? 0,
    isAlive: () => child.exitCode === null && child.signalCode === null && !isStopped(child.pid ?? 0),
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
}

function isStopped(pid: number): boolean {
  return /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
}

/** Processes that work in a directory, or in a sandbox that shows it. Their names may be anything. */
export async function processesIn(dir: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)) {
    const [cwd, mounts] = await Promise.all([
      readlink(`/proc/${pid}/cwd`).catch(() => ''),
      readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => ''),
    ]);
    if (!cwd.startsWith(dir) && !mounts.includes(dir)) continue;
    found.push(`${pid} ${(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ')}`);
  }
  return found;
}

/** Where a text holds a piece of a secret: as is, encoded, backwards, shifted, or with signs in between. */
export function leaksIn(text: string, secrets: readonly string[]): readonly string[] {
  const letters = text.replaceAll(/[^A-Za-z0-9+/]/g, '');
  const shifted = letters.replaceAll(/[A-Za-z]/g, (letter) => {
    const code = letter.charCodeAt(0) + (letter.toLowerCase() < 'n' ? 13 : -13);
    return String.fromCharCode(code);
  });
  const backwards = [...letters].reverse().join('');
  return [text, letters, shifted, backwards].flatMap((one) => findCanaries(one, secrets));
}
