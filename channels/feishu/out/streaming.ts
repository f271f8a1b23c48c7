/**
 * Answers that grow, as streaming cards
 * (https://open.feishu.cn/document/cardkit-v1/streaming-updates-openapi-overview). A message of text takes 20
 * edits, a card of JSON 1.0 five a second; a card entity takes all that an answer needs, and shows new words
 * one by one.
 */
import { draftKey, shortHash } from '../../../src/core/ids.ts';
import type { OutboundPart } from '../../../src/core/message.ts';
import type { Clock, Logger } from '../../../src/core/ports.ts';
import { asFarAsItCame } from '../../../src/lib/draft-text.ts';
import { CallError } from '../../kit/call-error.ts';
import { RecentMap, RecentSet } from '../../kit/recent.ts';
import type { CardStep, FeishuClient } from '../wire/client.ts';
import {
  isMissingScope,
  isOutOfOrder,
  isPassing,
  isRateLimit,
  isRefusedLogin,
  isStaleToken,
  isStreamingOver,
} from '../wire/failure.ts';
import { type StreamingCardOptions, TEXT_ELEMENT, toCardText, toStreamingCard } from './streaming-card.ts';

export interface StreamingOptions {
  readonly client: Pick<FeishuClient, 'createCard' | 'cardOf' | 'writeCard' | 'setStreaming' | 'replaceCard'>;
  /** The setting `streaming_cards`. */
  readonly isOn: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Shape = Omit<StreamingCardOptions, 'streaming' | 'choices'>;

const REMEMBERED = 1_000;
/** A scope that was missing is asked for again as late as this. */
const ASK_AGAIN_MS = 3_600_000;
/** Numbers of calls are seconds since 2026, so that they rise over restarts; they end in 2094. */
const EPOCH_MS = Date.UTC(2026, 0, 1);
/** Added in turn to a number that came too low: the clock was set back since the last call. Seconds. */
const AHEAD = [60, 3_600, 604_800];

export class StreamingCards {
  readonly #options: StreamingOptions;
  /**
   * Message -> the card it shows, as the platform says: a send that is repeated makes a second card, and the
   * message goes on showing the first.
   */
  readonly #cards = new RecentMap<string>(REMEMBERED);
  /** Messages of this process that show a card entity. */
  readonly #entities = new RecentSet(REMEMBERED);
  /** Messages that show no card entity. */
  readonly #others = new RecentSet(REMEMBERED);
  /** Card -> the number of its last call. */
  readonly #sequences = new RecentMap<number>(REMEMBERED);
  /** Cards that left streaming mode by a call of ours. */
  readonly #ended = new RecentSet(REMEMBERED);
  #usable = false;
  #offUntil = 0;

  constructor(options: StreamingOptions) {
    this.#options = options;
  }

  /** The platform makes cards for this app: an answer that grows is not limited in its edits. */
  get usable(): boolean {
    return this.#usable;
  }

