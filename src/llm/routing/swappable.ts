import type { Model } from '../../core/model.ts';

/** A model that `model_check` and `spawn` will exchange as it runs (spec B6). Read its properties anew. */
export interface Swappable extends Model {
  /** The first one, for the chain [new, original] that a switch builds. */
  readonly original: Model;
  readonly current: Model;
  /** For calls made from now on; calls under way end with the model they began with. */
  swap(model: Model): void;
}

export function createSwappable(first: Model): Swappable {
  let current = first;
  const swappable: { -readonly [K in keyof Swappable]: Swappable[K] } = {
    id: first.id,
    contextWindow: first.contextWindow,
    original: first,
    current: first,
    swap(model) {
      current = model;
      describe(model);
    },
    call: (request, signal) => current.call(request, signal),
  };
  function describe(model: Model): void {
    swappable.current = model;
    swappable.id = model.id;
    swappable.contextWindow = model.contextWindow;
    // Absent is not undefined: an optional property that is there says that something is known.
    if (model.facts) swappable.facts = model.facts;
    else delete swappable.facts;
    if (model.demo === undefined) delete swappable.demo;
    else swappable.demo = model.demo;
  }
  describe(first);
  return swappable;
}
