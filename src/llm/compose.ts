import type { Model } from '../core/model.ts';

export type ModelWrapper = (model: Model) => Model;

/** `compose(wire, budget, retry)` is `retry(budget(wire))`: the last wrapper sees a call first. */
export function compose(model: Model, ...wrappers: readonly ModelWrapper[]): Model {
  return wrappers.reduce((inner, wrap) => wrap(inner), model);
}
