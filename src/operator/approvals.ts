// question -> owner's chat with a code and two buttons -> a press, /allow CODE or a typed choice, admitted and committed -> verdict
import { randomInt } from 'node:crypto';
import { readChoice } from '../core/choices.ts';
import type { ChatRef, Choice, InboundMessage } from '../core/message.ts';
import type { Clock, Logger } from '../core/ports.ts';
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.ts';
import type { Owner } from './owner.ts';
import type { OwnerChat } from './posts.ts';

/**
 * Without look-alikes. A code says which question is meant and is no secret: whoever may write in the owner's chat decides the only
 * open one by `1`. So tries are not counted, or old buttons would use them up; six of 31 are 900 million, which nobody hits by chance.
 */
const ALPHABET = '23456789ABCDEFGHJKMNPQRSTUVWXYZ';
const CODE_LENGTH = 6;
const HOUR_MS = 3_600_000;
const TIMEOUT_MS = 10 * 60_000;
/**
 * Many chats may meet a limit of their own: they must neither bury the owner in questions nor, as each waiting turn holds one of
 * the places of `max_concurrent_sessions`, keep others from their answers.
 */
const MAX_OPEN = 3;
const QUESTIONS_PER_HOUR = 20;
/** How the mail channel puts it. */
const SUBJECT = /^\[Subject: .*\]$/;
/** Closed questions that are remembered for whoever answers late or twice. */
const REMEMBERED = 64;

interface Question {
  readonly code: string;
  /** Where it was asked; undefined until it is on disk. */
  chat: OwnerChat | undefined;
  /** The message that decided it, once one was admitted. Only that message's commit makes the verdict count. */
  decidedBy: string | undefined;
  allowed: boolean;
  /** Nobody waits for the verdict any more. */
  closed: boolean;
  readonly settle: (verdict: boolean | undefined) => void;
}

export interface ApprovalsOptions {
  readonly owner: Pick<Owner, 'post' | 'isOwnersChat'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What a message that decides a question is answered with, and the outcome of its row. */
export interface Decision {
  /** unclear: several questions are open, and it names none of them. */
  readonly outcome: 'allow' | 'deny' | 'unclear';
  readonly answer: string;
}

/**
 * Questions to the owner that a running turn waits for. They live as long as the process: a turn that is resumed asks anew, and
 * the old code then names no question.
 */
export class Approvals {
  readonly #options: ApprovalsOptions;
  readonly #questions = new Map<string, Question>();
  /** Chats of the owner in which the agent's last answer offered choices. */
  readonly #offering = new Set<string>();
  readonly #asked: HourlyCount;

  constructor(options: ApprovalsOptions) {
    this.#options = options;
    this.#asked = new HourlyCount(options.clock, QUESTIONS_PER_HOUR);
  }

  /**
   * The owner's verdict; undefined when nobody can be asked or nobody answered within 10 minutes, or too many wait already. `text` holds no words of
   * anybody's conversation. Rejects with the signal's reason.
   */
  async ask(text: string, signal: AbortSignal): Promise<boolean | undefined> {
    signal.throwIfAborted();
    const { owner, clock, logger } = this.#options;
    const open = [...this.#questions.values()].filter(({ closed }) => !closed);
    if (open.length >= MAX_OPEN || this.#asked.isFull) {
      logger.warn('owner.not-asked', { detail: `${open.length} questions are open, or too many were asked within an hour` });
      return undefined;
    }
    this.#asked.add();
    const code = this.#newCode();
    const answered = Promise.withResolvers<boolean | undefined>();
    const question: Question = {
      ...{ code, chat: undefined, decidedBy: undefined, allowed: false, closed: false },
      settle: answered.resolve,
    };
    this.#questions.set(code, question);
    const over = new AbortController();
    const expired = clock.sleep(TIMEOUT_MS, AbortSignal.any([signal, over.signal])).then(() => undefined);
    const full = `${text} Reply \`/allow ${code}\` or \`/deny ${code}\` within ${TIMEOUT_MS / 60_000} minutes.`;
    // By the code: it is new each time, and so must the question's key be.
    const onMoved = (chat: OwnerChat): void => {
      question.chat = chat;
    };
    const onLost = (): void => answered.resolve(undefined);
    const options = { expiresInMs: TIMEOUT_MS, choices: choicesOf(code), onMoved, onLost };
    void owner.post(`ask/${code}/${clock.now()}`, full, options).then((chat) => {
      question.chat ??= chat;
      if (chat) return;
      logger.warn('owner.not-asked', { detail: 'no chat of gateway.owner can be used now' });
      answered.resolve(undefined);
    });
    try {
      return await Promise.race([answered.promise, expired]);
    } finally {
      question.closed = true;
      over.abort(NO_LONGER_NEEDED);
      this.#forget();
    }
  }

  /**
   * What a pressed button, `/allow CODE`, `/deny CODE`, or a typed choice (`1`, `allow`) while a question is open comes to; undefined for
   * every other message and for everybody but the owner, whose words are then an ordinary message. Changes nothing that counts
   * before `committed` names the message.
   */
  decide(message: InboundMessage): Decision | undefined {
    return this.#read(message)?.();
  }

  /** Whether `decide` would return anything. Changes nothing. */
  concerns(message: InboundMessage): boolean {
    return this.#read(message) !== undefined;
  }

  #read(message: InboundMessage): (() => Decision) | undefined {
    if (!this.#options.owner.isOwnersChat(message)) return undefined;
    // A mail has its subject above, and what a mail program adds below.
    const lines = message.text.trim().split('\n', 2);
    const line = lines.length > 1 && SUBJECT.test(lines[0] ?? '') ? (lines[1] ?? '') : (lines[0] ?? '');
    const [word, code = '', ...more] = line.trim().split(/\s+/);
    const command = word?.toLowerCase();
    if (command !== '/allow' && command !== '/deny') return this.#readTyped(line, message);
    const outcome = command === '/allow' ? 'allow' : 'deny';
    const question = more.length === 0 ? this.#questions.get(code.toUpperCase()) : undefined;
    return () => (question ? decided(question, outcome, message) : { outcome, answer: 'No open question has this code.' });
  }

  /** A choice without its code counts for the question it replies to, else for the only one that is open in this chat. */
  #readTyped(line: string, message: InboundMessage): (() => Decision) | undefined {
    const choice = readChoice(line, choicesOf(''));
    if (!choice) return undefined;
    const outcome = choice.value.startsWith('/allow') ? 'allow' : 'deny';
    const here = [...this.#questions.values()].filter(
      ({ chat }) => chat?.channel === message.channel && chat.chatId === message.chatId,
    );
    // A reply to words of ours that the platform does not repeat is as good as none.
    const { fromBot = true, text: quoted } = message.replyTo ?? {};
    if (!fromBot || quoted !== undefined) {
      const question = fromBot ? here.find(({ code }) => quoted?.includes(code)) : undefined;
      return question && (() => decided(question, outcome, message));
    }
    const open = here.filter(({ closed, decidedBy }) => !closed && (decidedBy === undefined || decidedBy === message.id));
    const [question] = open;
    // The number may be meant for what the agent offered there last.
    const isOfTwoLists = /^\d/.test(line.trim()) && this.#offering.has(placeOf(message));
    if (question && (open.length > 1 || isOfTwoLists)) return () => ({ outcome: 'unclear', answer: whichOf(open) });
    return question && (() => decided(question, outcome, message));
  }

