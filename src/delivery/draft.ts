// model.text -> (1 s) -> outbox row `#draft` -> lane sends it -> edits while the text grows ->
//   the answer's first part edits it last
import type { Channel, ChannelLimits } from '../core/channel.ts';
import type { RunEvent } from '../core/events.ts';
import { abandonedKey, draftKey, laneKey, partKey } from '../core/ids.ts';
import type { AnswerTarget, OutboundPart } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import { asFarAsItCame, UNFINISHED_MARK, unfinished } from '../lib/draft-text.ts';
import { startTimer } from '../lib/timer.ts';
import { sendOnce } from './attempt.ts';
import type { DraftContext, Shows } from './draft-context.ts';
import { measure } from './measure.ts';
import { sizeOf, splitText } from './split.ts';
import { StatusLine } from './status-line.ts';

/** An answer that is complete sooner stays one message without a draft. From the first text on. */
const FIRST_MS = 1_000;
/** Spec D2. */
const INTERVAL_MS = 1_000;
/**
 * Where a message can be changed so many times only, each edit comes so much later than the one before: nine
 * take a minute.
 */
const SLOWER = 1.5;
/** The answer waits for an edit under way, so it gets less time than a send. */
const EDIT_TIMEOUT_MS = 10_000;
/** Half an answer is of no use later than this. */
const EXPIRES_MS = 120_000;
/** Of the text that ends a draft: as long as a platform may ask for silence. */
const LAST_TEXT_EXPIRES_MS = 3_600_000;
/** A platform that refuses without saying for how long. */
const BUSY_MS = 1_000;

/** One text of a draft. */
interface View {
  readonly text: string;
  /** The words of the answer in it. */
  readonly words: string;
  readonly isStatus: boolean;
}

/**
 * What a chat sees of one answer while it is being written. Reads the events of the turn, and never holds it
 * up: showing goes on beside it and its failures reach no caller. The message is an outbox row before it is a
 * wire call, so a turn that resumes after a crash finds it; from then on only its text changes, at most once
 * a second and only when the chat's budget is not needed.
 */
export class Draft {
  readonly key: string;
  readonly #target: AnswerTarget;
  /** As they were when its message was sent: whether edits are counted may be known only then. */
  #limits: ChannelLimits;
  readonly #context: DraftContext;
  readonly #shows: Shows;
  readonly #status: StatusLine | undefined;
  #intervalMs: number;
  /**
   * Edits that may still be made. Half of what the platform allows: the answer needs one, and a turn that is
   * resumed draws on it again.
   */
  #editsLeft = 0;
  /** Of those, what may go into the status: the words of the answer need the others. */
  #statusEditsLeft = 0;
  #isOver = false;
  #stopWaiting: (() => void) | undefined;
  #text = '';
  /** When its first words came, monotonic ms. */
  #firstTextAt = 0;
  /** The next text begins the answer of another model call. */
  #restarts = false;
  /** As it was last given to the platform. */
  #shown = '';
  /** The words of the answer in it. */
  #shownWords = '';
  #plain = false;
  #platformId: string | undefined;
  /** Epoch ms. */
  #createdAt = 0;
  /** There may be a message of this draft. */
  #exists = false;
  /** It can no longer be shown. */
  #lost = false;
  #settled: (() => void) | undefined;
  #running: Promise<void> | undefined;

  constructor(target: AnswerTarget, limits: ChannelLimits, shows: Shows, context: DraftContext) {
    this.key = draftKey(target.id);
    this.#target = target;
    this.#limits = limits;
    this.#context = context;
    this.#shows = shows;
    this.#status = shows.status ? new StatusLine(context.clock, shows.line) : undefined;
    const perGroup = target.isGroup ? limits.rate?.perGroup : undefined;
    this.#intervalMs = Math.max(INTERVAL_MS, perGroup ? 1_000 / perGroup.perSecond : 0);
    this.#countEdits();
  }

