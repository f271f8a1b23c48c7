import type { SessionMessage } from '../src/core/session.ts';
import { linesBeforeHeld, newLines } from './append-new.ts';
import { cutKeepingLast } from './fork.ts';
import { idsInArchive } from './read-ends.ts';
import { formatMessages } from './session-file.ts';

/**
 * The newest messages, which stay when a file is rotated: at most `keep`, and no more than fill half of
 * `maxBytes`, so that the next rotation is many lines away even when they are large.
 */
export function keptOnRotate(messages: readonly SessionMessage[], keep: number, maxBytes: number): readonly SessionMessage[] {
  let bytes = 0;
  const fits = messages.findLastIndex((message) => {
    bytes += Buffer.byteLength(formatMessages([message]), 'utf8');
    return bytes > maxBytes / 2;
  });
  return messages.slice(cutKeepingLast(messages, Math.min(keep, messages.length - fits - 1)));
}

/**
 * Those of `lines` that the session does not hold and that no rotation took out of it. `held`: the ids in the
 * session, in its order. `archive`: the path of its archive, which is seldom read.
 */
export async function linesToAppend(
  held: ReadonlySet<string>,
  lines: readonly SessionMessage[],
  archive: string,
): Promise<readonly SessionMessage[]> {
  const rotatedOut = await idsInArchive(archive, linesBeforeHeld(held, lines));
  return newLines(held, lines).filter(({ id }) => !rotatedOut.has(id));
}
