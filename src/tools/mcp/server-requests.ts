/** What a server asks of its client: refused with the reason, but for questions to a person in mid-call. */
import { oneLine } from '../../lib/one-line.ts';
import type { CallLimit } from './call-limit.ts';
import { type Elicitation, type FieldValue, readElicitation, withDefaults } from './elicitation.ts';

/** Questions of one call that a person is asked; a question may have several fields. */
const MAX_QUESTIONS = 5;
/** Longest question of a server that is repeated to a model. UTF-16 units. */
const MAX_SHOWN = 300;
/** What a call tells its model of such requests. */
const MAX_NOTES = 3;

/** What a question came to. */
export type Elicited =
  | { readonly action: 'accept'; readonly content: Readonly<Record<string, FieldValue>> }
  /** `reason`: goes behind "and was refused: ". */
  | { readonly action: 'decline' | 'cancel'; readonly reason: string };

/** Asks the person. `signal` aborts when the server does not want to know any more. Must not reject. */
export type Elicit = (question: Elicitation, signal: AbortSignal) => Promise<Elicited>;

/** A call under way. */
export interface OpenCall {
  /** What it is to tell its model, a sentence each. */
  readonly notes: string[];
  readonly limit: CallLimit;
  /** The person it is made for: calls of two people are told apart. Absent = it may be any, or none. */
  readonly who?: string;
  /** Absent = no person can be asked. */
  readonly elicit?: Elicit;
}

const ELICIT = 'elicitation/create';
const NO_PERSON = 'Gatehouse does not pass the question on to a person';
const ASK_YOURSELF = '. Ask the person yourself, and call the tool again with the answer';

/** A method of a server's own request -> why it is refused, for the model and the log. */
const REFUSED: Readonly<Record<string, string>> = {
  [ELICIT]: `${NO_PERSON}${ASK_YOURSELF}`,
  'sampling/createMessage': 'a server may not use the model',
  'roots/list': 'a server is told of no directories',
};

export interface ServerRequestsOptions {
  /** Whether the server was told that people can be asked. */
  readonly asksPeople: boolean;
  /** It asked for something that it is not given. */
  readonly onRefused: (method: string) => void;
}

export class ServerRequests {
  readonly #options: ServerRequestsOptions;
  /** How many questions of each were asked, and how many are open. */
  readonly #calls = new Map<OpenCall, { asked: number; open: number }>();

  constructor(options: ServerRequestsOptions) {
    this.#options = options;
  }

  /** Until the result is disposed of, what the server asks may be for this call. */
  begin(call: OpenCall): Disposable {
    this.#calls.set(call, { asked: 0, open: 0 });
    return { [Symbol.dispose]: () => void this.#calls.delete(call) };
  }

  /** The result of a request, or rejects with what the server is told. */
  async answer(method: string, params: unknown, signal: AbortSignal): Promise<Record<string, unknown>> {
    if (method !== ELICIT || !this.#options.asksPeople) throw this.#refuse(method, params);
    const call = this.#callAsked();
    const { action, ...more } = typeof call === 'string' ? refusal(call) : await this.#elicit(call, params, signal);
    if (!('reason' in more)) return { action, ...more };
    // A question that its server took back was not refused.
    if (signal.aborted) return { action };
    this.#options.onRefused(method);
    if (typeof call === 'string') this.#noteAll(method, params, call);
    else note(noteOf(method, params, more.reason), [call]);
    return { action };
  }

  async #elicit(call: OpenCall, params: unknown, signal: AbortSignal): Promise<Elicited> {
    const counts = this.#calls.get(call);
    if (!call.elicit || !counts) return refusal(`${NO_PERSON}${ASK_YOURSELF}`);
    if (counts.asked >= MAX_QUESTIONS) return refusal(`a call may ask a person ${MAX_QUESTIONS} times`);
    const question = readElicitation(params);
    if (typeof question === 'string') return refusal(question);
    counts.asked += 1;
    counts.open += 1;
    using _paused = call.limit.pause();
    try {
      const said = await call.elicit(question, signal);
      return said.action === 'accept' ? { ...said, content: withDefaults(question, said.content) } : said;
    } finally {
      counts.open -= 1;
    }
  }

  /**
   * The call that a question belongs to, which no server says: one that waits for no answer yet. Words of one
   * person must not be asked for in the chat of another, and a call that waits may ask for more than one
   * thing.
   */
  #callAsked(): OpenCall | string {
    if (!this.#isOnePersons())
      return `calls for several people may be under way, and the server does not say which of them it asks${ASK_YOURSELF}`;
    const all = [...this.#calls.keys()];
    return all.find((call) => this.#calls.get(call)?.open === 0) ?? all[0] ?? 'no call is under way';
  }

  /** Whether a question to another person than this one is open. */
  isAskingOthers(who: string | undefined): boolean {
    return [...this.#calls].some(([call, { open }]) => open > 0 && (who === undefined || call.who !== who));
  }

  #isOnePersons(): boolean {
    const [first, ...others] = [...this.#calls.keys()];
    return others.every(({ who }) => who !== undefined && who === first?.who);
  }

  /** A refusal that the server reads, and that each call under way tells its model. */
  #refuse(method: string, params: unknown): Error {
    const why = (Object.hasOwn(REFUSED, method) ? REFUSED[method] : undefined) ?? 'Gatehouse does not know it';
    this.#options.onRefused(method);
    this.#noteAll(method, params, why);
    return Object.assign(new Error(why), { code: -32_601 });
  }

  /** The server's words may be about one person's call: where there are calls of others they are left out. */
  #noteAll(method: string, params: unknown, why: string): void {
    note(noteOf(method, this.#isOnePersons() ? params : undefined, why), this.#calls.keys());
  }
}

function note(text: string, calls: Iterable<OpenCall>): void {
  for (const { notes } of calls) if (notes.length < MAX_NOTES) notes.push(text);
}

function refusal(reason: string): Extract<Elicited, { readonly reason: string }> {
  return { action: 'decline', reason };
}

function noteOf(method: string, params: unknown, why: string): string {
  const said: unknown = typeof params === 'object' && params !== null ? Reflect.get(params, 'message') : undefined;
  const asked = typeof said === 'string' ? ` (“${oneLine(said, MAX_SHOWN)}”)` : '';
  return `[The server asked for ${oneLine(method, 60)}${asked} and was refused: ${why}.]`;
}
