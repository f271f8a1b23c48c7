import type { Channel } from '../core/channel.ts';
import { draftKey } from '../core/ids.ts';
import type { AnswerTarget, OutboundPart } from '../core/message.ts';
import type { NewPart, Settlement } from '../core/outbox.ts';
import { Draft } from './draft.ts';
import type { DraftContext, EndedDraft, Shows } from './draft-context.ts';

/**
 * A draft, or what finishes one: half an answer is nothing to keep as a dead letter or to tell the chat
 * about.
 */
export function isProvisional(part: OutboundPart): boolean {
  return part.editOnly === true || (part.messageId !== undefined && part.key === draftKey(part.messageId));
}

/**
 * A notice of ours. What an earlier process showed of the answer may still stand; where it does not, the
 * notice is sent.
 */
export function inPlaceOfDraft(id: string, [first, ...rest]: readonly NewPart[]): readonly NewPart[] {
  return first ? [{ ...first, part: { ...first.part, edits: draftKey(id) } }, ...rest] : [];
}

/** The drafts of the turns that run now, and the edits under way on their messages. */
export class Drafts {
  readonly #context: Omit<DraftContext, 'editing' | 'ended'>;
  readonly #live = new Map<string, Draft>();
  readonly #ending = new Set<Promise<void>>();
  readonly #edits = new Map<string, Promise<unknown>>();

  constructor(context: Omit<DraftContext, 'editing' | 'ended'>) {
    this.#context = context;
  }

  /** One per turn; the caller ends it. */
  begin(target: AnswerTarget, channel: Channel, shows: Shows): Draft {
    const draft = new Draft(target, channel.limits, shows, {
      ...this.#context,
      editing: (key, call) => this.#own(key, call),
      ended: (ended) => this.#ended(ended),
    });
    this.#live.set(draft.key, draft);
    return draft;
  }

  /** A draft whose turn is over shows only half of what is behind it in the lane. */
  isLive(key: string): boolean {
    return this.#live.has(key);
  }

  settled(key: string, settlement: Settlement): void {
    if (settlement.kind === 'retry') return;
    this.#live.get(key)?.settled(settlement.kind === 'sent' ? settlement.platformId : undefined);
  }

  /** Resolves when no edit of the draft is under way. Edits have a time limit of their own. */
  async quiet(key: string): Promise<void> {
    await this.#edits.get(key);
  }

  /** Ends all of them; resolves when nothing runs any more. */
  async stop(): Promise<void> {
    for (const draft of this.#live.values()) draft.end();
    await Promise.all(this.#ending);
  }

  #ended(draft: EndedDraft): void {
    if (this.#live.get(draft.key) === draft) this.#live.delete(draft.key);
    const ending = draft.done().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  #own(key: string, call: Promise<unknown>): void {
    const owned = call.finally(() => {
      if (this.#edits.get(key) === owned) this.#edits.delete(key);
    });
    this.#edits.set(key, owned);
  }
}
