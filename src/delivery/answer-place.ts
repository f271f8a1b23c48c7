// events of the turn -> what the chat sees of its answer meanwhile -> which message the answer becomes

import { isAwaited } from '../core/awaited.ts';
import type { StatusSettings } from '../core/chats.ts';
import { errorText, isGatehouseError } from '../core/errors.ts';
import type { Emit, RunEvent } from '../core/events.ts';
import { messageKey, partKey } from '../core/ids.ts';
import type { AnswerTarget, InboundMessage } from '../core/message.ts';
import type { NewPart, Outbox, StoredPart } from '../core/outbox.ts';
import type { Clock } from '../core/ports.ts';
import { channelOf, type RunRow, type TurnResult, targetOf } from '../core/run.ts';
import type { Draft } from './draft.ts';
import type { Shows } from './draft-context.ts';
import type { WorkingSign } from './working-sign.ts';

/** Below the text of an answer that was stopped. */
export const STOPPED_MARK = '\n\n🛑 Stopped here.';
/** Below the text of an answer that a newer message of its person ended. */
export const INTERRUPTED_MARK = '\n\n⏭️ Interrupted here by a newer message.';
/** Corrections of one message that are followed to the answer that stands. */
const MAX_CORRECTIONS = 100;

/** How a chat is while a run of it works. */
export interface ChatView {
  /** Whether what the run says is seen; false where its topic is not the active one of its chat. */
  readonly isSeen: boolean;
  /** See `Shows`. */
  readonly line?: StatusSettings;
}

export interface AnswerPlaceOptions {
  readonly journal: Pick<Outbox, 'enqueue' | 'part'>;
  /** Shows the answer while it is written; undefined where that is not possible. */
  readonly draft: (target: AnswerTarget, shows: Shows) => Draft | undefined;
  /** What is shown of answers of this channel before they are complete. */
  readonly shows: (channel: string) => Shows;
  /** Whether messages of ours can be changed on this channel. */
  readonly edits: (channel: string) => boolean;
  /** Shows under the message that there is work on it. */
  readonly sign: WorkingSign | undefined;
  /** The lane has a new part. */
  readonly poke: (lane: string) => void;
  readonly view: (row: RunRow) => Promise<ChatView>;
  /** Nothing more of it is shown. */
  readonly ended: (place: AnswerPlace) => void;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** The answer to a message that is corrected now. */
interface Standing {
  /** Key of its first part. */
  readonly first: string;
  /** Keys of all its parts; undefined when one is a file, or will never be known to have arrived. */
  readonly editable?: readonly string[];
}

/**
 * Where one turn's answer is shown: in its draft, in place of the answer that a correction makes void, or in
 * messages of its own. One per attempt at a turn.
 */
export class AnswerPlace {
  readonly #row: RunRow;
  readonly #options: AnswerPlaceOptions;
  #draft: Draft | undefined;
  #standing: Standing | undefined;
  #isOver = false;

  constructor(row: RunRow, options: AnswerPlaceOptions) {
    this.#row = row;
    this.#options = options;
  }

