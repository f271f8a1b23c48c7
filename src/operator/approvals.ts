// question -> a row, and the owner's chat with a code and two buttons ->
//   a press, /allow CODE or a typed choice, admitted -> its wait ends in that commit
import type { Commits } from '../core/commit.ts';
import { errorText } from '../core/errors.ts';
import { chatKey } from '../core/ids.ts';
import type { ChatRef, InboundMessage, Json } from '../core/message.ts';
import type { Outbox } from '../core/outbox.ts';
import type { Clock, Logger } from '../core/ports.ts';
import type { ToolResult } from '../core/tool.ts';
import { LOST, postId, type Question, type Settled, type StoredWait, type Waits } from '../core/wait.ts';
import { KeyedMutex } from '../lib/keyed-mutex.ts';
import { Answers, type Decision } from './answers.ts';
import { HourlyCounts } from './hourly-counts.ts';
import type { Owner } from './owner.ts';
import type { PostOptions } from './post.ts';
import { choicesOf, newCode, textOf, withHead } from './question-text.ts';

export type { Decision } from './answers.ts';
export { isVerdict } from './question-text.ts';

/** Many chats may meet a limit of their own: they must not bury one person in questions. */
const QUESTIONS_PER_HOUR = 20;
const OWNER = 'owner';

export interface ApprovalsOptions {
  readonly owner: Pick<Owner, 'prepare' | 'lookAfter' | 'isOwnersChat' | 'wrote' | 'namesIds'>;
  readonly journal: Commits & Pick<Outbox, 'part'> & { readonly waits: Waits };
  /** Whether what is written there is surely of the person whose it seems to be: else it allows no call. */
  readonly provesSender: (channel: string) => boolean;
  /** As `Channel.standsInChat`. */
  readonly standsInChat?: (channel: string, threadId: string) => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A question to the owner that no run asks by itself. */
export interface OwnerQuestion {
  /** The same id is the same question, however often it is asked. */
  readonly id: string;
  /** No words of a conversation. */
  readonly text: string;
  /** Epoch ms. */
  readonly expiresAt: number;
  /** What it comes to then. */
  readonly late: ToolResult;
  /** Kept with the question, for the part of the program that asks. */
  readonly about?: Json;
  /** See `Question`. */
  readonly most?: number;
}

/**
 * Questions that people answer. Each is a row of the journal: it survives a restart, and holds nothing here.
 */
export class Approvals {
  readonly #options: ApprovalsOptions;
  readonly #asking = new KeyedMutex();
  /** Chats of the owner in which the agent's last answer offered choices. */
  readonly #offering = new Set<string>();
  readonly #asked: HourlyCounts;
  readonly #answers: Answers;

  constructor(options: ApprovalsOptions) {
    this.#options = options;
    this.#asked = new HourlyCounts(options.clock, QUESTIONS_PER_HOUR);
    this.#answers = new Answers({ ...options, isOffering: (chat) => this.#offering.has(chat) });
  }

  /**
   * Asks the owner. Resolves, once it is on disk, to the question as it stands, which may be one that was
   * asked before and is over; undefined when the owner cannot be asked, or too much was asked within an hour.
   * Rejects as the journal does.
   */
  ask(asked: OwnerQuestion): Promise<StoredWait | undefined> {
    return this.#asking.runExclusive(asked.id, async () => {
      const { journal } = this.#options;
      const known = await journal.waits.find(asked.id);
      if (known) return known;
      return (await this.#askOwner(asked)) ? await journal.waits.find(asked.id) : undefined;
    });
  }

