import type { Candidate } from '../../core/reload.ts';
import { tryWaitingAgain } from '../../operator/budget-questions.ts';
import type { ModelStack } from '../model-stack.ts';
import { pricingOf } from '../spending-limits.ts';
import type { Config, DaemonOptions, ModelParts } from './options.ts';

/**
 * The models that answer now. Others take their place when the config says so; turns that run keep theirs.
 */
export class LiveModels implements AsyncDisposable {
  readonly #make: DaemonOptions['model'];
  readonly #parts: Omit<ModelParts, 'config' | 'before'>;
  #current: ModelStack;

  private constructor(make: DaemonOptions['model'], parts: Omit<ModelParts, 'config' | 'before'>, current: ModelStack) {
    this.#make = make;
    this.#parts = parts;
    this.#current = current;
  }

  static async create(make: DaemonOptions['model'], { config, ...parts }: Omit<ModelParts, 'before'>): Promise<LiveModels> {
    const models = new LiveModels(make, parts, await make({ ...parts, config }));
    // The config may have changed since the process that asked.
    await tryWaitingAgain(parts.operator.approvals, pricingOf(config));
    return models;
  }

  get current(): ModelStack {
    return this.#current;
  }

  /** For a changed config. Rejects with GH11xx when a model cannot work as it says. */
  async prepare(before: Config, after: Config): Promise<Candidate> {
    const old = this.#current;
    const next = await this.#make({ ...this.#parts, config: after, before: old });
    return {
      use: async () => {
        this.#current = next;
        next.setLimits?.(after.budget);
        return undefined;
      },
      end: async (stands) => {
        if (!stands && this.#current === next) {
          this.#current = old;
          old.setLimits?.(before.budget);
        }
        await (stands ? old : next)[Symbol.asyncDispose]();
        if (stands) await tryWaitingAgain(this.#parts.operator.approvals, pricingOf(after));
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#current[Symbol.asyncDispose]();
  }
}
