/** What earlier beginnings of a session left, in a file of its own. */
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { SessionMessage } from '../src/core/session.ts';
import { appendSynced, DIRECTORY_MODE, readIfPresent } from './disk.ts';
import { idsInArchive } from './read-ends.ts';
import { formatMessages, linesOfArchive } from './session-file.ts';

/** See `SessionStore.archived`. */
export async function readArchive(path: string): Promise<readonly SessionMessage[]> {
  return linesOfArchive(await readIfPresent(path));
}

/** See `SessionStore.archive`. */
export async function appendToArchive(path: string, lines: readonly SessionMessage[]): Promise<void> {
  const held = await idsInArchive(path, lines);
  const data = formatMessages(lines.filter(({ id }) => !held.has(id)));
  if (data === '') return;
  await mkdir(dirname(path), { recursive: true, mode: DIRECTORY_MODE });
  await appendSynced(path, Buffer.from(data, 'utf8'));
}