  /** Before anything of the run is done. Rejects when the journal cannot be read. */
  async open(): Promise<void> {
    const { message, generation } = this.#row;
    const target = targetOf(this.#row);
    // The answer of a job is shown when it is whole: it may turn out to be nothing.
    if (!target || !isAwaited(this.#row) || !this.#options.edits(target.channel)) return;
    if (message?.kind === 'edit') this.#standing = await findStanding(message, this.#options.journal);
    // The old answer stays as it is until the new one is whole: people have read it already.
    if (this.#standing?.editable) return;
    // What it showed before it waited has its last text, and stands far up in the chat by now.
    if (this.#row.historyTo !== undefined) return;
    const isResumed = generation > 1;
    // What an earlier attempt showed gets its last text, also where nothing is shown any more.
    const shows = this.#options.shows(target.channel);
    if (!isResumed && !shows.words && !shows.status) return;
    const { isSeen, line } = await this.#options.view(this.#row);
    if (!isResumed && !isSeen) return;
    this.#draft = this.#options.draft(target, { ...shows, ...(line ? { line } : {}) });
    await this.#draft?.open({ isResumed });
    if (!isSeen) this.hide();
  }

  get row(): RunRow {
    return this.#row;
  }

  /** The chat is in another topic now: nothing more is shown of the answer before it is whole. */
  hide(): void {
    this.#draft?.end();
  }

  /** Takes every event of the run. */
  observe(event: RunEvent): void {
    this.#options.sign?.observe(event);
    this.#draft?.observe(event);
  }

  /** Nothing more of this attempt is shown, which came to `result`, or to none. */
  end(result?: TurnResult): void {
    this.#draft?.end();
    if (!this.#isOver) this.#options.sign?.end(result);
    this.#isOver = true;
    this.#options.ended(this);
  }

  /** The result with parts that know which messages they become. Rejects when the journal cannot be read. */
  async of(result: TurnResult): Promise<TurnResult> {
    this.end(result);
    const parts = this.#draft?.finishedBy(result.parts) ?? result.parts;
    const isAnswer = result.outcome === 'answered' || result.outcome.startsWith('limit:');
    const { message } = this.#row;
    if (!isAnswer || !this.#standing || !message) return { ...result, parts };
    // Again: the correction before this one may have been delivered meanwhile.
    const standing = (await findStanding(message, this.#options.journal)) ?? this.#standing;
    return { ...result, parts: instead(this.#draft ? { first: standing.first } : standing, parts) };
  }

  /**
   * A person said stop, or something newer: what stands in the chat is half an answer, and must not look like
   * a whole one. Never rejects.
   */
  async abandon(mark = STOPPED_MARK): Promise<void> {
    const { journal, poke, clock, emit } = this.#options;
    const { key: messageId, session } = this.#row;
    const parts = this.#draft?.abandoned(mark) ?? [];
    if (parts.length === 0) return;
    try {
      await journal.enqueue(parts);
      for (const { lane } of parts) poke(lane);
    } catch (error) {
      const code = isGatehouseError(error) ? error.code : 'GH2003';
      const detail = `no mark on a stopped answer: ${errorText(error)}`;
      emit({ type: 'failed', at: clock.now(), messageId, session, channel: channelOf(this.#row), code, detail });
    }
  }
}

/**
 * Undefined when the corrected message has no answer, or none that is remembered. A correction of a
 * correction finds the newest answer.
 */
async function findStanding(message: InboundMessage, journal: Pick<Outbox, 'part'>): Promise<Standing | undefined> {
  const { channel, account, targetId } = message;
  if (targetId === undefined) return undefined;
  const first = await newest(await journal.part(partKey(messageKey({ channel, account, platformId: targetId }), 0)), journal);
  // An id names a message of one chat only, but not every platform promises that (A37).
  if (!first || first.part.chatId !== message.chatId || first.part.threadId !== message.threadId) return undefined;
  // This very turn, resumed or replayed.
  if (first.part.messageId === message.id) return undefined;
  const { key, count } = first.part;
  const parts = await Promise.all(Array.from({ length: count }, (_, ordinal) => partAt(ordinal, key, journal)));
  const keys = parts.filter((part) => isEditable(part)).map((part) => part.part.key);
  return { first: key, ...(keys.length === count ? { editable: keys } : {}) };
}

/** A replayed answer has a suffix behind those places that the notice before it had taken. */
async function partAt(ordinal: number, first: string, journal: Pick<Outbox, 'part'>): Promise<StoredPart | undefined> {
  const [, messageId = '', suffix = ''] = /^(.*)#0(~.*)?$/s.exec(first) ?? [];
  const plain = partKey(messageId, ordinal);
  return (suffix === '' ? undefined : await journal.part(`${plain}${suffix}`)) ?? (await journal.part(plain));
}

/**
 * The last in the row of answers to one message that is in the chat, may be, or will be. One that never
 * arrived is passed over, but not what was to take its place.
 */
async function newest(original: StoredPart | undefined, journal: Pick<Outbox, 'part'>): Promise<StoredPart | undefined> {
  let standing = original;
  let next = original;
  for (let n = 0; n < MAX_CORRECTIONS && next?.replacedBy !== undefined; n += 1) {
    next = await journal.part(next.replacedBy);
    if (next && next.state !== 'DEAD' && next.state !== 'EXPIRED') standing = next;
  }
  return standing;
}

/** What is still on its way is ahead of the new answer in the same lane, so its fate is known in time. */
function isEditable(part: StoredPart | undefined): part is StoredPart {
  return part !== undefined && ['PENDING', 'SENDING', 'SENT'].includes(part.state) && part.part.file === undefined;
}

/** A shorter answer would leave the end of the old one standing, so it is a message of its own. */
function instead({ first, editable = [] }: Standing, parts: readonly NewPart[]): readonly NewPart[] {
  const inPlace = parts.length >= editable.length && parts.slice(0, editable.length).every(({ part }) => !part.file);
  return parts.map(({ part, ...row }, ordinal) => {
    const edits = inPlace ? editable[ordinal] : undefined;
    return {
      ...row,
      part: { ...part, ...(edits === undefined ? {} : { edits }), ...(ordinal === 0 ? { supersedes: first } : {}) },
    };
  });
}
