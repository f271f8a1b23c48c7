// a message -> the open question that it answers, and how; or why it answers none
import { chatKey, partKey, principalOf, sentForId } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import type { Outbox } from '../core/outbox.ts';
import { DECLINED, postId, type Settled, type StoredWait, type Waits } from '../core/wait.ts';
import type { Owner } from './owner.ts';
import { messageId } from './post.ts';
import {
  ALLOWED,
  answerOf,
  codesIn,
  firstLine,
  isForSession,
  notedText,
  overText,
  ownWords,
  SESSION,
  whichOf,
} from './question-text.ts';

const OWNER = 'owner';
const SECOND_MS = 1_000;

export interface AnswersOptions {
  readonly owner: Pick<Owner, 'isOwnersChat' | 'wrote' | 'namesIds'>;
  readonly journal: Pick<Outbox, 'part'> & { readonly waits: Waits };
  /** Whether what is written there is surely of the person whose it seems to be: else it allows no call. */
  readonly provesSender: (channel: string) => boolean;
  /** As `Channel.standsInChat`. */
  readonly standsInChat?: (channel: string, threadId: string) => boolean;
  /** Whether the agent's last answer in the chat of this `chatKey` offered choices. */
  readonly isOffering: (chat: string) => boolean;
}

/** What a message that answers a question is answered with, and the outcome of its row. */
export interface Decision {
  /** unclear: it was to answer a question, and answers none. `answer` says why. */
  readonly outcome: 'allow' | 'deny' | 'answer' | 'unclear';
  readonly answer: string;
  /** The end of the wait, to be written with the message. Absent: the question is over, or there is none. */
  readonly settled?: Settled;
  /** It may be meant for another bot: a code of no question in this chat, or a command unknown to us. */
  readonly isStray?: true;
}

/** Reads answers of people to open questions. */
export class Answers {
  readonly #options: AnswersOptions;

  constructor(options: AnswersOptions) {
    this.#options = options;
  }

  /**
   * What a pressed button, `/allow CODE`, `/deny CODE`, `/answer CODE WORDS`, a choice or words in reply to a
   * question, or the next words after a question for words come to; undefined for every other message, which
   * is then an ordinary one. An answer that names a question and may not answer it is refused in words that
   * do not tell which codes there are. Changes nothing: the answer counts once `settled` is on disk with the
   * message. Rejects when the journal cannot be read.
   */
  async decide(message: InboundMessage): Promise<Decision | undefined> {
    const [word, code = '', ...words] = firstLine(message.text).trim().split(/\s+/);
    const command = word?.toLowerCase();
    if (command !== '/allow' && command !== '/deny' && command !== '/answer') {
      const meant = await this.#readTyped(message);
      return meant && command?.startsWith('/') ? { ...meant, isStray: true } : meant;
    }
    const isWhole = command === '/answer' ? words.length > 0 : words.length === 0 || isSession(command, words);
    const wait = code === '' ? undefined : await this.#options.journal.waits.byCode(code.toUpperCase());
    const may = wait !== undefined && this.#mayAnswer(wait, message);
    const meant = isWhole && may ? read(wait, command, words.join(' '), message) : undefined;
    if (meant) return meant;
    if (may && isSession(command, words)) return { outcome: 'unclear', answer: ONCE };
    const named = { wait, code: code.toUpperCase(), isWhole, may };
    const stray = this.#isHere(wait, message) ? {} : ({ isStray: true } as const);
    if (this.#owner.isOwnersChat(message)) return { outcome: VERBS[command], answer: this.#forOwner(named, message), ...stray };
    const answer = refusalOf(named, message);
    return answer === undefined ? undefined : { outcome: 'unclear', answer, ...stray };
  }

  get #owner(): AnswersOptions['owner'] {
    return this.#options.owner;
  }

  #isHere(wait: StoredWait | undefined, message: InboundMessage): boolean {
    return wait?.chat === chatKey(message) || (wait?.question?.to === OWNER && this.#owner.isOwnersChat(message));
  }

