import { readIfPresent, removeFile } from './disk.ts';
import { legacyPath } from './file-name.ts';
import { parseFile } from './session-file.ts';

interface Removed {
  readonly key: string;
  /** Path of the session's files without their endings. */
  readonly stem: string;
  /** Epoch ms. */
  readonly now: number;
}

/** Removes the files of a session, those of an earlier layout too. */
export async function removeFiles(dir: string, { key, stem, now }: Removed): Promise<void> {
  const isForeign = async (path: string): Promise<boolean> => {
    const bytes = await readIfPresent(path);
    return bytes !== undefined && parseFile(bytes, key, now).kind === 'foreign';
  };
  // The old place first: were it last, a kill in between would bring the session back.
  const old = legacyPath(dir, key);
  if (!(await isForeign(old))) await removeFile(old);
  // A37: by a collision of names this may be another session's file, and its archive with it.
  if (await isForeign(`${stem}.jsonl`)) return;
  for (const ending of ['.archive.jsonl', '.quarantine.jsonl', '.jsonl']) await removeFile(stem + ending);
}
