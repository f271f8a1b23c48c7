import type { Model } from '../../core/model.ts';
import type { ThinkingLevel } from '../../core/session.ts';
import type { ProviderRouter, RouterEntry } from './provider-router.ts';

export interface ChoiceOptions {
  readonly named: ProviderRouter;
  /** Names by `ModelCallContext.purpose`; a name that a request carries goes before. */
  readonly purposes: Readonly<Record<string, string | undefined>>;
  /** For calls that do not say. */
  readonly thinking: ThinkingLevel;
  /** The entry with the default models standing by. Called once for each entry. */
  readonly withStandby: (entry: RouterEntry) => Model;
}

/** Sends each call to the model that it or its purpose names; to `main` when there is none of that name. */
export function withChoice(main: Model, { named, purposes, thinking, withStandby }: ChoiceOptions): Model {
  const models = new Map(named.entries.map((entry) => [entry, withStandby(entry)]));
  const byPurpose = new Map(Object.entries(purposes));
  return {
    ...main,
    call(request, signal) {
      const name = request.model ?? byPurpose.get(request.context.purpose);
      const entry = name === undefined ? undefined : named.find(name);
      const model = (entry && models.get(entry)) ?? main;
      return model.call({ thinking, ...request }, signal);
    },
  };
}

/** The model as a conversation uses it that has chosen `entry`. */
export function asChosen(model: Model, entry: RouterEntry | undefined): Model {
  if (!entry) return model;
  const { id, contextWindow } = entry.model;
  return { ...model, id, contextWindow, call: (request, signal) => model.call({ ...request, model: entry.key }, signal) };
}
