// Where the copy is made: beside its place, which it takes in one step
import { existsSync, lstatSync, readdirSync, realpathSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { errorText, GatehouseError, isGatehouseError } from '../../core/errors.ts';
import { syncDirectory } from '../../lib/atomic-file.ts';

/** Throws GH1005 where something has the place, and where the copy would become a part of what it copies. */
export function refusePlace(dataDir: string, path: string): void {
  if (existsSync(path)) throw new GatehouseError('GH1005', `${path} is there already`, { hint: 'name a directory that is not' });
  if (isBelow(path, dataDir))
    throw new GatehouseError('GH1005', `${path} is in the data directory, and would be part of the next backup`, {
      hint: 'name a directory outside of it',
    });
  const link = linkedDirectories(dataDir).find((each) => isBelow(path, each));
  if (link !== undefined)
    throw new GatehouseError('GH1005', `${path} is in what ${link} leads to, and would be part of the next backup`, {
      hint: 'name a directory outside of it',
    });
}

/** State that links put on another disk: `copyTree` follows them. */
function linkedDirectories(dataDir: string): readonly string[] {
  return readdirSync(dataDir)
    .map((name) => join(dataDir, name))
    .filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() && existsSync(join(path, '.')))
    .filter((path) => !isBelow(dataDir, path));
}

/** By where links lead; what is not there yet counts by the directory that it would be in. */
export function isBelow(path: string, directory: string): boolean {
  const way = relative(realpathSync(directory), whereItLies(resolve(path)));
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function whereItLies(path: string): string {
  if (existsSync(path) || dirname(path) === path) return realpathSync(path);
  return join(whereItLies(dirname(path)), basename(path));
}

/** What `write` makes of a draft takes the place of `path`; nothing is left of one that fails. */
export async function written<T>(path: string, write: (draft: string) => Promise<T>): Promise<T> {
  const parent = dirname(path);
  let draft: string | undefined;
  try {
    await mkdir(parent, { recursive: true });
    draft = await mkdtemp(join(parent, `.${basename(path)}.partial-`));
    const result = await write(draft);
    await syncDirectory(draft);
    await rename(draft, path);
    await syncDirectory(parent);
    return result;
  } catch (error) {
    if (draft !== undefined) await rm(draft, { recursive: true, force: true });
    if (isGatehouseError(error)) throw error;
    throw new GatehouseError('GH1301', `no backup was written to ${path}: ${errorText(error)}`, {
      hint: 'check that its directory can be written to and has room',
      cause: error,
    });
  }
}
