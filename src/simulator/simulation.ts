import { randomUUID } from 'node:crypto';
import { errorText, GatehouseError } from '../core/errors.ts';
import { printable } from '../lib/printable.ts';
import type { FaultKind, Platform } from './platforms/platform.ts';
import { type ChatMessage, Transcript } from './transcript.ts';

/** How often the platform is looked at while somebody watches. ms. */
const LOOK_MS = 150;
/** A page has room for a few people; a program may play more. */
const MOST_PEOPLE = 100;
const LONGEST_TEXT = 20_000;
const MOST_TIMES = 1_000;

export type SimulationEvent =
  /** First to each watcher: see `Simulation.run`. */
  | { readonly type: 'run'; readonly run: string }
  | { readonly type: 'message'; readonly message: ChatMessage }
  /** To each watcher behind the first messages: all there are. Others that it knows were taken back. */
  | { readonly type: 'present'; readonly ids: readonly string[] }
  /** The bot took a message back. */
  | { readonly type: 'removed'; readonly id: string }
  | { readonly type: 'fault'; readonly kind: FaultKind; readonly times: number }
  | { readonly type: 'waiting'; readonly waiting: number }
  /** People to whom the platform shows now that the bot is typing. */
  | { readonly type: 'typing'; readonly people: readonly number[] }
  /** The platform could not be looked at; it is tried again. */
  | { readonly type: 'trouble'; readonly text: string };

/** One platform with people on it, watched. Disposing stops watching; the platform stays its starter's. */
export class Simulation implements AsyncDisposable {
  readonly #platform: Platform;
  readonly #transcript = new Transcript();
  readonly #watchers = new Set<(event: SimulationEvent) => void>();
  #looking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #waiting = 0;
  #typing: readonly number[] = [];

  /** Of this simulation: ids of messages begin anew with each. */
  readonly run = randomUUID();
  /** The command that lets people in who are strangers; absent: they are let in already. */
  readonly letIn: string | undefined;

  constructor(platform: Platform, letIn?: string) {
    this.#platform = platform;
    this.letIn = letIn;
  }

  get type(): string {
    return this.#platform.type;
  }

  get faults(): readonly FaultKind[] {
    return this.#platform.faults;
  }

  /** What of it the page offers beside private chats. */
  get plays(): { readonly groups: boolean; readonly files: boolean } {
    const { writeInGroup, sendFile } = this.#platform;
    return { groups: writeInGroup !== undefined, files: sendFile !== undefined };
  }

