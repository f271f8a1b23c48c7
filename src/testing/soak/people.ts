// The people of `npm run soak` and their platform: who writes what, and whether each was answered once.
import { setTimeout as sleep } from 'node:timers/promises';
import { TelegramServer } from '../../simulator/telegram/server.ts';

/** Chat of the owner, who gives tasks and has jobs. The others' ids follow. */
export const OWNER_ID = 1;
const FIRST_ID = 1_000;
/** Messages that wait for their answers at any time: more than run at once, so that lanes queue. */
const OPEN_MESSAGES = 200;
const OPEN_TASKS = 10;
/** A task for so many messages. */
const TASK_EVERY = 100;
const MOST_KEPT = 20;
/** After so long without an answer something was lost. */
const STALL_MS = 30_000;

export interface PeopleOptions {
  readonly messages: number;
  readonly sessions: number;
}

export interface Told {
  readonly answered: number;
  readonly tasks: number;
  readonly jobs: number;
  /** Answers that came twice, to the wrong chat, or to nothing; the first of them. */
  readonly wrong: readonly string[];
}

export class People implements AsyncDisposable {
  readonly server = new TelegramServer();
  readonly #options: PeopleOptions;
  readonly #open = new Set<number>();
  readonly #openTasks = new Set<number>();
  readonly #wrong: string[] = [];
  #sent = 0;
  #target = 0;
  #answered = 0;
  #tasksSent = 0;
  #tasks = 0;
  #jobs = 0;
  #lastAt = 0;

  constructor(options: PeopleOptions) {
    this.#options = options;
    this.server.onSend = ({ chatId, text }) => this.#heard(Number(chatId), text);
  }

  /**
   * People write until `messages` of them are answered, and the tasks that belong to them are over. Rejects
   * when nothing comes for half a minute, and says what is missing.
   */
  async writeUntil(messages: number): Promise<void> {
    this.#target = messages;
    this.#lastAt = performance.now();
    this.#write();
    while (this.#answered < messages || this.#openTasks.size > 0) {
      await sleep(20);
      if (performance.now() - this.#lastAt > STALL_MS) throw new Error(this.#missing());
    }
    // What the server keeps is for tests.
    this.server.sends.length = 0;
    this.server.calls.length = 0;
  }

  get told(): Told {
    return { answered: this.#answered, tasks: this.#tasks, jobs: this.#jobs, wrong: this.#wrong };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close();
  }

  #write(): void {
    while (this.#sent < this.#target && this.#open.size < OPEN_MESSAGES) {
      const n = this.#sent;
      this.#sent += 1;
      this.#open.add(n);
      this.#say(this.#chatOf(n), `message ${n}`);
    }
    while (this.#tasksSent * TASK_EVERY < this.#sent && this.#openTasks.size < OPEN_TASKS) {
      this.#openTasks.add(this.#tasksSent);
      this.#say(OWNER_ID, `begin ${this.#tasksSent}`);
      this.#tasksSent += 1;
    }
  }

  #chatOf(n: number): number {
    return FIRST_ID + (scattered(n) % this.#options.sessions);
  }

  #say(id: number, text: string): void {
    this.server.inject({ text, from: { id }, chat: { id } });
  }

  #missing(): string {
    const some = (of: Iterable<number>): string => [...of].slice(0, MOST_KEPT).join(', ') || 'none';
    const heard = this.#wrong.length > 0 ? `; wrong: ${this.#wrong.join(' | ')}` : '';
    return `no answer for ${STALL_MS / 1_000} s; open messages: ${some(this.#open)}; open tasks: ${some(this.#openTasks)}${heard}`;
  }

  #heard(chat: number, text: string): void {
    const echo = /^echo: message (\d+)$/.exec(text);
    if (echo) this.#answer(chat, Number(echo[1]), text);
    else if (chat !== OWNER_ID) this.#strange(chat, text);
    else this.#owner(text);
    this.#write();
  }

  #answer(chat: number, n: number, text: string): void {
    if (!this.#open.delete(n) || chat !== this.#chatOf(n)) this.#strange(chat, text);
    else {
      this.#answered += 1;
      this.#lastAt = performance.now();
    }
  }

  #owner(text: string): void {
    const chore = /done with chore (\d+)/.exec(text);
    if (chore) {
      this.#lastAt = performance.now();
      if (this.#openTasks.delete(Number(chore[1]))) this.#tasks += 1;
      else this.#strange(OWNER_ID, text);
    } else if (/done with tick \d+/.test(text)) this.#jobs += 1;
    else if (!/^begun \d+$|^\d+ of \d+ sub-agents? done/.test(text)) this.#strange(OWNER_ID, text);
  }

  #strange(chat: number, text: string): void {
    if (this.#wrong.length < MOST_KEPT) this.#wrong.push(`chat ${chat}: ${text.slice(0, 200)}`);
  }
}

/**
 * The same whole number for the same n, without order: people write when they like. Were it everyone's turn
 * one after the other, all conversations would be compacted in the same seconds, and tools go to the same
 * people.
 */
function scattered(n: number): number {
  let mixed = n;
  for (let round = 0; round < 2; round += 1) mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
