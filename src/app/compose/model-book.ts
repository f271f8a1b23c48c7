// the models of the config, how each does, and which one a chat has chosen, for a tool of a run in that chat
import type { ListedModel, ModelBook, ModelSwitch } from '../../core/model-book.ts';
import type { ChatRow, RunRow } from '../../core/run.ts';
import { priceAt } from '../../llm/catalog/price.ts';
import type { RouterEntry } from '../../llm/routing/provider-router.ts';
import type { Choices } from '../../runs/choices.ts';
import type { ModelStack } from '../model-stack.ts';
import { type Operator, provenOwner } from './operator.ts';
import type { Base } from './options.ts';

const DEFAULT = 'default';

export interface ModelBookParts {
  readonly base: Pick<Base, 'options' | 'channels'>;
  /** To be asked at each use. */
  readonly models: () => ModelStack;
  readonly choices: Pick<Choices, 'inForce' | 'choose'>;
  readonly operator: Pick<Operator, 'owner'>;
}

/** Undefined for a run that no message began: there is no person whom `/model` would obey. */
export function modelBook(row: RunRow, { base, models, choices, operator }: ModelBookParts): ModelBook | undefined {
  if (!row.message) return undefined;
  const chat: ChatRow = row;
  const current = async () => {
    const { entry, from } = await choices.inForce(chat);
    return { current: entry?.key ?? models().model.id, from };
  };
  return {
    async list() {
      const { model, named } = models();
      const now = base.options.clock.now();
      const listed = (named?.entries ?? [{ key: model.id, model }]).map((entry) => facts(entry, models(), now));
      return { models: listed, ...(await current()) };
    },
    async choose(name): Promise<ModelSwitch> {
      // All people of a group would get another model, which the owner pays for: as `/model` has it.
      if (chat.message.isGroup && !provenOwner(operator, base.channels)(chat.message)) return { kind: 'refused' };
      const entry = models().named?.find(name);
      const isDefault = name.toLowerCase() === DEFAULT;
      if (!entry && !isDefault) return { kind: 'unknown' };
      await choices.choose(chat, { model: isDefault ? null : (entry?.key ?? null) });
      return { kind: 'chosen', name: (await current()).current };
    },
  };
}

function facts({ key: name, model, description }: RouterEntry, { slots }: ModelStack, now: number): ListedModel {
  const slot = slots?.().find(({ id }) => id === model.id);
  const calls = slot ? slot.successes + slot.failures : 0;
  return {
    ...{ name, id: model.id },
    ...(description === undefined ? {} : { description }),
    ...(model.facts ? { price: priceAt(model.facts.price, now) } : {}),
    ...(slot && calls > 0 ? { health: { isLeftAlone: slot.circuit === 'open', errorRate: slot.errorRate } } : {}),
  };
}
