/** Acknowledging commands and buttons, and what becomes of a command that nobody answers. */
import { errorText } from '../../../src/core/errors.ts';
import type { Clock, Logger } from '../../../src/core/ports.ts';
import type { JsonObject } from '../../kit/json.ts';
import { RecentMap, RecentSet } from '../../kit/recent.ts';
import { DEFERRED_MESSAGE, INTERACTION_MS, type Interaction } from './interaction.ts';

export interface InteractionsOptions {
  readonly call: (method: 'POST' | 'DELETE', route: string, body?: JsonObject) => Promise<unknown>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** "Is thinking" is taken away while the platform still lets us. */
const UNANSWERED_MS = INTERACTION_MS - 60_000;
/** Commands under way at once; a flood of them must not fill the memory. */
const MAX_OPEN = 1_000;

export class Interactions {
  readonly #options: InteractionsOptions;
  /** Tokens of commands that show "is thinking". After a restart that is forgotten, and the answer still replaces it. */
  readonly #open = new Set<string>();
  /** The part that answers a command, by the command's token. */
  readonly #claimed = new RecentMap<string>(MAX_OPEN);
  readonly #dead = new RecentSet(MAX_OPEN);
  readonly #running = new Set<Promise<void>>();

  constructor(options: InteractionsOptions) {
    this.#options = options;
  }

  /** Call it once the message is committed: the platform gives three seconds from the press. Never throws. */
  acknowledge(interaction: Interaction): void {
    const running = this.#acknowledge(interaction).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Where an answer goes, unless the platform said that it is over or another part went there: it would be replaced. */
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

  async #acknowledge({ id, token, application, acknowledge }: Interaction): Promise<void> {
    const { call, clock, logger, signal } = this.#options;
    try {
      await call('POST', `/interactions/${id}/${token}/callback`, { type: acknowledge });
      if (acknowledge !== DEFERRED_MESSAGE || application === undefined || this.#open.size >= MAX_OPEN) return;
      this.#open.add(token);
      await clock.sleep(UNANSWERED_MS, signal);
      if (this.#open.delete(token)) await call('DELETE', `/webhooks/${application}/${token}/messages/@original`);
    } catch (error) {
      if (!signal.aborted) logger.warn('discord.interaction-not-acknowledged', { error: errorText(error) });
    }
  }
}
