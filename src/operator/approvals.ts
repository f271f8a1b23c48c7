// question -> a row, and the owner's chat with a code and two buttons ->
//   a press, /allow CODE or a typed choice, admitted -> its wait ends in that commit
import type { Commits } from '../core/commit.ts';
import { errorText } from '../core/errors.ts';
import { chatKey, principalOf } from '../core/ids.ts';
import type { ChatRef, InboundMessage, Json } from '../core/message.ts';
import type { Clock, Logger } from '../core/ports.ts';
import type { ToolResult } from '../core/tool.ts';
import { DECLINED, type Question, type Settled, type StoredWait, type Waits } from '../core/wait.ts';
import { KeyedMutex } from '../lib/keyed-mutex.ts';
import { HourlyCounts } from './hourly-counts.ts';
import type { Owner } from './owner.ts';
import type { PostOptions } from './post.ts';
import {
  ALLOWED,
  answerOf,
  choicesOf,
  codesIn,
  firstLine,
  isForSession,
  newCode,
  overText,
  postId,
  SESSION,
  textOf,
  whichOf,
} from './question-text.ts';

export { isVerdict } from './question-text.ts';

/** Many chats may meet a limit of their own: they must not bury one person in questions. */
const QUESTIONS_PER_HOUR = 20;
const OWNER = 'owner';
const LOST: ToolResult = { ok: false, output: 'Error: the question reached no person' };

export interface ApprovalsOptions {
  readonly owner: Pick<Owner, 'prepare' | 'lookAfter' | 'isOwnersChat' | 'wrote' | 'namesIds'>;
  readonly journal: Commits & { readonly waits: Waits };
  /** Whether what is written there is surely of the person whose it seems to be: else it allows no call. */
  readonly provesSender: (channel: string) => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What a message that answers a question is answered with, and the outcome of its row. */
export interface Decision {
  /** unclear: several questions are open, and it names none of them. */
  readonly outcome: 'allow' | 'deny' | 'answer' | 'unclear';
  readonly answer: string;
  /** The end of the wait, to be written with the message. Absent: the question is over, or there is none. */
  readonly settled?: Settled;
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

