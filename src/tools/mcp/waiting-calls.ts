// a call is made -> its server asks -> the run parks with a question, and the call goes on here ->
//   the answer, or why there is none, goes to the server -> the next question, or the result

/** Calls of MCP servers that wait for words of a person. They do not outlive the process. */
import type { Commits } from '../../core/commit.ts';
import { errorText } from '../../core/errors.ts';
import type { Clock, Logger } from '../../core/ports.ts';
import type { Asker, ToolResult } from '../../core/tool.ts';
import { nthWait, type Waits } from '../../core/wait.ts';
import type { Elicitation } from './elicitation.ts';
import { Form } from './form.ts';
import type { Elicit, Elicited } from './server-requests.ts';

/** Calls that wait at the same time. */
const MAX_WAITING = 32;
const MAX_WAITING_OF_SERVER = 8;
/** Questions of one call, each field and each further try counted. */
const MAX_ASKED = 40;
/** Between two looks at what became of the questions. ms. */
const LOOK_MS = 2_000;
/** A run whose question is over goes on within this time, or another end of it was missed. ms. */
const LONGEST_TURN_MS = 30 * 60_000;

const WITHDRAWN = 'withdrawn';

export interface WaitingCallsOptions {
  readonly journal: Commits & { readonly waits: Pick<Waits, 'find' | 'questions'> };
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface NewCall {
  /** `ToolContext.idempotencyKey`, which is the id of the call's first wait. */
  readonly key: string;
  readonly server: string;
  /** Undefined = no person is asked. */
  readonly asker: Asker | undefined;
  /** Rejects when the call was given up. */
  readonly work: (elicit: Elicit | undefined, signal: AbortSignal) => Promise<ToolResult>;
}

export class WaitingCalls implements AsyncDisposable {
  readonly #options: WaitingCallsOptions;
  readonly #calls = new Map<string, WaitingCall>();
  readonly #closing = new AbortController();
  #looking: Promise<void> | undefined;

  constructor(options: WaitingCallsOptions) {
    this.#options = options;
  }

  /** How many calls there are, at work or waiting. */
  get size(): number {
    return this.#calls.size;
  }

  /** Makes the call, until its result or the first question. Rejects as `work` does. */
  async run(call: NewCall, signal: AbortSignal): Promise<ToolResult> {
    const waiting = new WaitingCall(call, this.#options.clock, () => this.#hasRoom(call.server));
    // It cannot wait, so no later attempt looks for it.
    if (!call.asker) return await waiting.next(signal);
    this.#calls.get(call.key)?.cancel(new Error('the call is made again'));
    this.#calls.set(call.key, waiting);
    return await this.#next(waiting, signal);
  }

  /** As `Tool.resume`. */
  async resume(key: string, values: readonly ToolResult[], signal: AbortSignal): Promise<ToolResult | undefined> {
    const call = this.#calls.get(key);
    if (!call) return undefined;
    call.take(values);
    return await this.#next(call, signal);
  }

  /**
   * At a start: closes the questions of calls that another process made, which no answer can reach. Their
   * runs go on at once, and call the outcome unknown.
   */
  async closeLost(): Promise<void> {
    const { journal } = this.#options;
    const open = await journal.waits.questions();
    const lost = open.filter(({ question }) => isOfServer(question?.about));
    await Promise.all(lost.map(({ id }) => this.#withdraw(id)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the servers are closed'));
    for (const call of this.#calls.values()) call.cancel(this.#closing.signal.reason);
    this.#calls.clear();
    await this.#looking;
  }

  async #next(call: WaitingCall, signal: AbortSignal): Promise<ToolResult> {
    const result = await call.next(signal).catch((error: unknown) => {
      this.#calls.delete(call.key);
      throw error;
    });
    if (result.wait) this.#looking ??= this.#look();
    else this.#calls.delete(call.key);
    return result;
  }

  #hasRoom(server: string): boolean {
    const waiting = [...this.#calls.values()].filter(({ isWaiting }) => isWaiting);
    return waiting.length < MAX_WAITING && waiting.filter((call) => call.server === server).length < MAX_WAITING_OF_SERVER;
  }

  /** Runs that are stopped tell no tool, and a server that ends closes no question: both are seen here. */
  async #look(): Promise<void> {
    const { clock, logger } = this.#options;
    const { signal } = this.#closing;
    for (;;) {
      await clock.sleep(LOOK_MS, signal).catch(() => undefined); // closed meanwhile
      const waiting = [...this.#calls.values()].filter(({ isWaiting }) => isWaiting);
      if (signal.aborted || waiting.length === 0) {
        this.#looking = undefined;
        return;
      }
      try {
        for (const call of waiting) await this.#lookAt(call);
      } catch (error) {
        logger.warn('mcp.look-failed', { detail: errorText(error) });
      }
    }
  }

  async #lookAt(call: WaitingCall): Promise<void> {
    const { journal, clock } = this.#options;
    const id = call.waitId;
    const wait = await journal.waits.find(id);
    if (!call.isWaiting || call.waitId !== id) return; // it went on meanwhile
    if (wait?.isOpen && !call.isAsked) return await this.#withdraw(id);
    if (wait?.isOpen) return call.seenOpen();
    const isOver = wait?.by === WITHDRAWN && call.isAsked;
    if (!isOver && clock.monotonic() - call.seenAt < LONGEST_TURN_MS) return;
    this.#calls.delete(call.key);
    call.cancel(new Error('the run that asked is over'));
  }

  async #withdraw(wait: string): Promise<void> {
    const value = { ok: false, output: 'Error: the server no longer waits for the answer' };
    await this.#options.journal.commit([{ kind: 'settle', settled: { wait, value, by: WITHDRAWN } }]);
  }
}

function isOfServer(about: unknown): boolean {
  return typeof about === 'object' && about !== null && 'mcp' in about;
}

const TOO_MUCH: Elicited = { action: 'decline', reason: 'it asked too much in one call' };

interface OpenForm {
  readonly form: Form;
  readonly end: (came: Elicited) => void;
}

/** One call: at work, or with a form that a person fills in. */
class WaitingCall {
  readonly key: string;
  readonly server: string;
  readonly #clock: Clock;
  readonly #hasRoom: () => boolean;
  readonly #ending = new AbortController();
  readonly #work: Promise<ToolResult>;
  /** Forms that are not filled in, oldest first. */
  readonly #forms: OpenForm[] = [];
  /** The one that the newest wait asks about. */
  #current: OpenForm | undefined;
  #onForm: () => void = () => undefined;
  /** Waits that were returned, and values that came of them. */
  #asked = 0;
  #taken = 0;
  /** When the question was last seen to be open. */
  seenAt: number;

