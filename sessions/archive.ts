/** What earlier beginnings of a session left, in a file of its own. */
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { SessionHeader, SessionMessage } from '../src/core/session.ts';
import { appendSynced, DIRECTORY_MODE, readIfPresent, sizeOf } from './disk.ts';
import { idsInArchive } from './read-ends.ts';
import { formatHeader, formatMessages, linesOfArchive } from './session-file.ts';

/** As much as a session holds before it is rotated: older lines are of no use to a run that goes on. */
const MOST_BYTES = 10 * 1024 * 1024;

/** See `SessionStore.archived`. `stem`: path of the session's files without their endings. */
export async function readArchive(stem: string): Promise<readonly SessionMessage[]> {
  const path = pathOf(stem);
  const bytes = sizeOf(path) ?? 0;
  if (bytes <= MOST_BYTES) return linesOfArchive(await readIfPresent(path));
  await using file = await open(path, 'r');
  const tail = Buffer.alloc(MOST_BYTES);
  const { bytesRead } = await file.read(tail, 0, MOST_BYTES, bytes - MOST_BYTES);
  // The first line is cut, and no message.
  return linesOfArchive(tail.subarray(tail.indexOf('\n') + 1, bytesRead));
}

/** See `SessionStore.archive`. The header begins a new file, whose name may not tell the whole key. */
export async function appendToArchive(stem: string, lines: readonly SessionMessage[], header: SessionHeader): Promise<void> {
  const path = pathOf(stem);
  const held = await idsInArchive(path, lines);
  const data = formatMessages(lines.filter(({ id }) => !held.has(id)));
  if (data === '') return;
  await mkdir(dirname(path), { recursive: true, mode: DIRECTORY_MODE });
  const isNew = (sizeOf(path) ?? 0) === 0;
  await appendSynced(path, Buffer.from(isNew ? formatHeader(header) + data : data, 'utf8'));
}

function pathOf(stem: string): string {
  return `${stem}.archive.jsonl`;
}
