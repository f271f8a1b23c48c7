import { errorText } from '../core/errors.ts';
import type { Model, ModelEvent, ModelFailure, ModelRequest } from '../core/model.ts';
import { oneLine } from '../lib/one-line.ts';
import { chooseReplacement } from '../llm/catalog/replacement.ts';
import { abortedFailure } from '../llm/failure.ts';

export interface ReplacementOptions {
  readonly provider: string;
  /** What to begin with. */
  readonly model: string;
  /** The whole model of that name, with its price and its limits. */
  readonly create: (model: string) => Model;
  /** What the provider offers to our key. */
  readonly list: (signal: AbortSignal) => Promise<readonly string[]>;
  readonly onReplaced: (from: string, to: string) => void;
  readonly now: () => number;
}

/** Longest list of names in a failure, and longest name. */
const NAMES_SHOWN = 20;
const NAME_CHARS = 100;
/**
 * A server that has none of what it offers must not lead us through all of its models to the dearest, with a
 * notice of each.
 */
const MOST_REPLACEMENTS = 3;

/**
 * For a model that the operator did not choose, because it was found without a config: when its provider says
 * that it is gone, another one that it offers answers this call and all later ones. A chosen model is never
 * replaced. Without any that will do the failure lists what the provider has.
 */
export function withReplacement(options: ReplacementOptions): Model {
  const gone = new Set<string>();
  /** Calls that find it out at the same time look for another model one after the other. */
  let turn: Promise<unknown> = Promise.resolve();
  let name = options.model;
  let current = options.create(name);
  const replace = async (failure: ModelFailure, signal: AbortSignal): Promise<ModelFailure | undefined> => {
    if (gone.size >= MOST_REPLACEMENTS) return { ...failure, message: `${failure.message}; so were ${[...gone].join(', ')}` };
    const offered = await options.list(signal).catch(errorText);
    if (signal.aborted) return abortedFailure();
    if (typeof offered === 'string') return { ...failure, message: `${failure.message}; ${offered}` };
    gone.add(name);
    const left = offered.filter((model) => !gone.has(model));
    const next = chooseReplacement(options.provider, name, left, options.now());
    if (next === undefined) return { ...failure, message: `${failure.message}; the provider has ${namesOf(left)}` };
    let made: Model;
    try {
      made = options.create(next);
    } catch (error) {
      return { ...failure, message: `${failure.message}; ${next}: ${errorText(error)}` };
    }
    options.onReplaced(name, next);
    name = next;
    current = made;
    return undefined;
  };
  return {
    ...current,
    async *call(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
      for (;;) {
        const asked = current;
        let lost: ModelFailure | undefined;
        let streamed = false;
        for await (const event of asked.call(request, signal)) {
          streamed = event.type === 'text' || event.type === 'reasoning' || (streamed && event.type !== 'restart');
          if (event.type === 'failed' && event.failure.kind === 'model-gone') lost = event.failure;
          else yield event;
        }
        if (!lost) return;
        const said = lost;
        const mine = turn.then(() => (current === asked ? replace(said, signal) : undefined));
        turn = mine.catch(() => undefined);
        const failure = await mine;
        if (failure) return yield { type: 'failed', failure };
        yield { type: 'switched', from: asked.id, to: current.id, reason: 'model-gone' };
        if (streamed) yield { type: 'restart', reason: 'model-gone' };
      }
    },
  };
}

function namesOf(models: readonly string[]): string {
  if (models.length === 0) return 'no other model for this key';
  const more = models.length > NAMES_SHOWN ? ` and ${models.length - NAMES_SHOWN} more` : '';
  const names = models.slice(0, NAMES_SHOWN).map((name) => oneLine(name, NAME_CHARS));
  return `${names.join(', ')}${more}`;
}
