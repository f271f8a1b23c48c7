import {
  access,
  chmod,
  constants,
  lstat,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { configJsonSchema, renderJsonSchema } from '../../../config/json-schema.ts';
import { dataDirError, ensureDataDir } from '../../journal/data-dir.ts';
import { counted } from '../../lib/counted.ts';
import { isErrno } from '../../lib/errno.ts';
import { allChannelSettings } from '../commands/config.ts';
import { shellWord } from '../shell-word.ts';
import { bad, type Check, type Diagnosis, ok, skip, warn } from './check.ts';

/** Bits of a mode that let other users of the machine in. */
const OTHERS = 0o077;
/** What an interrupted write leaves: `NAME.new-PID` (`lib/atomic-file.ts`). */
const LEFTOVER = /\.new-\d+$/;
/** A write takes milliseconds. */
const LEFTOVER_AGE_MS = 3_600_000;

async function modeOf(path: string): Promise<{ readonly mode: number; readonly uid: number } | undefined> {
  try {
    const { mode, uid } = await stat(path);
    return { mode: mode & 0o777, uid };
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

export const dataDirectory: Check = {
  id: 'data-dir',
  title: 'The data directory is there, is yours, can be written, and is closed to other users of the machine.',
  async run({ dataDir }) {
    const found = await modeOf(dataDir);
    const word = shellWord(dataDir);
    const make = async (): Promise<string> => {
      await mkdir(dataDir, { recursive: true, mode: 0o700 });
      return `made ${dataDir}`;
    };
    if (!found) {
      const above = await mayMake(dirname(dataDir));
      if (above !== undefined)
        return bad(`${dataDir} is not there, and this user may not write in ${above}`, 'name another `--data-dir`');
      return warn(`${dataDir} is not there yet: the first start makes it`, `mkdir -p -m 700 ${word}`, make);
    }
    const own = process.getuid?.();
    // Of a link `chown -R` changes the link alone.
    const real = shellWord(await realpath(dataDir));
    if (own !== undefined && own !== 0 && found.uid !== own)
      return bad(
        `${dataDir} belongs to another user (id ${found.uid})`,
        `sudo -u '#${found.uid}' gatehouse doctor; or, while no daemon runs, sudo chown -R $(id -u) ${real}`,
      );
    const unusable = await ensureDataDir(dataDir).catch((error: unknown) => dataDirError(dataDir, error));
    if (unusable) return bad(unusable.message, unusable.hint);
    const strange = own === undefined ? undefined : await ofOthers(dataDir, found.uid);
    if (strange !== undefined) return bad(`${strange} belongs to another user`, `sudo chown -R ${found.uid} ${real}`);
    if ((found.mode & OTHERS) === 0) return ok(dataDir);
    const close = async (): Promise<string> => {
      await chmod(dataDir, 0o700);
      return `closed ${dataDir} to other users`;
    };
    return warn(`other users of this machine can read ${dataDir} (mode ${found.mode.toString(8)})`, `chmod 700 ${word}`, close);
  },
};

/** The first directory on the way there in which this user may not write; undefined = it can be made. */
async function mayMake(dir: string): Promise<string | undefined> {
  try {
    await access(dir, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return isErrno(error, 'ENOENT') && dirname(dir) !== dir ? await mayMake(dirname(dir)) : dir;
  }
}

/** Levels below the data directory in which sessions and their files begin. */
const DEPTH = 4;
/** More are not looked at: it takes about 10 µs each. */
const MOST_LOOKED_AT = 20_000;

/** The first file or directory that is not this user's. */
async function ofOthers(dir: string, uid: number): Promise<string | undefined> {
  let left = MOST_LOOKED_AT;
  const search = async (at: string, depth: number): Promise<string | undefined> => {
    for (const { name, isDirectory } of await entriesOf(at)) {
      const path = join(at, name);
      left -= 1;
      if (left < 0) return undefined;
      const about = await lstat(path).catch(() => undefined);
      if (about && about.uid !== uid) return path;
      const found = isDirectory && depth > 1 ? await search(path, depth - 1) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return await search(dir, DEPTH);
}

async function entriesOf(dir: string): Promise<readonly { readonly name: string; readonly isDirectory: boolean }[]> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
  return entries.map((entry) => ({ name: entry.name, isDirectory: entry.isDirectory() }));
}

/** Those of SECURITY.md, and the record of the daemon, which holds its token. They need not be there. */
async function secretPaths(dataDir: string): Promise<readonly string[]> {
  const below = async (parent: string, names: readonly string[]): Promise<readonly string[]> =>
    (await entriesOf(join(dataDir, parent)))
      .filter(({ isDirectory }) => isDirectory)
      .flatMap(({ name }) => names.map((file) => join(dataDir, parent, name, file)));
  return [
    ...['auth.json', 'daemon.json'].map((name) => join(dataDir, name)),
    ...(await below('mcp-logins', ['auth.json'])),
    ...(await below('channels', ['auth.json', 'login.db'])),
  ];
}

export const secretFiles: Check = {
  id: 'secret-files',
  title: 'Files with keys and tokens can be read by the user of the daemon alone.',
  async run({ dataDir }) {
    const paths = await secretPaths(dataDir);
    const modes = await Promise.all(paths.map(modeOf));
    const there = paths.filter((_, index) => modes[index] !== undefined);
    const open = paths.filter((_, index) => ((modes[index]?.mode ?? 0) & OTHERS) !== 0);
    if (there.length === 0) return skip('no key is stored');
    if (open.length === 0) return ok(counted(there.length, 'private file'));
    const close = async (): Promise<string> => {
      for (const path of open) await chmod(path, 0o600);
      return `closed ${open.join(', ')}`;
    };
    return bad(`other users of this machine can read ${open.join(', ')}`, `chmod 600 ${open.map(shellWord).join(' ')}`, close);
  },
};

export const staleRecord: Check = {
  id: 'daemon',
  title: 'The daemon runs and answers, or none is said to run.',
  async run({ dataDir, daemon }) {
    if (daemon.kind === 'up') return ok(`gatehouse ${daemon.status.version} runs, pid ${daemon.status.pid}`);
    if (daemon.hanging !== undefined)
      return bad(daemon.detail, `kill ${daemon.hanging}, then start it with \`gatehouse gateway\``);
    const path = join(dataDir, 'daemon.json');
    if (!(await modeOf(path))) return ok('no daemon runs here');
    const remove = async (): Promise<string> => {
      await rm(path, { force: true });
      return `removed ${path}`;
    };
    return warn(`${path} names a daemon that is gone: ${daemon.detail}`, `rm ${shellWord(path)}`, remove);
  },
};

/** Files that a write of more than an hour ago left behind. None where the directory is not there. */
export async function oldLeftovers(dataDir: string, now: number): Promise<readonly string[]> {
  const names = await readdir(dataDir).catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  });
  const old: string[] = [];
  for (const name of names.filter((one) => LEFTOVER.test(one))) {
    const path = join(dataDir, name);
    // A link that leads nowhere is one too.
    const { mtimeMs } = await lstat(path);
    if (now - mtimeMs > LEFTOVER_AGE_MS) old.push(path);
  }
  return old;
}

export const leftovers: Check = {
  id: 'leftovers',
  title: 'No file is left of a write that was cut off.',
  async run({ dataDir, context }) {
    const old = await oldLeftovers(dataDir, context.deps.clock.now());
    if (old.length === 0) return ok('none');
    const remove = async (): Promise<string> => {
      for (const path of old) await rm(path, { recursive: true, force: true });
      return `removed ${counted(old.length, 'file')}`;
    };
    return warn(`${counted(old.length, 'file')} of a write that was cut off`, `rm ${old.map(shellWord).join(' ')}`, remove);
  },
};

export const schemaFile: Check = {
  id: 'schema-file',
  title: 'The schema that editors check the config with is that of this version.',
  async run({ context, loaded }): Promise<Diagnosis> {
    const file = loaded?.file;
    if (file === undefined) return skip('no config file');
    const path = join(dirname(file), 'config.schema.json');
    const has = await readFile(path, 'utf8').catch((error: unknown) => {
      if (isErrno(error, 'ENOENT')) return undefined;
      throw error;
    });
    if (has === undefined) return skip('none beside the config');
    const wanted = renderJsonSchema(configJsonSchema(await allChannelSettings(context.deps)));
    if (has === wanted) return ok(path);
    const write = async (): Promise<string> => {
      await writeFile(`${path}.new-${process.pid}`, wanted);
      await rename(`${path}.new-${process.pid}`, path);
      return `wrote ${path}`;
    };
    return warn(`${path} is of another version`, `gatehouse config schema > ${shellWord(path)}`, write);
  },
};
