/** The models that may answer in a chat, for a tool. */
import type { Price } from './model.ts';

export interface ListedModel {
  /** As the config has it: an alias, or `provider/model`. */
  readonly name: string;
  /** `provider/model`. */
  readonly id: string;
  readonly description?: string;
  /** As of today. null = unknown. Absent = of several models, each with its own. */
  readonly price?: Price | null;
  /** Of its last 64 calls. Absent = none is known. */
  readonly health?: { readonly isLeftAlone: boolean; readonly errorRate: number };
}

export interface ListedModels {
  readonly models: readonly ListedModel[];
  /** Name of the one that answers here. */
  readonly current: string;
  /** Where that comes from, in words. */
  readonly from: string;
}

/**
 * `unknown`: there is no model of that name. `refused`: in a group, the person who asks is not the owner.
 * `chosen` has the name that holds from the next message on.
 */
export type ModelSwitch = { readonly kind: 'chosen'; readonly name: string } | { readonly kind: 'unknown' | 'refused' };

export interface ModelBook {
  list(): Promise<ListedModels>;
  /**
   * Does what `/model NAME` does, under the same rules; `default` goes back to what the config says. On disk
   * when it resolves; the same again changes nothing.
   */
  choose(name: string): Promise<ModelSwitch>;
}
