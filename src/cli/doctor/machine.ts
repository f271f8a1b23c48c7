import { statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { isErrno } from '../../lib/errno.ts';
import { whyNoPrograms } from '../why-no-programs.ts';
import { bad, type Check, type Diagnosis, ok, skip, warn } from './check.ts';

/** As `engines` of package.json has it. */
const NODE = { major: 24, minor: 11 };
const MIB = 2 ** 20;

/** `version`: default that of this process. */
export function nodeCheck(version: string = process.versions.node): Check {
  return {
    id: 'node',
    title: 'Node is new enough.',
    async run() {
      const [major = 0, minor = 0] = version.split('.').map(Number);
      const isNew = major > NODE.major || (major === NODE.major && minor >= NODE.minor);
      const wanted = `${NODE.major}.${NODE.minor}`;
      return isNew ? ok(`Node ${version}`) : bad(`Node ${version} is older than ${wanted}`, `install Node ${wanted} or newer`);
    },
  };
}

/**
 * `free`: bytes for this user on the disk of a directory. Default: `statfs`, of the nearest one that is
 * there.
 */
export function diskCheck(free: (directory: string) => Promise<number> = freeBytes): Check {
  return {
    id: 'disk',
    title: 'There is room on the disk for messages and files (`disk.reserve_mb`, twice).',
    async run({ dataDir, loaded }) {
      const { reserve_mb: reserve = 256 } = loaded?.config.disk ?? {};
      const left = Math.floor((await free(dataDir)) / MIB);
      const text = `${left} MB are free`;
      const fix = 'make room, or move the data with `--data-dir`';
      if (left < reserve) return bad(`${text}, less than the reserve of ${reserve} MB: files are refused`, fix);
      return left < 2 * reserve ? warn(`${text}; at ${reserve} MB files are refused`, fix) : ok(text);
    },
  };
}

async function freeBytes(directory: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  } catch (error) {
    if (!isErrno(error, 'ENOENT') || dirname(directory) === directory) throw error;
    return await freeBytes(dirname(directory));
  }
}

export const portCheck: Check = {
  id: 'port',
  title: 'The ports that the config names are free for the daemon.',
  async run({ daemon, loaded }) {
    if (daemon.kind === 'up') return skip('the daemon holds its ports');
    const { http, webhooks, channels = [] } = loaded?.config.gateway ?? {};
    const wanted = [
      ...(http?.port === undefined ? [] : [{ ...http, key: 'gateway.http.port' }]),
      ...(webhooks && channels.some(isCalled) ? [{ ...webhooks, key: 'gateway.webhooks.port' }] : []),
    ];
    for (const { host, port = 0, key } of wanted) {
      const problem = await tryPort(host, port);
      if (problem === 'EADDRINUSE') return bad(`another program listens on port ${port}`, `stop it, or name another ${key}`);
      if (problem !== undefined) return bad(`port ${port} of ${host} cannot be used: ${problem}`, `name another ${key}`);
    }
    return wanted.length === 0 ? skip('the config names none') : ok(wanted.map(({ port }) => port).join(', '));
  },
};

/** Whether the platform of a channel calls this machine. For no other one the port is opened. */
function isCalled({ type, settings }: { readonly type: string; readonly settings: Readonly<Record<string, unknown>> }): boolean {
  const { mode, public_url: address } = settings;
  return type === 'wecom' || (type === 'twilio' && address !== undefined) || mode === 'webhook' || mode === 'http';
}

/** Undefined = it is free. */
function tryPort(host: string, port: number): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const server = createServer();
  server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  server.listen(port, host, () => server.close(() => resolve(undefined)));
  return promise;
}

export const sandboxCheck: Check = {
  id: 'sandbox',
  title: 'Programs of the agent can be run in a sandbox, where the config wants them.',
  async run({ loaded, dataDir, context }): Promise<Diagnosis> {
    if (!loaded?.config.sandbox || loaded.config.sandbox.mode === 'off') return skip('no tool runs programs');
    const why = await whyNoPrograms(loaded.config, { dataDir, clock: context.deps.clock });
    for (const needs of ['sh', 'rg', 'git'] as const) {
      const verdict = why({ needs });
      if (verdict?.kind === 'deny') return warn(verdict.reason, installOf(verdict.reason));
    }
    return ok('programs run in a sandbox');
  },
};

function installOf(reason: string): string {
  return /`([^`]+)`/.exec(reason)?.[1] ?? 'gatehouse tools list';
}