  #forOwner({ wait, isWhole, may }: Named, message: InboundMessage): string {
    const isForOthers = isWhole && !may && wait?.isOpen === true && wait.question?.to === OWNER;
    return isForOthers ? this.#notYours(message) : (elsewhereText(wait, message) ?? 'No open question has this code.');
  }

  /**
   * Without its code: only in reply to the question; words, where words are asked for, also as the next
   * message.
   */
  async #readTyped(message: InboundMessage): Promise<Decision | undefined> {
    const open = await this.#options.journal.waits.questions(chatKey(message));
    const here: StoredWait[] = [];
    for (const wait of open.filter((one) => isInPlace(one, message) || this.#standsInChat(one, message))) {
      if (wait.question?.named || !this.#mayAnswer(wait, message)) continue;
      if (wait.question?.answer !== 'text' || (await this.#isSeen(wait, message))) here.push(wait);
    }
    if (!message.replyTo) {
      const meant = here.filter((wait) => wait.question?.answer === 'text' && ofWords(wait, message));
      return meant.length > 1 ? { outcome: 'unclear', answer: whichOf(meant) } : ofWords(meant[0], message);
    }
    const { fromBot, text: quoted } = message.replyTo;
    if (!fromBot) return undefined;
    if (quoted !== undefined) return await this.#readReply(message, quoted);
    // A reply to words of ours that the platform does not repeat: they may have been any question of this
    // chat.
    const meant = here.filter((wait) => ofWords(wait, message));
    // The number may be meant for what the agent offered there last.
    const isOfTwoLists = /^\d/.test(firstLine(message.text).trim()) && this.#options.isOffering(chatKey(message));
    if (meant.length > 1 || (meant.length > 0 && isOfTwoLists)) return { outcome: 'unclear', answer: whichOf(meant) };
    return ofWords(meant[0], message);
  }

  /** The thread of the question could not be opened, and this was said in the chat, where it stands. */
  #standsInChat({ question }: StoredWait, { channel, threadId, startsThread }: InboundMessage): boolean {
    if (!question || question.to === OWNER || question.to.threadId === undefined) return false;
    const isInChat = threadId === undefined || startsThread === true;
    return isInChat && this.#options.standsInChat?.(channel, question.to.threadId) === true;
  }

  async #readReply(message: InboundMessage, quoted: string): Promise<Decision | undefined> {
    // The question ends with its own; what stands above may be words of others.
    for (const code of codesIn(quoted).toReversed()) {
      const wait = await this.#options.journal.waits.byCode(code);
      if (wait && this.#mayAnswer(wait, message)) return ofWords(wait, message);
      // In a group: the question is another person's.
      const isOthers = wait?.isOpen && wait.chat === chatKey(message) && (wait.question?.by.length ?? 0) > 0;
      if (isOthers && ofWords(wait, message)) return { outcome: 'unclear', answer: NOT_ASKED };
    }
    return undefined;
  }

  /**
   * Whether the person can have seen the question when they wrote this: words that were typed before it came
   * are no answer to it. By the platform's clock, which may count whole seconds.
   */
  async #isSeen(wait: StoredWait, { timestamp }: InboundMessage): Promise<boolean> {
    const since = await this.#sentAt(wait);
    return since !== undefined && timestamp + (timestamp % SECOND_MS === 0 ? SECOND_MS - 1 : 0) >= since;
  }

  /** When it may have arrived first. Undefined = it has not been sent. */
  async #sentAt({ id, code = '', question, createdAt }: StoredWait): Promise<number | undefined> {
    const { journal } = this.#options;
    if (question?.to !== OWNER) {
      const part = await journal.part(partKey(question?.onBehalf?.sentFor ? sentForId(id) : id, 0));
      // Rows that are done are forgotten after days.
      return part ? part.doubtSince : createdAt;
    }
    let first: number | undefined;
    for (let attempt = 1; ; attempt += 1) {
      const part = await journal.part(partKey(messageId(postId(code), attempt), 0));
      if (!part) return attempt === 1 ? createdAt : first;
      first ??= part.doubtSince;
    }
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
    return this.#owner.namesIds(channel) ? OWNER_ONLY : NO_IDS;
  }
}

/**
 * A thread is a conversation of its own: words in it answer no question that stands in another. One that
 * stands in no thread is also answered in a thread of a private chat, and in one that hangs from words of
 * ours. What starts a thread was said in the chat.
 */
