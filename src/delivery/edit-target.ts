import type { OutboundPart } from '../core/message.ts';
import type { LaneContext } from './lane-context.ts';

export interface EditTarget {
  /** As the platform names the message. */
  readonly platformId: string;
  /** When its row was written, epoch ms: it was sent no earlier. */
  readonly createdAt: number;
}

/**
 * The message that a part with `edits` changes; undefined = there is none, and the part
 * is sent as a message of its own. Looked up each time: a row that is behind it in the lane was settled
 * before.
 */
export async function editTarget(
  { edits, file }: OutboundPart,
  { drafts, journal }: Pick<LaneContext, 'drafts' | 'journal'>,
): Promise<EditTarget | undefined> {
  if (edits === undefined || file) return undefined;
  // An edit of the draft that is under way would otherwise overtake this one and stand as the last.
  await drafts.quiet(edits);
  const old = await journal.part(edits);
  if (old?.state !== 'SENT' || old.platformId === undefined) return undefined;
  return { platformId: old.platformId, createdAt: old.createdAt };
}
