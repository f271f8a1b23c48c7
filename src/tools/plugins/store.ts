// plugins/NAME, which the operator fills -> plugin-copies/NAME-DIGEST, which runs
import { randomBytes } from 'node:crypto';
import { lchown, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { GatehouseError } from '../../core/errors.ts';
import { syncDirectory } from '../../lib/atomic-file.ts';
import { isErrno } from '../../lib/errno.ts';
import { type PluginCode, readPlugin } from './code.ts';
import type { Owner } from './tree.ts';

const PLUGINS = 'plugins';
const COPIES = 'plugin-copies';

export function pluginDirectory(dataDir: string, name: string): string {
  return join(dataDir, PLUGINS, name);
}

/** The only bytes that are run. */
export function copyDirectory(dataDir: string, { name, digest }: { readonly name: string; readonly digest: string }): string {
  return join(dataDir, COPIES, `${name}-${digest}`);
}

/** Names of the directories in `plugins/`, whatever is in them. */
export async function pluginNames(dataDir: string): Promise<readonly string[]> {
  const entries = await readdir(join(dataDir, PLUGINS)).catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  });
  return entries.filter((name) => !name.startsWith('.')).toSorted();
}

/** A private copy of a plugin, whose digest was made of the copied bytes. Gone when it is not kept. */
export class StagedPlugin implements AsyncDisposable {
  readonly code: PluginCode;
  readonly #dataDir: string;
  readonly #path: string;

  private constructor(dataDir: string, path: string, code: PluginCode) {
    this.#dataDir = dataDir;
    this.#path = path;
    this.code = code;
  }

  /** Rejects as `readPlugin` does. */
  static async of(dataDir: string, source: string): Promise<StagedPlugin> {
    const path = await emptyDirectory(dataDir, COPIES);
    try {
      return new StagedPlugin(dataDir, path, await readPlugin(source, { copyTo: path, owner: await ownerFor(dataDir) }));
    } catch (error) {
      await rm(path, { recursive: true, force: true });
      throw error;
    }
  }

  /** Puts it into `plugins/`, in place of what is there under its name. */
  async install(): Promise<void> {
    const { name } = this.code.manifest;
    const place = pluginDirectory(this.#dataDir, name);
    const next = await emptyDirectory(this.#dataDir, PLUGINS);
    const old = `${next}-old`;
    try {
      const { digest } = await readPlugin(this.#path, { copyTo: next, owner: await ownerFor(this.#dataDir) });
      if (digest !== this.code.digest) throw new GatehouseError('GH2401', 'the plugin changed while it was copied');
      await rename(place, old).catch(ignoreMissing);
      await rename(next, place);
      await syncDirectory(join(this.#dataDir, PLUGINS));
    } finally {
      for (const left of [next, old]) await rm(left, { recursive: true, force: true });
    }
  }

  /** Makes it what runs once its digest is approved. Others of its name go when they are approved no more. */
  async keep(): Promise<void> {
    const { manifest, digest } = this.code;
    const place = copyDirectory(this.#dataDir, { name: manifest.name, digest });
    // Where it is there already, programs may be running from it.
    const before = await readPlugin(place).catch(() => undefined);
    if (before?.digest === digest) return;
    await rm(place, { recursive: true, force: true });
    await rename(this.#path, place);
    await syncDirectory(join(this.#dataDir, COPIES));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#path, { recursive: true, force: true });
  }
}

/** Removes the copies of a plugin but for the one that is named. */
export async function removeCopies(dataDir: string, name: string, except?: string): Promise<void> {
  const entries = await readdir(join(dataDir, COPIES)).catch(ignoreMissing);
  for (const entry of entries ?? []) {
    const digest = entry.startsWith(`${name}-`) ? entry.slice(name.length + 1) : '';
    // A plugin `greet-x` has a name that begins so, too.
    if (/^[0-9a-f]{64}$/.test(digest) && digest !== except)
      await rm(join(dataDir, COPIES, entry), { recursive: true, force: true });
  }
}

/** Whether there was one. */
export async function removePlugin(dataDir: string, name: string): Promise<boolean> {
  await removeCopies(dataDir, name);
  const place = pluginDirectory(dataDir, name);
  const gone = `${await emptyDirectory(dataDir, PLUGINS)}-old`;
  try {
    // At once: a directory of which a part is left is a plugin that changed.
    const was = await rename(place, gone).then(() => true, ignoreMissing);
    return was === true;
  } finally {
    for (const left of [gone, gone.slice(0, -'-old'.length)]) await rm(left, { recursive: true, force: true });
  }
}

async function emptyDirectory(dataDir: string, parent: string): Promise<string> {
  const path = join(dataDir, parent, `.new-${randomBytes(8).toString('hex')}`);
  await mkdir(path, { recursive: true, mode: 0o700 });
  const owner = await ownerFor(dataDir);
  if (owner) for (const made of [join(dataDir, parent), path]) await lchown(made, owner.uid, owner.gid);
  return path;
}

/** The daemon may be another user than root, who decides: it must be able to read what is approved. */
async function ownerFor(dataDir: string): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const { uid, gid } = await stat(dataDir);
  return { uid, gid };
}

/** For an archive that is unpacked; the caller removes it. */
export async function unpackDirectory(dataDir: string): Promise<string> {
  return await emptyDirectory(dataDir, PLUGINS);
}

function ignoreMissing(error: unknown): undefined {
  if (isErrno(error, 'ENOENT')) return undefined;
  throw error;
}

/** Of what was unpacked: many archives hold one directory with all of it. */
export async function pluginRoot(unpacked: string): Promise<string> {
  const entries = await readdir(unpacked, { withFileTypes: true });
  const [only] = entries;
  return entries.length === 1 && only?.isDirectory() ? join(unpacked, only.name) : unpacked;
}
