// what a chat chose by /model and /think > what its sender and its channel have > the default of the config
import type { ChatSettings, Chats } from '../core/chats.ts';
import type { Commits } from '../core/commit.ts';
import { chatKey, isSessionOf } from '../core/ids.ts';
import type { Address } from '../core/message.ts';
import type { Model } from '../core/model.ts';
import type { ChatRow, RunRow } from '../core/run.ts';
import type { SessionChoices, ThinkingLevel } from '../core/session.ts';
import { asChosen } from '../llm/routing/choose.ts';
import type { ProviderRouter, RouterEntry } from '../llm/routing/provider-router.ts';
import type { Transcripts } from './transcripts.ts';

/** What the config says for one run; absent = nothing. */
export interface ConfiguredChoice {
  readonly senderModel?: string | undefined;
  readonly channelModel?: string | undefined;
  /** For what a job began. Its conversation is then cut to the window of this model. */
  readonly jobModel?: string | undefined;
  readonly channelThinking?: ThinkingLevel | undefined;
}

export interface ChoicesOptions {
  /** The default. */
  readonly model: Model;
  /** Absent: there is nothing to choose from. */
  readonly named?: ProviderRouter | undefined;
  readonly thinking: ThinkingLevel;
  readonly configured: (row: RunRow) => ConfiguredChoice;
  readonly journal: Commits & { readonly chats: Pick<Chats, 'of'> };
  readonly transcripts: Pick<Transcripts, 'choices'>;
}

/** What holds for one run, and the words for where it comes from. */
export interface InForce {
  readonly entry: RouterEntry | undefined;
  readonly from: string;
  readonly thinking: ThinkingLevel | undefined;
  readonly thinkingFrom: string;
  /** Chosen once, and no longer in the config. */
  readonly gone: string | undefined;
}

/** Which model answers a run, and how much it thinks. */
export class Choices {
  readonly #options: ChoicesOptions;

  constructor(options: ChoicesOptions) {
    this.#options = options;
  }

  /**
   * For the turn of this row. The caller holds the session's mutex; rejects as journal and session store do.
   */
  async of(row: RunRow): Promise<{ readonly model: Model; readonly thinking?: ThinkingLevel }> {
    // Before the wait, as its names are: a changed config may bring other models meanwhile.
    const { model } = this.#options;
    const { entry, thinking } = await this.inForce(row);
    return { model: asChosen(model, entry), ...(thinking ? { thinking } : {}) };
  }

  /** For all threads of the chat. On disk when it resolves; the same again changes nothing. */
  async choose({ message }: ChatRow, settings: ChatSettings): Promise<void> {
    await this.#options.journal.commit([{ kind: 'chat', chat: message, settings }]);
  }

  async inForce(row: RunRow): Promise<InForce> {
    const { named, configured, thinking: base } = this.#options;
    const chosen = await this.#chosen(row);
    const { senderModel, channelModel, jobModel, channelThinking } = configured(row);
    const places = [
      [row.message ? undefined : row.prompt.model, 'chosen for this run'],
      [chosen.model, 'chosen here'],
      [senderModel, 'set for you in the config'],
      [channelModel, 'set for this channel in the config'],
      [jobModel, 'set for jobs in the config'],
    ] as const;
    // By the whole name: `find` guesses what a person means, and a name that is gone means no other one.
    const found = places.map(([name, from]) => ({ entry: named?.entries.find(({ key }) => key === name), from }));
    const { entry, from } = found.find((place) => place.entry) ?? { entry: undefined, from: 'the default' };
    const thinking = chosen.thinking ?? channelThinking;
    const where = channelThinking ? 'set for this channel in the config' : base === 'auto' ? 'the default' : 'set in the config';
    return {
      ...{ entry, from, thinking, thinkingFrom: chosen.thinking ? 'chosen here' : where },
      gone: chosen.model != null && !found[1]?.entry ? chosen.model : undefined,
    };
  }

  /** Where the chat chose nothing, what its session holds from a version that kept it there. */
  async #chosen(row: RunRow): Promise<ChatSettings> {
    const { journal, transcripts } = this.#options;
    const inSession: SessionChoices = await transcripts.choices(row.session);
    const chat = chatOf(row);
    return { ...inSession, ...(chat && (await journal.chats.of(chatKey(chat)))?.settings) };
  }
}

/**
 * The chat whose conversation the run goes on with. A run with a session of its own chose nothing, wherever
 * it answers.
 */
function chatOf({ message, replyTo, session }: RunRow): Address | undefined {
  return message ?? (replyTo && isSessionOf(session, replyTo) ? replyTo : undefined);
}
