// the words of /model and /think

import { principalOf } from '../../core/ids.ts';
import type { InboundMessage } from '../../core/message.ts';
import type { Model } from '../../core/model.ts';
import type { Clock } from '../../core/ports.ts';
import type { ChatRow } from '../../core/run.ts';
import type { ThinkingLevel } from '../../core/session.ts';
import { oneLine } from '../../lib/one-line.ts';
import { thinkingWord } from '../../llm/protocols/thinking.ts';
import type { ProviderRouter, RouterEntry } from '../../llm/routing/provider-router.ts';
import { HourlyCounts } from '../../operator/hourly-counts.ts';
import type { Choices } from '../../runs/choices.ts';
import type { ChoiceCommand } from './command.ts';

const LEVELS: readonly ThinkingLevel[] = ['off', 'low', 'medium', 'high', 'auto'];
/** Goes back to what the config says. */
const DEFAULT = 'default';
/** Longest quotation of what a person asked for. */
const QUOTE_CHARS = 60;

export interface ModelChoiceOptions {
  readonly choices: Pick<Choices, 'inForce' | 'choose'>;
  /** The default. */
  readonly model: Pick<Model, 'id' | 'facts'>;
  /** Absent: there is nothing to choose from. */
  readonly named?: ProviderRouter | undefined;
  readonly thinking: ThinkingLevel;
  readonly isOwner: (message: InboundMessage) => boolean;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** The two commands that tell and change which model answers in a chat, and how much it thinks. */
export class ModelChoice {
  readonly #options: ModelChoiceOptions;
  readonly #refused: HourlyCounts;

  constructor(options: ModelChoiceOptions) {
    this.#options = options;
    this.#refused = new HourlyCounts(options.clock, 1);
  }

  /**
   * Does what the command says and returns the answer. On disk when it resolves; the same command again
   * changes nothing. In groups only the owner changes anything: all people there would get another model,
   * which the owner pays for. Another person is told so once an hour; undefined = they were told already.
   */
  async run(row: ChatRow, command: ChoiceCommand): Promise<string | undefined> {
    const { value } = command;
    if (value === undefined) return command.kind === 'model' ? await this.#showModel(row) : await this.#showThinking(row);
    if (row.message.isGroup && !this.#options.isOwner(row.message)) return this.#refuse(row.message);
    return command.kind === 'model' ? await this.#chooseModel(row, value) : await this.#chooseThinking(row, value);
  }

  #refuse(message: InboundMessage): string | undefined {
    const person = principalOf(message);
    if (!this.#refused.hasRoom(person)) return undefined;
    this.#refused.count(person);
    return 'In a group only the owner of this assistant can change the model or its thinking. Nothing was changed.';
  }

  /** All go back to what the config says, the queue mode with them. */
  async reset(row: ChatRow): Promise<void> {
    await this.#options.choices.choose(row, { model: null, thinking: null, queue: null });
  }

  async #showModel(row: ChatRow): Promise<string> {
    const { choices, model, named } = this.#options;
    const { entry, from, gone } = await choices.inForce(row);
    const lines = [`Model: ${entry ? nameOf(entry) : model.id}, ${from}.`];
    if (gone !== undefined) lines.unshift(`${gone} was chosen here and is no longer in the config.`);
    const others = (named?.entries ?? []).filter((other) => other !== entry && (entry || other.key !== model.id));
    if (others.length === 0) return [...lines, 'There is no other one in the config.'].join('\n');
    const list = others.map((other) => `/model ${other.key}${describe(other)}`);
    return [...lines, '', ...list, ...(entry ? [`/model ${DEFAULT} – as the config says`] : [])].join('\n');
  }

  async #chooseModel(row: ChatRow, value: string): Promise<string> {
    const { choices, named } = this.#options;
    if (value.toLowerCase() === DEFAULT) {
      await choices.choose(row, { model: null });
      const { entry } = await choices.inForce(row);
      return `From now on the model is ${entry ? nameOf(entry) : this.#options.model.id} again, as the config says.`;
    }
    const entry = named?.find(value);
    if (!entry) {
      const names = [...(named?.entries ?? []).map(({ key }) => key), DEFAULT];
      return `There is no model “${oneLine(value, QUOTE_CHARS)}”. Nothing was changed. There are: ${names.join(', ')}.`;
    }
    await choices.choose(row, { model: entry.key });
    return `From now on ${nameOf(entry)} answers here. \`/model ${DEFAULT}\` goes back.`;
  }

  async #showThinking(row: ChatRow): Promise<string> {
    const { thinking = this.#options.thinking, thinkingFrom, entry } = await this.#options.choices.inForce(row);
    const words = `Thinking: ${thinking}, ${thinkingFrom}.${unheard(entry?.model ?? this.#options.model, thinking)}`;
    return `${words}\n\n/think ${LEVELS.join(' | ')} – auto: as the model does by itself\n/think ${DEFAULT} – as the config says`;
  }

  async #chooseThinking(row: ChatRow, value: string): Promise<string> {
    const { choices } = this.#options;
    const wanted = value.toLowerCase();
    if (wanted === DEFAULT) {
      await choices.choose(row, { thinking: null });
      const { thinking } = await choices.inForce(row);
      return `From now on thinking is ${thinking ?? this.#options.thinking} here, as the config says.`;
    }
    const level = LEVELS.find((known) => known === wanted);
    if (!level) {
      const quoted = oneLine(value, QUOTE_CHARS);
      return `There is no level “${quoted}”. Nothing was changed. There are: ${LEVELS.join(', ')}, ${DEFAULT}.`;
    }
    await choices.choose(row, { thinking: level });
    const { entry } = await choices.inForce(row);
    const answer = `From now on thinking is ${level} here.${unheard(entry?.model ?? this.#options.model, level)}`;
    return `${answer} \`/think ${DEFAULT}\` goes back.`;
  }
}

/** Said of a level that the model has no word for, or that its provider takes none for. */
function unheard({ id, facts }: ModelChoiceOptions['model'], level: ThinkingLevel): string {
  const known = facts?.thinking;
  if (level === 'auto' || !known || thinkingWord(level, known) !== undefined) return '';
  const why = known.length === 0 ? 'does not think' : 'cannot be told how much to think';
  return ` ${id} ${why}: this will count when another model answers.`;
}

function nameOf({ key, model }: RouterEntry): string {
  return key === model.id ? key : `${key} (${model.id})`;
}

function describe({ key, model, description }: RouterEntry): string {
  const parts = [...(key === model.id ? [] : [model.id]), ...(description === undefined ? [] : [description])];
  return parts.length === 0 ? '' : ` – ${parts.join(': ')}`;
}
