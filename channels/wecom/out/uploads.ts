import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileAtomic } from '../../../src/lib/atomic-file.ts';

/** The platform keeps an upload for three days. */
const KEEP_MS = 2.5 * 24 * 3_600_000;

/**
 * The media ids of files whose message is not settled yet. Another upload of the same file has another id,
 * and the duplicate check would let the message through a second time: after a crash the part must go out
 * with the id it had.
 */
export class Uploads {
  readonly #dir: string;
  readonly #now: () => number;

  constructor(dir: string, now: () => number) {
    this.#dir = join(dir, 'uploads');
    this.#now = now;
  }

  /** Undefined when there is none, or none the platform still has. */
  async get(key: string): Promise<string | undefined> {
    const path = this.#path(key);
    try {
      const { mtimeMs } = await stat(path);
      return this.#now() - mtimeMs > KEEP_MS ? undefined : await readFile(path, 'utf8');
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** On disk when it resolves. */
  async put(key: string, mediaId: string): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    await writeFileAtomic(this.#path(key), mediaId, { mode: 0o600 });
  }

  async forget(key: string): Promise<void> {
    await rm(this.#path(key), { force: true });
  }

  /** Removes what nobody will ask for any more. */
  async sweep(): Promise<void> {
    const names = await readdir(this.#dir).catch((error: unknown) => {
      if (isMissing(error)) return [];
      throw error;
    });
    for (const name of names) {
      const path = join(this.#dir, name);
      if (this.#now() - (await stat(path)).mtimeMs > KEEP_MS) await rm(path, { force: true });
    }
  }

  #path(key: string): string {
    return join(this.#dir, createHash('sha256').update(key).digest('hex'));
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
