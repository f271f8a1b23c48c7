/** Acknowledging commands and buttons, and what becomes of a command that gets no answer. */
import { errorText } from '../../../src/core/errors.ts';
import type { Clock, Logger } from '../../../src/core/ports.ts';
import type { JsonObject } from '../../kit/json.ts';
import { RecentMap, RecentSet } from '../../kit/recent.ts';
import { isFinal } from '../wire/failure.ts';
import { type Acknowledgement, DEFERRED_MESSAGE, INTERACTION_MS } from './interaction.ts';

export interface InteractionsOptions {
  readonly call: (method: 'POST' | 'DELETE', route: string, body?: JsonObject) => Promise<unknown>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * "You can use the `EPHEMERAL` message flag `1 << 6` (64) to send a message that only the user can see"; said
 * when the answer is deferred, because "an existing message's ephemeral state cannot be changed"
 * (https://docs.discord.com/developers/interactions/receiving-and-responding#create-followup-message).
 */
const EPHEMERAL = 64;
/** Commands under way at once; a flood of them must not fill the memory. */
const MAX_OPEN = 1_000;

export class Interactions {
  readonly #options: InteractionsOptions;
  /** Tokens of commands that show "is thinking". A restart forgets them; the answer still replaces it. */
  readonly #open = new Set<string>();
  /** The part that answers a command, by the command's token. */
  readonly #claimed = new RecentMap<string>(MAX_OPEN);
  readonly #dead = new RecentSet(MAX_OPEN);
  /** By token, until the platform has said something to the acknowledgement. */
  readonly #telling = new Map<string, Promise<void>>();
  readonly #running = new Set<Promise<void>>();

  constructor(options: InteractionsOptions) {
    this.#options = options;
  }

  /**
   * Acknowledges one once its message is `committed`: the platform gives three seconds from the press. Call
   * it before that, because the answer can be ready as soon as the message is committed. Never throws.
   */
  acknowledge(acknowledgement: Acknowledgement, committed: Promise<unknown>): void {
    const { token } = acknowledgement;
    const telling = this.#tell(acknowledgement, committed).finally(() => this.#telling.delete(token));
    this.#telling.set(token, telling);
    const running = telling.then(() => this.#tidy(acknowledgement)).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /**
   * Resolves when the platform has said something to the acknowledgement of a command: before that it knows
   * of no answer that could be replaced. At once for a command of an earlier process.
   */
  async acknowledged(token: string): Promise<void> {
    await this.#telling.get(token);
  }

  /** Whether this process has given the part to the platform as the answer to the command. */
  isClaimed(token: string, partKey: string): boolean {
    return this.#claimed.get(token) === partKey;
  }

  /**
   * Where an answer goes. Undefined once the platform said that it is over, or where another part went, which
   * this one would replace.
   */
  claim<T extends { readonly token: string }>(answer: T | undefined, partKey: string): T | undefined {
    if (answer === undefined || this.#dead.has(answer.token)) return undefined;
    if ((this.#claimed.get(answer.token) ?? partKey) !== partKey) return undefined;
    this.#claimed.set(answer.token, partKey);
    this.#open.delete(answer.token);
    return answer;
  }

  expire(token: string): void {
    this.#dead.add(token);
  }

  async done(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #tell({ id, token, application, type, isPrivate }: Acknowledgement, committed: Promise<unknown>): Promise<void> {
    const { call, logger, signal } = this.#options;
    try {
      await committed;
    } catch {
      return; // nothing was accepted, so nothing is acknowledged; the receiver says why
    }
    try {
      const data = isPrivate ? { data: { flags: EPHEMERAL } } : {};
      await call('POST', `/interactions/${id}/${token}/callback`, { type, ...data });
      const isThinking = type === DEFERRED_MESSAGE && application !== undefined;
      if (isThinking && this.#open.size < MAX_OPEN) this.#open.add(token);
    } catch (error) {
      if (isFinal(error)) this.expire(token);
      if (!signal.aborted) logger.warn('discord.interaction-not-acknowledged', { error: errorText(error) });
    }
  }

  /** "Is thinking" is taken away while the platform still lets us. */
  async #tidy({ token, application }: Acknowledgement): Promise<void> {
    const { call, clock, logger, signal } = this.#options;
    if (!this.#open.has(token)) return;
    try {
      await clock.sleep(INTERACTION_MS, signal);
      if (this.#open.delete(token)) await call('DELETE', `/webhooks/${application}/${token}/messages/@original`);
    } catch (error) {
      if (!signal.aborted) logger.warn('discord.interaction-not-taken-away', { error: errorText(error) });
    }
  }
}
