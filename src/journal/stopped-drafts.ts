import { abandonedKey, draftKey } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import { asFarAsItCame } from '../lib/draft-text.ts';
import { addParts, findPart } from './outbox.ts';
import type { Store } from './store.ts';

/** As long as a platform may ask for silence. */
const EXPIRES_MS = 3_600_000;

/**
 * Half an answer that stands in a chat, and whose turn is not coming any more: `mark` is set below it. For
 * messages that no turn runs on, which would give its own last text. Nothing where there is no draft, or it
 * has its last text already.
 */
export function markDrafts(store: Store, messages: readonly Pick<InboundMessage, 'id'>[], mark: string): void {
  for (const { id } of messages) {
    const draft = findPart(store, draftKey(id));
    if (!draft || !['PENDING', 'SENDING', 'SENT'].includes(draft.state)) continue;
    const text = `${asFarAsItCame(draft.part.text)}${mark}`;
    const part = { ...draft.part, key: abandonedKey(id), text, edits: draftKey(id), editOnly: true };
    addParts(store, [{ part, lane: draft.lane, expiresAt: store.clock.now() + EXPIRES_MS }]);
  }
}
