import type { NewPart, OutboxRow } from '../core/journal.ts';
import type { OutboundPart } from '../core/message.ts';

const NOTICE = '#undelivered';
/** Long enough for a platform that just refused a part to take a line. */
const EXPIRES_MS = 3_600_000;

/** Parts of one answer share this. */
export function answerOf(part: OutboundPart): string {
  return part.messageId ?? part.key.replace(/#[^#]*$/, '');
}

/** The line that tells the chat a part of its answer is DEAD; the same key for every part of one answer. Undefined for such a line itself. */
export function undelivered(row: OutboxRow, now: number): NewPart | undefined {
  const { file: _file, ...part } = row.part;
  if (part.key.endsWith(NOTICE)) return undefined;
  const what = row.part.file ? `The file ${row.part.file.name}` : part.count > 1 ? 'A part of this answer' : 'An answer';
  const text = `${what} could not be delivered (GH1601). Ask again, or ask the operator.`;
  return {
    part: { ...part, key: `${answerOf(part)}${NOTICE}`, ordinal: 0, count: 1, text },
    lane: row.lane,
    expiresAt: Math.max(row.expiresAt, now + EXPIRES_MS),
  };
}
