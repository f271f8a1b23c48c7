// a call does not fit a limit -> one question a limit and day, which all that meet it wait for -> allow,
// deny, or the limit changes

import { errorText } from '../core/errors.ts';
import type { Json } from '../core/message.ts';
import type { ModelCallContext } from '../core/model.ts';
import type { Clock, Logger } from '../core/ports.ts';
import type { StoredWait } from '../core/wait.ts';
import { startTimer } from '../lib/timer.ts';
import type { Budget } from '../llm/money/budget.ts';
import type { SpendingQuestion } from '../llm/money/with-spending-steps.ts';
import type { Approvals } from './approvals.ts';
import { spendingQuestion } from './notices.ts';
import { DENIED } from './question-text.ts';

const DAY_MS = 86_400_000;
/** After this an end that could not be written is tried again, where nothing is spent before. */
const RETRY_MS = 60_000;
const PREFIX = 'budget/';
/**
 * Requests of one person that wait for the same answer. Each costs a call beyond the limit when it is yes:
 * who floods must not turn one yes into thousands.
 */
const MOST_OF_A_SENDER = 20;
/** Limit or models changed, money was given back, or a new day began: the call is tried again as it is. */
const FITS = { ok: true, output: 'fits' } as const;

/** What a question is about, kept with it: when the call fits, no word is needed. */
interface Needed {
  readonly context: ModelCallContext;
  /** null = unknown price. */
  readonly worstUsd: number | null;
  /** See `BudgetQuestionsOptions`. Absent in questions of earlier versions. */
  readonly pricing?: string;
}

export interface BudgetQuestionsOptions {
  readonly approvals: Approvals;
  readonly budget: Budget;
  /** Names which models are asked, and what they cost. */
  readonly pricing: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Questions about spending. Nothing is held while one is open: runs that wait for its signal are parked. */
export class BudgetQuestions {
  readonly #options: BudgetQuestionsOptions;
  readonly #open = new Map<string, Needed>();
  readonly #recovered: Promise<void>;
  #watching = false;

  constructor(options: BudgetQuestionsOptions) {
    this.#options = options;
    this.#recovered = this.#recover();
  }

  /**
   * The name of the signal that tells the answer; undefined when it is no for today, or the owner cannot be
   * asked. A yes lets the calls pass that wait for it; the next one asks anew. Rejects as the journal does.
   */
  async ask(question: SpendingQuestion): Promise<string | undefined> {
    await this.#recovered;
    const { approvals, budget, pricing, clock } = this.#options;
    const { key, retryAfterMs, context, worstUsd } = question;
    const at = new Date(budget.day);
    const base = `${PREFIX}${key}/${at.getFullYear()}-${at.getMonth() + 1}-${at.getDate()}`;
    const asked = {
      text: spendingQuestion(question, MOST_OF_A_SENDER),
      expiresAt: clock.now() + (retryAfterMs ?? DAY_MS),
      late: retryAfterMs === undefined ? DENIED : FITS,
      about: { context, worstUsd, pricing } as unknown as Json,
      most: MOST_OF_A_SENDER,
    };
    for (let n = 1; ; n += 1) {
      const id = n === 1 ? base : `${base}/${n}`;
      const wait = await approvals.ask({ id, ...asked });
      if (wait?.isOpen) {
        this.#watch(id, { context, worstUsd });
        return id;
      }
      // Withdrawn with the only person who waited for it: that is no answer.
      if (wait?.by === 'withdrawn') continue;
      if (wait?.value?.output !== 'allow' && wait?.value?.output !== FITS.output) return undefined;
    }
  }

  async #recover(): Promise<void> {
    const { approvals, logger } = this.#options;
    try {
      for (const { id, question } of await approvals.open())
        if (id.startsWith(PREFIX) && question?.about) this.#watch(id, question.about as unknown as Needed);
    } catch (error) {
      logger.warn('owner.not-asked', { detail: errorText(error) });
    }
  }

  #watch(id: string, needed: Needed): void {
    this.#open.set(id, needed);
    if (this.#watching) return;
    this.#watching = true;
    void this.#watchAll();
  }

  /** Only while a question is open, and without a timer unless an end could not be written. */
  async #watchAll(): Promise<void> {
    const { approvals, budget, logger } = this.#options;
    while (this.#open.size > 0) {
      const changed = budget.changed(NEVER);
      let isOwed = false;
      for (const [id, { context, worstUsd }] of this.#open) {
        if (budget.outlook(context, worstUsd) !== 'fits') continue;
        try {
          await approvals.settle({ wait: id, value: FITS, by: 'fits' });
          this.#open.delete(id);
        } catch (error) {
          // It stays open. What waits for it may be all that would be spent.
          isOwed = true;
          logger.warn('owner.question-stays', { detail: errorText(error) });
        }
      }
      if (this.#open.size > 0) await (isOwed ? this.#orLater(changed) : changed);
    }
    this.#watching = false;
  }

  async #orLater(changed: Promise<void>): Promise<void> {
    const { promise: later, resolve } = Promise.withResolvers<void>();
    const stop = startTimer(this.#options.clock, RETRY_MS, resolve);
    await Promise.race([changed, later]);
    stop();
  }
}

/**
 * Ends the open questions about spending that were asked with another `pricing`, to be called once the models
 * of this one answer. What waits for one is tried as it is, and asks anew where it has to: a question names
 * what a call of the former models costs, and a yes to it would let one through at any price. Never rejects.
 */
export function tryWaitingAgain(approvals: Pick<Approvals, 'settleAll'>, pricing: string): Promise<void> {
  const isFormer = ({ id, question }: StoredWait): boolean =>
    id.startsWith(PREFIX) && (question?.about as unknown as Needed | undefined)?.pricing !== pricing;
  return approvals.settleAll(isFormer, { value: FITS, by: 'fits' });
}

const NEVER = new AbortController().signal;