  #countEdits({ edits = Number.POSITIVE_INFINITY } = this.#limits): void {
    this.#editsLeft = Math.floor(edits / 2) - 1;
    this.#statusEditsLeft = Math.floor(this.#editsLeft / 3);
  }

  /**
   * Looks for what an earlier attempt at the same turn left. A message that was answered before (a dead
   * letter that is replayed) gets no draft: the old one shows that answer. Call it before the first event.
   * Rejects like any read of the journal.
   */
  async open(options: { readonly isResumed: boolean }): Promise<void> {
    if (!options.isResumed) return;
    const { journal } = this.#context;
    const stored = await journal.part(this.key);
    if (await journal.part(partKey(this.#target.id, 0))) {
      this.#lost = true;
      return;
    }
    if (!stored) return;
    this.#exists = true;
    this.#shown = stored.part.text;
    this.#shownWords = stored.part.isStatus ? '' : asFarAsItCame(stored.part.text);
    this.#createdAt = stored.createdAt;
    if (stored.state !== 'PENDING' && stored.state !== 'SENDING') this.settled(stored.platformId);
  }

  /** Takes every event of the turn; only text, and what makes text void, matters. */
  observe(event: RunEvent): void {
    if (this.#isOver) return;
    this.#status?.observe(event);
    if (event.type === 'model.started' || event.type === 'model.restart') {
      this.#restarts = true;
      if (this.#status) this.#begin();
    }
    if (event.type !== 'model.text' || !this.#shows.words) return;
    if (this.#text === '') this.#firstTextAt = this.#context.clock.monotonic();
    if (this.#restarts) this.#text = '';
    this.#restarts = false;
    // Only the first chunk is ever shown. A code point is two units at most; a cut looks ahead by one chunk.
    if (this.#text.length < 4 * this.#limits.text) this.#text += event.text;
    if (this.#text.trim() !== '') this.#begin();
  }

  /** Nothing more is shown. The row of the last text waits for the edit under way; the caller does not. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stopWaiting?.();
    this.#settled?.();
    this.#context.ended(this);
  }

  /** Resolves when nothing of it runs any more; soon after `end`, but for an edit under way. */
  async done(): Promise<void> {
    await this.#running;
  }

  /** Delivery came to an end with the row: SENT when it has an id. */
  settled(platformId: string | undefined): void {
    this.#platformId = platformId;
    if (platformId === undefined) {
      this.#lost = true;
      this.#exists = false;
    }
    this.#settled?.();
  }

  /**
   * The parts of the turn's outcome, the first of which gives the draft its last text. Unchanged when there
   * is no draft.
   */
  finishedBy(parts: readonly NewPart[]): readonly NewPart[] {
    const [first, ...rest] = parts;
    if (!this.#exists) return parts;
    if (first && !first.part.file) return [{ ...first, part: { ...first.part, edits: this.key } }, ...rest];
    return [...this.abandoned(''), ...parts];
  }

  /**
   * What gives the draft its last text when no answer does: as far as it came, with a mark. One that would
   * have no text, because only a status was shown, is taken away. Empty when there is no draft.
   */
  abandoned(mark: string): readonly NewPart[] {
    if (!this.#exists) return [];
    const text = this.#chunk(mark) ?? this.#shownWords;
    return [this.#row(abandonedKey(this.#target.id), `${text}${mark}`.trimStart(), { edits: this.key, editOnly: true })];
  }

  #begin(): void {
    if (!this.#lost) this.#stopWaiting ??= startTimer(this.#context.clock, FIRST_MS, () => this.#waitForTurn());
  }

  #waitForTurn(): void {
    if (this.#lost || this.#isOver) return;
    const { clock, pace } = this.#context;
    this.#stopWaiting = startTimer(clock, pace.take(this.#target, this.#intervalMs), () => {
      this.#running = this.#show();
    });
  }

  async #show(): Promise<void> {
    try {
      await this.#beat();
    } catch {
      this.#lost = true; // a fault of showing costs the draft and never the answer
    }
    this.#waitForTurn();
  }

  async #beat(): Promise<void> {
    const { channel: find, budget, clock } = this.#context;
    const channel = find(this.#target);
    if (!channel?.edit || !budget.plentiful(this.#target, channel.limits.rate)) return;
    const view = this.#view();
    if (view === undefined || view.text === this.#shown) return;
    if (this.#platformId === undefined) return await this.#post(view);
    const left = view.isStatus ? Math.min(this.#statusEditsLeft, this.#editsLeft) : this.#editsLeft;
    const isOld = clock.now() - this.#createdAt > (this.#limits.editMs ?? Number.POSITIVE_INFINITY);
    if (left <= 0 || isOld || !budget.takeEdit(this.#target, channel.limits.rate)) return;
    if (view.isStatus) this.#statusEditsLeft -= 1;
    await this.#edit(channel, this.#platformId, view);
  }

  /** What is to be seen now; undefined = nothing else than before. */
  #view(): View | undefined {
    const status = this.#status?.text();
    if (status !== undefined) {
      const words = this.#chunk(`\n\n${status}`) ?? '';
      return { text: words === '' ? status : `${words}\n\n${status}`, words, isStatus: true };
    }
    // An answer that is complete within a second of its first words needs no draft.
    const isNew = !this.#exists && this.#context.clock.monotonic() - this.#firstTextAt < FIRST_MS;
    const words = this.#restarts || isNew ? undefined : this.#chunk(UNFINISHED_MARK);
    return words === undefined ? undefined : { text: unfinished(words), words, isStatus: false };
  }

  /** Resolves when it is known what became of it. The same row again, after a crash, changes nothing. */
  async #post({ text, words }: View): Promise<void> {
    const { journal, poke, pace, channel } = this.#context;
    const { promise: settled, resolve } = Promise.withResolvers<void>();
    this.#settled = resolve;
    if (!this.#exists) [this.#shown, this.#shownWords, this.#createdAt] = [text, words, this.#context.clock.now()];
    this.#exists = true;
    const row = this.#row(this.key, text, words === '' ? { isStatus: true } : {});
    try {
      await journal.enqueue([row]);
    } catch {
      this.#lost = true; // the answer itself will say that the journal cannot be written
      return;
    }
    poke(row.lane);
    await settled;
    this.#limits = channel(this.#target)?.limits ?? this.#limits;
    this.#countEdits();
    pace.delay(this.#target, this.#intervalMs); // it may have waited in its lane
  }

  async #edit(channel: Channel, platformId: string, { text, words }: View): Promise<void> {
    const { budget, clock, kill, editing } = this.#context;
    budget.reserve(this.#target, channel.limits.rate);
    this.#editsLeft -= 1;
    if (this.#limits.edits !== undefined) this.#intervalMs *= SLOWER;
    const { part } = this.#row(this.key, text);
    const options = { plain: this.#plain, timeoutMs: EDIT_TIMEOUT_MS, clock, signal: kill, target: platformId };
    const call = sendOnce(channel, part, options);
    editing(this.key, call);
    const result = await call;
    if (result.kind === 'sent' || result.kind === 'unknown') [this.#shown, this.#shownWords] = [text, words];
    if (result.kind === 'retry' && result.scope !== 'part') {
      budget.close(result.scope, this.#target, result.afterMs ?? BUSY_MS);
    }
    if (result.kind !== 'refused') return;
    // Deleted by a person, or too old: the answer will be a message of its own.
    if (result.reason !== 'markup' || this.#plain) this.#lost = true;
    this.#plain = true;
  }

  /**
   * The text so far, cut as a part of the answer would be, with room for `mark`. Undefined when there is
   * nothing to see.
   */
  #chunk(mark: string): string | undefined {
    const size = sizeOf(this.#limits);
    const room = Math.max(4, size.max - measure(mark, size.unit));
    return splitText(this.#text, { ...size, max: room, maxChunks: 1 })[0];
  }

  #row(key: string, text: string, more: Pick<OutboundPart, 'edits' | 'editOnly' | 'isStatus'> = {}): NewPart {
    const { id, channel, account, chatId, threadId, isGroup, replyContext } = this.#target;
    const part: OutboundPart = {
      key,
      messageId: id,
      ...{ channel, account, chatId },
      ...(threadId === undefined ? {} : { threadId }),
      ...(isGroup ? { isGroup } : {}),
      ...{ ordinal: 0, count: 1, text },
      ...(replyContext === undefined ? {} : { replyContext }),
      ...more,
    };
    const expiresInMs = part.edits === undefined ? EXPIRES_MS : LAST_TEXT_EXPIRES_MS;
    return { part, lane: laneKey(part), expiresAt: this.#context.clock.now() + expiresInMs };
  }
}
