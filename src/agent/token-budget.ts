/** The tokens of a run (`RunLimits.maxTokens`), with those of its sub-agents. */
import type { Usage } from '../core/model.ts';
import type { AgentRun } from '../core/turn.ts';
import { sumUsage } from './model-call.ts';

export class TokenBudget {
  readonly #run: Pick<AgentRun, 'limits' | 'usedBelow'>;
  #own: Usage = { tokensIn: 0, tokensOut: 0, tokensCached: 0 };
  #below = 0;

  constructor(run: Pick<AgentRun, 'limits' | 'usedBelow'>) {
    this.#run = run;
  }

  /** By the model calls of the run itself. */
  get own(): Usage {
    return this.#own;
  }

  /** As it was when `isUsedUp` was asked last. */
  get spent(): { readonly tokens: number; readonly below: number } {
    return { tokens: this.#own.tokensIn + this.#own.tokensOut + this.#below, below: this.#below };
  }

  add(usage: Usage): void {
    this.#own = sumUsage(this.#own, usage);
  }

  /**
   * `isReplaying`: the next answer is recorded. Then sub-agents do not count: what they have used by now
   * would end the run before an answer that is paid for.
   */
  async isUsedUp({ isReplaying }: { readonly isReplaying: boolean }): Promise<boolean> {
    const { limits, usedBelow } = this.#run;
    if (limits.maxTokens === 0) return false;
    if (usedBelow && !isReplaying) this.#below = await usedBelow();
    return this.spent.tokens >= limits.maxTokens;
  }
}