function isInPlace({ question }: StoredWait, { threadId, startsThread, isGroup, replyTo }: InboundMessage): boolean {
  const place = startsThread ? undefined : threadId;
  if (!question || question.to === OWNER || question.to.threadId === place) return true;
  return question.to.threadId === undefined && (!isGroup || replyTo?.fromBot === true);
}

/** A question that a message names by its code. */
interface Named {
  readonly wait: StoredWait | undefined;
  readonly code: string;
  readonly isWhole: boolean;
  readonly may: boolean;
}

/** Of a person who is not the owner. Undefined = the message is an ordinary one. */
function refusalOf({ wait, code, isWhole, may }: Named, message: InboundMessage): string | undefined {
  if (!isWhole || codesIn(code)[0] !== code) return undefined;
  if (may) return 'This does not answer the question with this code.';
  return elsewhereText(wait, message) ?? NO_SUCH;
}

/** Of a question that the person may answer, in another chat. */
function elsewhereText(wait: StoredWait | undefined, message: InboundMessage): string | undefined {
  const { question, chat } = wait ?? {};
  const isTheirs = question?.to !== OWNER && question?.by.includes(principalOf(message)) === true;
  return isTheirs && chat !== chatKey(message) ? 'This question stands in another chat: answer it there.' : undefined;
}

function isSession(command: string, words: readonly string[]): boolean {
  return command === '/allow' && words.length === 1 && words[0]?.toLowerCase() === SESSION;
}

function read(wait: StoredWait, command: string, words: string, message: InboundMessage): Decision | undefined {
  const isApproval = wait.question?.answer === 'approve';
  if (!isApproval && command === '/deny') return declined(wait, message);
  if (isApproval === (command === '/answer')) return undefined;
  if (isApproval) return ofWords(wait, message, `${command.slice(1)} ${words}`.trim());
  const isLong = wait.question?.answer === 'text' && !wait.question.named;
  return ofWords(wait, message, isLong ? [words, ...linesBelow(message)].join('\n').trim() : words);
}

/** What stands below the first line. */
function linesBelow({ text }: InboundMessage): readonly string[] {
  return ownWords(text).split('\n').slice(1);
}

/**
 * What the words come to for this question; undefined when they do not answer it. `named`: the words of an
 * answer that names the question.
 */
function ofWords(wait: StoredWait | undefined, message: InboundMessage, named?: string): Decision | undefined {
  const words = named ?? message.text;
  const { question } = wait ?? {};
  const value = question && answerOf(question, words);
  if (!wait || !value) return undefined;
  // The agent would never see the file.
  if (named === undefined && question.answer === 'text' && message.media.length > 0) return undefined;
  const outcome = question.answer !== 'approve' ? 'answer' : value === ALLOWED ? 'allow' : 'deny';
  if (!wait.isOpen) return { outcome, answer: overText(wait) };
  const settled = { wait: wait.id, value, by: principalOf(message), ...broughtBy(wait) };
  if (isForSession(question, words))
    return { outcome, answer: '✅ Allowed for this session.', settled: { ...settled, forSession: true } };
  return { outcome, answer: outcome === 'answer' ? notedText(question) : SAID[outcome], settled };
}

function declined(wait: StoredWait, message: InboundMessage): Decision {
  if (!wait.isOpen) return { outcome: 'deny', answer: overText(wait) };
  return { outcome: 'deny', answer: '🛑 Declined.', settled: { wait: wait.id, value: DECLINED, by: principalOf(message) } };
}

/** What an answer from another chat brings into the run that asked. */
export function broughtBy({ question }: StoredWait): Pick<Settled, 'taint'> {
  return question?.onBehalf ? { taint: question.onBehalf.taint } : {};
}

const OWNER_ONLY = 'Only the owner may answer this.';
const NO_IDS = `${OWNER_ONLY} In a group that is by an id in \`sender_ids\` of \`gateway.owner\`, and the config names none for this channel.`;
const ONCE = 'This can be allowed once only, without `session`.';
/** Whether there is such a question elsewhere, it does not tell. */
const NO_SUCH = 'No question that you may answer here has this code.';
const NOT_ASKED = 'This question is for another person.';
const VERBS = { '/allow': 'allow', '/deny': 'deny', '/answer': 'answer' } as const;
const SAID = { allow: '✅ Allowed.', deny: '🛑 Denied.' } as const;
