// /model and /think: what a session chose > what its sender and its channel have > the default of the config

import type { InboundMessage } from '../../core/message.ts';
import type { Model } from '../../core/model.ts';
import type { ChatRow, RunRow } from '../../core/run.ts';
import type { SessionChoices, ThinkingLevel } from '../../core/session.ts';
import { oneLine } from '../../lib/one-line.ts';
import { asChosen } from '../../llm/routing/choose.ts';
import type { ProviderRouter, RouterEntry } from '../../llm/routing/provider-router.ts';
import type { Transcripts } from '../../runs/transcripts.ts';
import type { ChoiceCommand } from './command.ts';

const LEVELS: readonly ThinkingLevel[] = ['off', 'low', 'medium', 'high', 'auto'];
/** Goes back to what the config says. */
const DEFAULT = 'default';
/** Longest quotation of what a person asked for. */
const QUOTE_CHARS = 60;

/** What the config says for one message; absent = nothing. */
export interface ConfiguredChoice {
  readonly senderModel?: string | undefined;
  readonly channelModel?: string | undefined;
  readonly channelThinking?: ThinkingLevel | undefined;
}

export interface ModelChoiceOptions {
  /** The default. */
  readonly model: Model;
  /** Absent: there is nothing to choose from. */
  readonly named?: ProviderRouter | undefined;
  readonly thinking: ThinkingLevel;
  readonly configured: (message: InboundMessage) => ConfiguredChoice;
  readonly isOwner: (message: InboundMessage) => boolean;
  readonly transcripts: Pick<Transcripts, 'choices' | 'choose'>;
}

/** What is in force for one message, and the words for where it comes from. */
interface InForce {
  readonly entry: RouterEntry | undefined;
  readonly from: string;
  readonly thinking: ThinkingLevel | undefined;
  readonly thinkingFrom: string;
  /** Chosen once, and no longer in the config. */
  readonly gone: string | undefined;
}

/** Which model answers a session, how much it thinks, and the two commands that change it. */
export class ModelChoice {
  readonly #options: ModelChoiceOptions;

  constructor(options: ModelChoiceOptions) {
    this.#options = options;
  }

  /** For the turn of this row. The caller holds the session's mutex; rejects as the session store does. */
  async of(row: RunRow): Promise<{ readonly model: Model; readonly thinking?: ThinkingLevel }> {
    const { entry, thinking } = await this.#inForce(row);
    return { model: asChosen(this.#options.model, entry), ...(thinking ? { thinking } : {}) };
  }

  /**
   * Does what the command says and returns the answer. On disk when it resolves; the same command again
   * changes nothing. In groups only the owner changes anything: everybody there would get another model,
   * which the owner pays for.
   */
  async run(row: ChatRow, command: ChoiceCommand): Promise<string> {
    const { value } = command;
    if (value === undefined) return command.kind === 'model' ? await this.#showModel(row) : await this.#showThinking(row);
    if (row.message.isGroup && !this.#options.isOwner(row.message))
      return `In a group only the owner of this assistant can use \`/${command.kind}\`. Nothing was changed.`;
    return command.kind === 'model' ? await this.#chooseModel(row, value) : await this.#chooseThinking(row, value);
  }

  async #inForce(row: RunRow): Promise<InForce> {
    const { named, configured, transcripts, thinking: base } = this.#options;
    const chosen: SessionChoices = await transcripts.choices(row.session);
    const { senderModel, channelModel, channelThinking }: ConfiguredChoice = row.message ? configured(row.message) : {};
    const places = [
      [chosen.model, 'chosen here'],
      [senderModel, 'set for you in the config'],
      [channelModel, 'set for this channel in the config'],
    ] as const;
    // By the whole name: `find` guesses what a person means, and a name that is gone means no other one.
    const found = places.map(([name, from]) => ({ entry: named?.entries.find(({ key }) => key === name), from }));
    const { entry, from } = found.find((place) => place.entry) ?? { entry: undefined, from: 'the default' };
    const thinking = chosen.thinking ?? channelThinking;
    const where = channelThinking ? 'set for this channel in the config' : base === 'auto' ? 'the default' : 'set in the config';
    return {
      ...{ entry, from, thinking, thinkingFrom: chosen.thinking ? 'chosen here' : where },
      gone: chosen.model !== undefined && !found[0]?.entry ? chosen.model : undefined,
    };
  }

  async #showModel(row: ChatRow): Promise<string> {
    const { model, named } = this.#options;
    const { entry, from, gone } = await this.#inForce(row);
    const lines = [`Model: ${entry ? nameOf(entry) : model.id}, ${from}.`];
    if (gone !== undefined) lines.unshift(`${gone} was chosen here and is no longer in the config.`);
    const others = (named?.entries ?? []).filter((other) => other !== entry && (entry || other.key !== model.id));
    if (others.length === 0) return [...lines, 'There is no other one in the config.'].join('\n');
    const list = others.map((other) => `/model ${other.key}${describe(other)}`);
    return [...lines, '', ...list, ...(entry ? [`/model ${DEFAULT} – as the config says`] : [])].join('\n');
  }

  async #chooseModel(row: ChatRow, value: string): Promise<string> {
    const { named, transcripts } = this.#options;
    if (value.toLowerCase() === DEFAULT) {
      await transcripts.choose(row.session, { model: null });
      const { entry } = await this.#inForce(row);
      return `From now on the model is ${entry ? nameOf(entry) : this.#options.model.id} again, as the config says.`;
    }
    const entry = named?.find(value);
    if (!entry) {
      const names = [...(named?.entries ?? []).map(({ key }) => key), DEFAULT];
      return `There is no model “${oneLine(value, QUOTE_CHARS)}”. Nothing was changed. There are: ${names.join(', ')}.`;
    }
    await transcripts.choose(row.session, { model: entry.key });
    return `From now on ${nameOf(entry)} answers here. \`/model ${DEFAULT}\` goes back.`;
  }

  async #showThinking(row: ChatRow): Promise<string> {
    const { thinking, thinkingFrom } = await this.#inForce(row);
    const words = `Thinking: ${thinking ?? this.#options.thinking}, ${thinkingFrom}.`;
    return `${words}\n\n/think ${LEVELS.join(' | ')} – auto: as the model does by itself\n/think ${DEFAULT} – as the config says`;
  }

  async #chooseThinking(row: ChatRow, value: string): Promise<string> {
    const wanted = value.toLowerCase();
    if (wanted === DEFAULT) {
      await this.#options.transcripts.choose(row.session, { thinking: null });
      const { thinking } = await this.#inForce(row);
      return `From now on thinking is ${thinking ?? this.#options.thinking} here, as the config says.`;
    }
    const level = LEVELS.find((known) => known === wanted);
    if (!level) {
      const quoted = oneLine(value, QUOTE_CHARS);
      return `There is no level “${quoted}”. Nothing was changed. There are: ${LEVELS.join(', ')}, ${DEFAULT}.`;
    }
    await this.#options.transcripts.choose(row.session, { thinking: level });
    return `From now on thinking is ${level} here. \`/think ${DEFAULT}\` goes back.`;
  }
}

function nameOf({ key, model }: RouterEntry): string {
  return key === model.id ? key : `${key} (${model.id})`;
}

function describe({ key, model, description }: RouterEntry): string {
  const parts = [...(key === model.id ? [] : [model.id]), ...(description === undefined ? [] : [description])];
  return parts.length === 0 ? '' : ` – ${parts.join(': ')}`;
}