  constructor(options: ApprovalsOptions) {
    this.#options = options;
    this.#asked = new HourlyCounts(options.clock, QUESTIONS_PER_HOUR);
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

  /** A code that no open question has. */
  async freeCode(): Promise<string> {
    for (;;) {
      const code = newCode();
      if (!(await this.#options.journal.waits.byCode(code))?.isOpen) return code;
    }
  }

  /** Whether one more question may be asked there now. `to`: `owner` or a `chatKey`. */
  mayAsk(to: string): boolean {
    return this.#asked.hasRoom(to);
  }

  /** Of a question that is made ready: what reaches no chat does not count. At once after `mayAsk`. */
  countAsked(to: string): void {
    this.#asked.count(to);
  }

  /**
   * At a start: questions to the owner that may have reached no chat are posted, or looked after, again.
   * Never rejects.
   */
  async recover(): Promise<void> {
    const { owner, journal, clock, logger } = this.#options;
    try {
      for (const { id, code, question } of await journal.waits.questions()) {
        if (question?.to !== 'owner' || code === undefined) continue;
        const options = this.postOptions(id, question, code);
        if (options.expiresInMs > 0) await owner.lookAfter(postId(code), textOf(question, code, clock.now()), options);
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

  /**
   * What a pressed button, `/allow CODE`, `/deny CODE`, `/answer CODE WORDS`, or a choice or words in reply
   * to a question come to; undefined for every other message and from each person who may not answer, whose
   * words are then an ordinary message. Changes nothing: the answer counts once `settled` is on disk with the
   * message. Rejects when the journal cannot be read.
   */
  async decide(message: InboundMessage): Promise<Decision | undefined> {
    const [word, code = '', ...words] = firstLine(message.text).trim().split(/\s+/);
    const command = word?.toLowerCase();
    if (command !== '/allow' && command !== '/deny' && command !== '/answer') return await this.#readTyped(message);
    const isWhole = command === '/answer' ? words.length > 0 : words.length === 0 || isSession(command, words);
    const wait = code === '' ? undefined : await this.#options.journal.waits.byCode(code.toUpperCase());
    const may = wait !== undefined && this.#mayAnswer(wait, message);
    const meant = isWhole && may ? read(wait, command, words.join(' '), message) : undefined;
    if (meant) return meant;
    if (may && isSession(command, words)) return { outcome: 'unclear', answer: ONCE };
    // Other people do not learn which codes there are.
    if (!this.#options.owner.isOwnersChat(message)) return undefined;
    const outcome = command === '/allow' ? 'allow' : command === '/deny' ? 'deny' : 'answer';
    const isForOthers = isWhole && !may && wait?.isOpen === true && wait.question?.to === OWNER;
    return { outcome, answer: isForOthers ? this.#notYours(message) : 'No open question has this code.' };
  }

  /**
   * Without its code: only in reply to the question; words, where words are asked for, also as the next
   * message.
   */
  async #readTyped(message: InboundMessage): Promise<Decision | undefined> {
    const open = await this.#options.journal.waits.questions(chatKey(message));
    const here: StoredWait[] = [];
    for (const wait of open) if (this.#mayAnswer(wait, message)) here.push(wait);
    if (!message.replyTo)
      return ofWords(
        here.find(({ question }) => question?.answer === 'text' && !question.named),
        message,
      );
    const { fromBot, text: quoted } = message.replyTo;
    if (!fromBot) return undefined;
    if (quoted !== undefined) return await this.#readReply(message, quoted);
    // A reply to words of ours that the platform does not repeat: they may have been any question of this
    // chat.
    const meant = here.filter((wait) => !wait.question?.named && ofWords(wait, message));
    // The number may be meant for what the agent offered there last.
    const isOfTwoLists = /^\d/.test(firstLine(message.text).trim()) && this.#offering.has(chatKey(message));
    if (meant.length > 1 || (meant.length > 0 && isOfTwoLists)) return { outcome: 'unclear', answer: whichOf(meant) };
    return ofWords(meant[0], message);
  }

  async #readReply(message: InboundMessage, quoted: string): Promise<Decision | undefined> {
    // The question ends with its own; what stands above may be words of others.
    for (const code of codesIn(quoted).toReversed()) {
      const wait = await this.#options.journal.waits.byCode(code);
      if (wait && this.#mayAnswer(wait, message)) return ofWords(wait, message);
    }
    return undefined;
  }

  /**
   * A question to the owner is theirs to answer: in a private chat of theirs, or under an id that the config
   * names. Who else may write in their group decides nothing.
   */
  #mayAnswer({ question, chat }: StoredWait, message: InboundMessage): boolean {
    if (!question) return false;
    const { owner, provesSender } = this.#options;
    if (question.answer === 'approve' && question.digest !== undefined && !provesSender(message.channel)) return false;
    if (question.by.length > 0 && !question.by.includes(principalOf(message))) return false;
    if (question.to !== OWNER) return chat === chatKey(message);
    return owner.isOwnersChat(message) && (question.by.length > 0 || owner.wrote(message));
  }

  /** Why a member of a group may not answer a question to the owner, who may be that member. */
  #notYours({ channel }: InboundMessage): string {
    return this.#options.owner.namesIds(channel) ? OWNER_ONLY : NO_IDS;
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

function isSession(command: string, words: readonly string[]): boolean {
  return command === '/allow' && words.length === 1 && words[0]?.toLowerCase() === SESSION;
}

function read(wait: StoredWait, command: string, words: string, message: InboundMessage): Decision | undefined {
  const isApproval = wait.question?.answer === 'approve';
  if (!isApproval && command === '/deny') return declined(wait, message);
  if (isApproval === (command === '/answer')) return undefined;
  return ofWords(wait, message, isApproval ? `${command.slice(1)} ${words}`.trim() : words);
}

/**
 * What the words come to for this question; undefined when they do not answer it. `named`: the words of an
 * answer that names the question.
 */
function ofWords(wait: StoredWait | undefined, message: InboundMessage, named?: string): Decision | undefined {
  const words = named ?? message.text;
  const value = wait?.question && answerOf(wait.question, words);
  if (!value) return undefined;
  // The agent would never see the file.
  if (named === undefined && wait.question?.answer === 'text' && message.media.length > 0) return undefined;
  const outcome = wait.question?.answer !== 'approve' ? 'answer' : value === ALLOWED ? 'allow' : 'deny';
  if (!wait.isOpen) return { outcome, answer: overText(wait) };
  const settled = { wait: wait.id, value, by: principalOf(message) };
  if (!wait.question || !isForSession(wait.question, words)) return { outcome, answer: SAID[outcome], settled };
  return { outcome, answer: '✅ Allowed for this session.', settled: { ...settled, forSession: true } };
}

function declined(wait: StoredWait, message: InboundMessage): Decision {
  if (!wait.isOpen) return { outcome: 'deny', answer: overText(wait) };
  return { outcome: 'deny', answer: '🛑 Declined.', settled: { wait: wait.id, value: DECLINED, by: principalOf(message) } };
}

const OWNER_ONLY = 'Only the owner may answer this.';
const NO_IDS = `${OWNER_ONLY} In a group that is by an id in \`sender_ids\` of \`gateway.owner\`, and the config names none for this channel.`;
const ONCE = 'This can be allowed once only, without `session`.';
const SAID = { allow: '✅ Allowed.', deny: '🛑 Denied.', answer: '✅ Noted.' } as const;