  /** A message with a card was sent: with a card entity, or with the JSON of a card. */
  sent(messageId: string, isEntity: boolean): void {
    (isEntity ? this.#entities : this.#others).add(messageId);
  }

  /**
   * Makes the card of an answer that begins to grow; it is not seen before a message shows it. Undefined for
   * any other part, and where the app may not make cards. Rejects with a `CallError`, or the signal's reason.
   */
  async begin(part: OutboundPart, shape: Shape, signal: AbortSignal): Promise<string | undefined> {
    const { client, isOn, clock } = this.#options;
    if (!isOn || part.file || !isDraft(part) || clock.now() < this.#offUntil) return undefined;
    try {
      const card = toStreamingCard(asFarAsItCame(part.text), { ...shape, streaming: true });
      const id = await client.createCard(card, signal);
      this.#usable = true;
      return id;
    } catch (error) {
      if (!this.#isRefused(error)) throw error;
      return undefined;
    }
  }

  /**
   * Gives the card of a message this text; the last one ends its streaming mode. False where the message
   * shows no card entity. Rejects with a `CallError`, or the signal's reason.
   */
  async edit(messageId: string, part: OutboundPart, shape: Shape, signal: AbortSignal): Promise<boolean> {
    if (!this.#options.isOn || this.#others.has(messageId)) return false;
    const cardId = await this.#cardOf(messageId, signal);
    if (cardId === undefined) return false;
    if (isDraft(part)) await this.#grow(cardId, part, shape, signal);
    else await this.#finish(cardId, part, shape, signal);
    return true;
  }

  async #grow(cardId: string, part: OutboundPart, shape: Shape, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const text = asFarAsItCame(part.text);
    const content = toCardText(text, shape.plain);
    const write = () =>
      this.#step(cardId, part, (step) => client.writeCard(cardId, { element: TEXT_ELEMENT, content, ...step }, signal));
    try {
      await write();
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (isStreamingOver(error.failure)) {
        await this.#step(cardId, part, (step) => client.setStreaming(cardId, true, step, signal));
        await write();
        return;
      }
      // The card has another shape: one that was plain, or that a person's press changed.
      await this.#replace(cardId, part, { ...shape, streaming: true, text }, signal);
    }
  }

  /**
   * Streaming mode ends first: while it is on, the list of chats shows a notice in place of the words, and no
   * press of a button is answered.
   */
  async #finish(cardId: string, part: OutboundPart, shape: Shape, signal: AbortSignal): Promise<void> {
    if (!this.#ended.has(cardId)) {
      await this.#step(cardId, part, (step) => this.#options.client.setStreaming(cardId, false, step, signal)).catch(
        (error: unknown) => {
          if (!isRefusal(error)) throw error; // the whole card, which follows, says the same
        },
      );
      this.#ended.add(cardId);
    }
    await this.#replace(cardId, part, { ...shape, streaming: false, text: part.text }, signal);
  }

  async #replace(
    cardId: string,
    part: OutboundPart,
    { text, ...shape }: Shape & { readonly text: string; readonly streaming: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const card = toStreamingCard(text, { ...shape, choices: part.choices });
    await this.#step(cardId, part, (step) => this.#options.client.replaceCard(cardId, card, step, signal));
  }

  async #cardOf(messageId: string, signal: AbortSignal): Promise<string | undefined> {
    const known = this.#cards.get(messageId);
    if (known !== undefined) return known;
    try {
      const id = await this.#options.client.cardOf(messageId, signal);
      this.#cards.set(messageId, id);
      return id;
    } catch (error) {
      if (this.#isRefused(error)) return undefined;
      if (!isRefusal(error)) throw error;
      if (this.#entities.has(messageId)) {
        this.#switchOff(error, 'the platform does not say which card a message shows; answers grow as ordinary messages');
        throw error;
      }
      this.#others.add(messageId);
      return undefined;
    }
  }

  async #step(cardId: string, part: OutboundPart, call: (step: CardStep) => Promise<void>): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      const now = Math.floor((this.#options.clock.now() - EPOCH_MS) / 1_000);
      const sequence = Math.max((this.#sequences.get(cardId) ?? 0) + 1, now) + (attempt === 0 ? 0 : (AHEAD[attempt - 1] ?? 0));
      this.#sequences.set(cardId, sequence);
      try {
        return await call({ sequence, uuid: shortHash(`${part.key}\n${cardId}\n${sequence}`, 40) });
      } catch (error) {
        if (!(error instanceof CallError) || !isOutOfOrder(error.failure) || attempt === AHEAD.length) throw error;
      }
    }
  }

  /** The app may not make cards: told once, and asked again later. */
  #isRefused(error: unknown): boolean {
    if (!(error instanceof CallError) || !isMissingScope(error.failure)) return false;
    const hint =
      'add the scope cardkit:card:write and release a version of the app, or set streaming_cards to false; until then answers grow as ordinary messages';
    this.#switchOff(error, hint);
    return true;
  }

  #switchOff({ message }: CallError, hint: string): void {
    const { clock, logger } = this.#options;
    if (this.#offUntil === 0) logger.warn('feishu.streaming-cards-off', { detail: message, hint });
    this.#usable = false;
    this.#offUntil = clock.now() + ASK_AGAIN_MS;
  }
}

function isDraft({ key, messageId }: OutboundPart): boolean {
  return messageId !== undefined && key === draftKey(messageId);
}

/** Whether the platform refused this very call for good: no limit, no login, no fault of its own. */
function isRefusal(error: unknown): error is CallError {
  if (!(error instanceof CallError) || error.failure.kind !== 'api' || (error.failure.status ?? 0) >= 500) return false;
  const { failure } = error;
  if (isRateLimit(failure) || isPassing(failure)) return false;
  return !isStaleToken(failure) && !isRefusedLogin(failure) && !isOutOfOrder(failure);
}