  constructor({ key, server, asker, work }: NewCall, clock: Clock, hasRoom: () => boolean) {
    this.key = key;
    this.server = server;
    this.#clock = clock;
    this.#hasRoom = hasRoom;
    this.seenAt = clock.monotonic();
    this.#work = work(asker && ((question, signal) => this.#elicit(asker, question, signal)), this.#ending.signal);
    const over = (): void => this.#endForms('the call is over');
    this.#work.then(over, over);
  }

  /** Its run waits for a person. */
  get isWaiting(): boolean {
    return this.#asked > this.#taken;
  }

  /** The server still wants to know what the newest wait asks for. */
  get isAsked(): boolean {
    return this.#current !== undefined && this.#forms.includes(this.#current);
  }

  /** Of the newest. */
  get waitId(): string {
    return nthWait(this.key, this.#asked);
  }

  seenOpen(): void {
    this.seenAt = this.#clock.monotonic();
  }

  /** The result, or a wait for the first form. An abort of `signal` meanwhile gives the call up. */
  async next(signal: AbortSignal): Promise<ToolResult> {
    const giveUp = (): void => this.cancel(signal.reason);
    signal.addEventListener('abort', giveUp, { once: true });
    if (signal.aborted) giveUp();
    try {
      for (;;) {
        const asked = Promise.withResolvers<undefined>();
        this.#onForm = () => asked.resolve(undefined);
        const [open] = this.#forms;
        if (open) return this.#wait(open);
        const result = await Promise.race([this.#work, asked.promise]);
        if (result) return result;
      }
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }

  /** What all its waits came to so far; the value of the newest is taken once. */
  take(values: readonly ToolResult[]): void {
    const value = values[this.#asked - 1];
    if (value && this.isWaiting && this.#current && this.isAsked) {
      const came = this.#current.form.answer(value);
      if (came) this.#current.end(came);
      else if (this.#asked >= MAX_ASKED) this.#current.end(TOO_MUCH);
    }
    // Where the run was cut off before it parked, the question is asked again under the same id.
    this.#asked = values.length;
    this.#taken = values.length;
  }

  cancel(reason: unknown): void {
    this.#ending.abort(reason);
    this.#endForms('the call was given up');
  }

  #wait(open: OpenForm): ToolResult {
    this.#asked += 1;
    this.#current = open;
    this.seenOpen();
    const about = open.form.ask(this.#clock.now());
    return { ok: true, output: '', wait: { kind: 'person', about, due: about.expiresAt } };
  }

  async #elicit(asker: Asker, question: Elicitation, signal: AbortSignal): Promise<Elicited> {
    if (this.#asked >= MAX_ASKED) return TOO_MUCH;
    if (!this.isWaiting && !this.#hasRoom()) return { action: 'decline', reason: 'too many calls wait for people now' };
    const ended = Promise.withResolvers<Elicited>();
    const open: OpenForm = {
      form: new Form(this.server, asker, question),
      end: (came) => {
        const place = this.#forms.indexOf(open);
        if (place !== -1) this.#forms.splice(place, 1);
        ended.resolve(came);
      },
    };
    const takenBack = (): void => open.end({ action: 'cancel', reason: 'the server did not wait for the answer' });
    signal.addEventListener('abort', takenBack, { once: true });
    if (signal.aborted || this.#ending.signal.aborted) takenBack();
    else {
      this.#forms.push(open);
      this.#onForm();
    }
    return await ended.promise.finally(() => signal.removeEventListener('abort', takenBack));
  }

  #endForms(reason: string): void {
    for (const { end } of [...this.#forms]) end({ action: 'cancel', reason });
  }
}