  /** The agent answered in this chat, with choices of its own or without: a number that is typed next may be meant for those. */
  noteAnswer(message: ChatRef, offersChoices: boolean): void {
    if (!this.#options.owner.isOwnersChat(message)) return;
    if (offersChoices) this.#offering.add(placeOf(message));
    else this.#offering.delete(placeOf(message));
  }

  /** The message is on disk with its answer: what it decided holds from now on. */
  committed(messageId: string): void {
    for (const question of this.#questions.values()) {
      if (question.decidedBy === messageId) question.settle(question.allowed);
    }
  }

  #newCode(): string {
    for (;;) {
      const code = Array.from({ length: CODE_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
      if (!this.#questions.has(code)) return code;
    }
  }

  #forget(): void {
    const closed = [...this.#questions].filter(([, question]) => question.closed);
    for (const [code] of closed.slice(0, Math.max(0, closed.length - REMEMBERED))) this.#questions.delete(code);
  }
}

/** Without a code: the words that people type. */
function choicesOf(code: string): readonly Choice[] {
  return [
    { label: 'Allow', value: `/allow ${code}` },
    { label: 'Deny', value: `/deny ${code}` },
  ];
}

/** Whether these words may answer a question to the owner, whatever else they were meant for. */
export function isVerdict(words: string): boolean {
  return readChoice(words, choicesOf('')) !== undefined;
}

function decided(question: Question, outcome: 'allow' | 'deny', { id }: InboundMessage): Decision {
  if (question.decidedBy === undefined && !question.closed) {
    question.decidedBy = id;
    question.allowed = outcome === 'allow';
  }
  if (question.decidedBy === undefined) return { outcome, answer: 'Too late: this question is closed.' };
  if (question.decidedBy === id) return { outcome, answer: outcome === 'allow' ? '✅ Allowed.' : '🛑 Denied.' };
  return { outcome, answer: `This question was answered already: ${question.allowed ? 'allowed' : 'denied'}.` };
}

function placeOf({ channel, chatId }: OwnerChat): string {
  return JSON.stringify([channel, chatId]);
}

function whichOf(open: readonly Question[]): string {
  const codes = open.map(({ code }) => `\`${code}\``).join(', ');
  return `${open.length === 1 ? 'A question is' : `${open.length} questions are`} open (${codes}). Answer ${open.length === 1 ? 'it' : 'one'} with \`/allow CODE\` or \`/deny CODE\`.`;
}

/** What happened within the last hour, up to a limit. */
class HourlyCount {
  readonly #clock: Clock;
  readonly #limit: number;
  /** Monotonic ms, oldest first. */
  #times: number[] = [];

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  get isFull(): boolean {
    const now = this.#clock.monotonic();
    this.#times = this.#times.filter((at) => now - at < HOUR_MS);
    return this.#times.length >= this.#limit;
  }

  add(): void {
    this.#times.push(this.#clock.monotonic());
  }
}