  /** What people see now and what the platform still holds, freshly looked up. */
  async now(): Promise<{
    readonly messages: readonly ChatMessage[];
    readonly waiting: number;
    readonly typing: readonly number[];
  }> {
    await this.#look();
    return { messages: this.#transcript.messages, waiting: this.#waiting, typing: this.#typing };
  }

  /** A person writes. Resolves once the platform has it. Rejects with GH1001 for what no person can write. */
  async write(person: number, text: unknown): Promise<ChatMessage> {
    const words = textOf(text);
    mustBeNumber(person, 'person');
    // Told before the platform has it: an answer must not stand above its question.
    const message = this.#transcript.wrote(person, words, Date.now());
    this.#tell({ type: 'message', message });
    await this.#platform.write(person, words);
    return message;
  }

  /** A person writes in a group, to the bot unless `addressed` is false. Rejects as `write`. */
  async writeInGroup(group: number, { person, text, addressed = true }: Readonly<Record<string, unknown>>): Promise<ChatMessage> {
    if (!this.plays.groups) throw wrong(`${this.type} plays no groups here`);
    const words = textOf(text);
    mustBeNumber(group, 'group');
    const author = mustBeNumber(person, 'person');
    const message = this.#transcript.wrote(group, words, Date.now(), author);
    this.#tell({ type: 'message', message });
    await this.#platform.writeInGroup?.(author, group, words, addressed !== false);
    return message;
  }

  /** A person sends a file, with words or without. `base64` is its content. Rejects as `write`. */
  async sendFile(
    person: number,
    { name, type = '', base64, text = '' }: Readonly<Record<string, unknown>>,
  ): Promise<ChatMessage> {
    if (!this.plays.files) throw wrong(`${this.type} plays no files here`);
    mustBeNumber(person, 'person');
    if (typeof name !== 'string' || name.trim() === '' || typeof base64 !== 'string' || typeof type !== 'string')
      throw wrong('the file has no name or no content', 'send {"name":"a.txt","base64":"aGVsbG8="}');
    const words = text === '' ? '' : textOf(text);
    if (base64.length % 4 !== 0 || !/^[\w+/]*={0,2}$/.test(base64)) throw wrong('the content is not base64');
    const bytes = Buffer.from(base64, 'base64');
    const message = this.#transcript.wrote(person, words === '' ? `📎 ${name}` : `📎 ${name}\n${words}`, Date.now());
    this.#tell({ type: 'message', message });
    await this.#platform.sendFile?.(person, { name, type, bytes }, words);
    return message;
  }

  /** Makes something go wrong from now on. Rejects with GH1001 for a fault that this platform cannot play. */
  fault(kind: unknown, times: unknown = 1): { readonly kind: FaultKind; readonly times: number } {
    const known = this.#platform.faults.find((one) => one === kind);
    if (!known) {
      const can = this.#platform.faults.length === 0 ? 'none' : this.#platform.faults.join(', ');
      throw wrong(`${this.type} cannot play the fault "${printable(String(kind).slice(0, 40))}"`, `it can play ${can}`);
    }
    if (typeof times !== 'number' || !Number.isInteger(times) || times < 1 || times > MOST_TIMES)
      throw wrong(`a fault happens 1 to ${MOST_TIMES} times`, `such as {"kind":"${known}","times":3}`);
    this.#platform.fault(known, times);
    this.#tell({ type: 'fault', kind: known, times });
    return { kind: known, times };
  }

  /**
   * Calls `watcher` with everything that happens until disposed. The platform is only looked at regularly
   * while there is one.
   */
  watch(watcher: (event: SimulationEvent) => void): Disposable {
    this.#watchers.add(watcher);
    this.#timer ??= setInterval(() => {
      this.#look().catch((error: unknown) => this.#tell({ type: 'trouble', text: errorText(error) }));
    }, LOOK_MS);
    return {
      [Symbol.dispose]: () => {
        this.#watchers.delete(watcher);
        if (this.#watchers.size === 0) this.#rest();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watchers.clear();
    this.#rest();
    await this.#looking;
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** One look at a time: a mailbox takes longer to read than the time between two looks. */
  async #look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined;
    });
    await this.#looking;
  }

  async #lookOnce(): Promise<void> {
    const { changed, removed } = this.#transcript.see(await this.#platform.seen());
    for (const message of changed) this.#tell({ type: 'message', message });
    for (const id of removed) this.#tell({ type: 'removed', id });
    const waiting = await this.#platform.waiting();
    if (waiting !== this.#waiting) {
      this.#waiting = waiting;
      this.#tell({ type: 'waiting', waiting });
    }
    const people = this.#platform.typing?.() ?? [];
    if (people.join() !== this.#typing.join()) {
      this.#typing = people;
      this.#tell({ type: 'typing', people });
    }
  }

  #tell(event: SimulationEvent): void {
    for (const watcher of this.#watchers) watcher(event);
  }
}

function mustBeNumber(value: unknown, what: 'person' | 'group'): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < MOST_PEOPLE) return value;
  throw wrong(`there is no such ${what}; they are numbered from 0 to ${MOST_PEOPLE - 1}`);
}

function textOf(text: unknown): string {
  if (typeof text !== 'string' || text.trim() === '') throw wrong('the message has no text', 'send {"text":"hello"}');
  if (text.includes('\0')) throw wrong('the text has a NUL in it, which no person can write');
  if (text.length > LONGEST_TEXT) throw wrong(`the text is longer than ${LONGEST_TEXT} characters`);
  return text;
}

function wrong(message: string, hint = 'see `gatehouse simulate --help`'): GatehouseError {
  return new GatehouseError('GH1001', message, { hint });
}