  async #askOwner({ id, late, ...asked }: OwnerQuestion): Promise<boolean> {
    const { owner, journal, clock, logger } = this.#options;
    const code = await this.freeCode();
    if (!this.mayAsk(OWNER)) {
      logger.warn('owner.not-asked', { detail: 'too many questions were asked within an hour' });
      return false;
    }
    const question: Question = { ...asked, answer: 'approve', to: 'owner', by: [] };
    const ready = owner.prepare(postId(code), textOf(question, code, clock.now()), this.postOptions(id, question, code));
    if (!ready) {
      logger.warn('owner.not-asked', { detail: 'no chat of gateway.owner can be used now' });
      return false;
    }
    this.countAsked(OWNER);
    const { chat, parts } = ready;
    await journal.commit([{ kind: 'ask', id, question, asked: { code, chat, parts }, late }]);
    ready.onDisk();
    return true;
  }

  /** The questions that are open, oldest first. Rejects as the journal does, like all that follow. */
  open(): Promise<readonly StoredWait[]> {
    return this.#options.journal.waits.questions();
  }

  /** Ends a question without a person. */
  async settle(settled: Settled): Promise<void> {
    await this.#options.journal.commit([{ kind: 'settle', settled }]);
  }

  /** Ends the open questions that are meant, without a person. Never rejects. */
  async settleAll(isMeant: (question: StoredWait) => boolean, end: Omit<Settled, 'wait'>): Promise<void> {
    const { journal, logger } = this.#options;
    try {
      const open = (await journal.waits.questions()).filter(isMeant);
      if (open.length === 0) return;
      await journal.commit(open.map(({ id }) => ({ kind: 'settle', settled: { wait: id, ...end } })));
    } catch (error) {
      logger.warn('owner.not-settled', { detail: errorText(error) });
    }
  }

  /** A code that no open question has. */
  async freeCode(): Promise<string> {
    for (;;) {
      const code = newCode();
      if (!(await this.#options.journal.waits.byCode(code))?.isOpen) return code;
    }
  }

  /**
   * Whether one more question may be asked there now. `to`: `owner`, a person, or the `chatKey` of a chat of
   * several.
   */
  mayAsk(to: string): boolean {
    return this.#asked.hasRoom(to);
  }

  /** Of a question that is made ready: what reaches no chat does not count. At once after `mayAsk`. */
  countAsked(to: string): void {
    this.#asked.count(to);
  }

  /**
   * At a start, and when the config has changed: questions to the owner that may have reached no chat, or
   * none that is still the owner's, are posted, or looked after, again. Never rejects.
   */
  async recover(): Promise<void> {
    const { owner, journal, clock, logger } = this.#options;
    try {
      for (const { id, code, question, chat } of await journal.waits.questions()) {
        if (question?.to !== 'owner' || code === undefined) continue;
        const options = { ...this.postOptions(id, question, code), ...(chat === undefined ? {} : { standsIn: chat }) };
        const text = withHead(question, textOf(question, code, clock.now()));
        if (options.expiresInMs > 0) await owner.lookAfter(postId(code), text, options);
      }
    } catch (error) {
      logger.warn('owner.not-asked', { detail: errorText(error) });
    }
  }

  /** What becomes of a question to the owner where its chat does not work. */
  postOptions(id: string, question: Question, code: string): PostOptions {
    const { clock, journal, logger } = this.#options;
    const write = (writes: Parameters<Commits['commit']>[0]): void => {
      journal.commit(writes).catch((error: unknown) => logger.warn('owner.not-asked', { detail: errorText(error) }));
    };
    return {
      expiresInMs: question.expiresAt - clock.now(),
      choices: choicesOf(question, code),
      onMoved: (_chat, chat) => write([{ kind: 'asked-in', id, chat }]),
      onLost: () => write([{ kind: 'settle', settled: { wait: id, value: LOST, by: 'lost' } }]),
    };
  }

  /** See `Answers.decide`. */
  decide(message: InboundMessage): Promise<Decision | undefined> {
    return this.#answers.decide(message);
  }

  /**
   * The agent answered in this chat, with choices of its own or without: a number that is typed next may be
   * meant for those.
   */
  noteAnswer(message: ChatRef, offersChoices: boolean): void {
    if (!this.#options.owner.isOwnersChat(message)) return;
    if (offersChoices) this.#offering.add(chatKey(message));
    else this.#offering.delete(chatKey(message));
  }
}
