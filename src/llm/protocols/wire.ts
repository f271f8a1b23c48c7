/** What all wires share: options, the loop around an answer with its time limits, its errors as failures. */
import type { Model, ModelAnswer, ModelEvent, ModelFacts, ModelFailure, ModelRequest, Usage } from '../../core/model.ts';
import type { Clock } from '../../core/ports.ts';
import { createEchoRedactor, type Redact, urlSecrets } from '../../lib/echo-redactor.ts';
import type { HttpAnswer, HttpFetch } from '../../lib/http-fetch.ts';
import { NO_LONGER_NEEDED } from '../../lib/no-longer-needed.ts';
import { CallTimeout, type ModelTimeouts, Watchdog } from '../deadlines.ts';
import { abortedFailure, createFailure } from '../failure.ts';
import { estimateRequestTokens } from '../tokens.ts';
import type { Added } from './answer-assembly.ts';
import { addToBurst } from './burst.ts';
import { readEvents } from './event-stream.ts';
import { type FailureContext, failureOfConnection, failureOfErrorObject, failureOfStatus } from './http-failure.ts';
import { mayThink } from './thinking.ts';
import { type Signer, WireFault } from './wire-guard.ts';

export interface WireOptions {
  readonly provider: string;
  readonly model: string;
  /** Without a trailing slash; each wire's file says what part of the path it holds. */
  readonly baseUrl: string;
  /** Absent for servers that take none; then no key is sent. */
  readonly apiKey?: string;
  /** The header that carries the key, where it is not the usual one of the wire. */
  readonly keyHeader?: string;
  /** Sent with every request; none of them is a secret. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Laid over the body of every request. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** In place of a key. */
  readonly sign?: Signer;
  readonly contextWindow: number;
  readonly facts?: ModelFacts;
  /** The wire is documented to send signs of life while the model thinks. */
  readonly promisesSigns?: boolean;
  readonly timeouts: ModelTimeouts;
  readonly clock: Clock;
  readonly fetch?: HttpFetch;
}

/** A model that can load its SDK ahead of the first call. */
export type WarmableModel = Model & { warm(): Promise<void> };

/** Puts an answer together from the chunks of one wire. */
export interface Assembly {
  /** `progress`: part of the answer came, not only a sign of life. Throws what the chunk says went wrong. */
  add(chunk: unknown): Added;
  /** The wire said that the answer is complete. */
  readonly finished: boolean;
  /** The model repeats itself: nothing more is read (spec B7). */
  readonly looping: boolean;
  /** What is billed so far, by the provider's count or ours; undefined before anything arrived. */
  readonly usage: Usage | undefined;
  /** What is left to yield; the last one is `done` or `failed`. */
  end(): readonly ModelEvent[];
}

/** After the answer only the usage is missing: a server that keeps the line open is not waited for longer. */
const USAGE_WAIT_MS = 2_000;

/**
 * One call: opens the stream, feeds the assembly, ends with just one `done` or `failed`. Aborts what `open`
 * made when `signal` aborts or a time limit passes; after an abort nothing but `failed` is yielded.
 */
export async function* callWire(
  options: WireOptions,
  request: ModelRequest,
  signal: AbortSignal,
  wire: {
    readonly assembly: (inputTokens: number) => Assembly;
    readonly open: (signal: AbortSignal, inputTokens: number) => Promise<Pick<HttpAnswer, 'body'>>;
  },
): AsyncGenerator<ModelEvent> {
  if (signal.aborted) return yield failed(abortedFailure());
  const inputTokens = estimateRequestTokens(request);
  const assembly = wire.assembly(inputTokens);
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const orAbort = createRace(controller.signal);
  let burst: ModelEvent[] = [];
  let streaming = false;
  let isOver = false;
  let closing: readonly ModelEvent[];
  const { clock, timeouts, promisesSigns = false } = options;
  const thinks = mayThink(request.thinking, options.facts?.thinking);
  using watchdog = new Watchdog({ clock, controller, timeouts, inputTokens, thinks, promisesSigns });
  try {
    const { body } = await orAbort(wire.open(controller.signal, inputTokens));
    streaming = true;
    watchdog.opened();
    const stream = readEvents(body, () => watchdog.sign());
    while (!assembly.looping) {
      const { done, value: chunks } = await orAbort(stream.next());
      isOver = done === true;
      if (done) break;
      for (const chunk of chunks) {
        const { events, progress } = assembly.add(chunk);
        for (const event of events) addToBurst(burst, event);
        const isThought = progress === 'thinking' || (events.length > 0 && events.every(({ type }) => type === 'reasoning'));
        if (progress) watchdog.progress(!isThought);
        if (assembly.finished) watchdog.shorten(USAGE_WAIT_MS);
        if (assembly.looping) break;
      }
      if (burst.length === 0) continue;
      const due = burst;
      burst = [];
      watchdog.pause();
      // Not `yield*`: over an array it makes three more promises for each event.
      for (const event of due) if (!signal.aborted) yield event;
      watchdog.resume();
    }
    controller.signal.throwIfAborted();
    closing = withoutSecrets(assembly.end(), options);
  } catch (error) {
    // A complete answer is not lost because its connection ended badly afterwards.
    if (assembly.finished && !signal.aborted) closing = [...burst, ...withoutSecrets(assembly.end(), options)];
    else {
      const failure = signal.aborted ? abortedFailure() : toFailure(error, streaming, options);
      const { usage } = assembly;
      closing = [...(signal.aborted ? [] : burst), failed(usage ? { ...failure, usage } : failure)];
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Closes the socket when the consumer left early; at the end of the stream nothing is left to close.
    if (!isOver) controller.abort(NO_LONGER_NEEDED);
  }
  yield* closing;
}

function failed(failure: ModelFailure): ModelEvent {
  return { type: 'failed', failure };
}

function toFailure(error: unknown, streaming: boolean, options: WireOptions): ModelFailure {
  if (error instanceof CallTimeout) return createFailure('timeout', { message: `${options.provider}: ${error.message}` });
  const redact = redactorFor(options);
  const fault = findFault(error);
  if (fault) return { ...fault.failure, message: redact(fault.failure.message) };
  const context: FailureContext = { provider: options.provider, model: options.model, redact, now: options.clock.now() };
  if (isApiError(error)) {
    if (error.status !== undefined) return failureOfStatus(error.status, error.error, error.headers, context);
    if (error.error !== undefined) return failureOfErrorObject(error.error, context);
  }
  if (error instanceof SyntaxError)
    return createFailure('malformed', { message: `${options.provider} sent a chunk that is not JSON` });
  if (streaming) return createFailure('malformed', { message: `${options.provider} broke the stream off` });
  return failureOfConnection(error, URL.parse(options.baseUrl)?.origin ?? 'an invalid base_url', context);
}

/** A shorter key is a word such as `test`, at a server of one's own, and may stand in any answer. */
const LEAST_KEY = 12;

/** Failures quote words of the answer, such as its stop reason (A29), and an answer may speak the key. */
function withoutSecrets(events: readonly ModelEvent[], options: WireOptions): readonly ModelEvent[] {
  return events.flatMap((event): readonly ModelEvent[] => {
    if (event.type === 'failed') return [failed({ ...event.failure, message: redactorFor(options)(event.failure.message) })];
    const { apiKey = '' } = options;
    const said = event.type === 'done' && apiKey.length >= LEAST_KEY ? JSON.stringify(event.answer) : '';
    if (event.type !== 'done' || said === '' || !said.includes(JSON.stringify(apiKey).slice(1, -1))) return [event];
    // Nor may it be kept in a session; what is kept for the provider is of no use once it is changed.
    const { providerState: _, ...answer } = JSON.parse(said, (_name, value) =>
      typeof value === 'string' ? value.replaceAll(apiKey, '[redacted]') : value,
    ) as ModelAnswer;
    if (answer.text === event.answer.text) return [{ type: 'done', answer }];
    return [
      { type: 'restart', reason: 'secret' },
      { type: 'text', text: answer.text },
      { type: 'done', answer },
    ];
  });
}

function redactorFor({ apiKey, baseUrl }: WireOptions): Redact {
  return createEchoRedactor([apiKey, ...urlSecrets(baseUrl)]);
}

interface ApiError {
  readonly status: number | undefined;
  readonly error: unknown;
  readonly headers: Headers | undefined;
}

/** By shape: the SDK's classes are only there once it is loaded. */
function isApiError(error: unknown): error is ApiError {
  return error instanceof Error && 'status' in error && 'error' in error && 'headers' in error;
}

function findFault(error: unknown): WireFault | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 6; at = at.cause, depth += 1)
    if (at instanceof WireFault) return at;
  return undefined;
}

/**
 * Makes waiting end at once when the signal aborts: what is waited for may still be cleaning up by then. The
 * function settles as its promise does, or rejects with the signal's reason. One wait at a time. One listener
 * per call, because adding and removing one per chunk costs a sixth of reading the chunk.
 */
function createRace(signal: AbortSignal): <T>(promise: PromiseLike<T>) => Promise<T> {
  let rejectWaiting: ((reason: unknown) => void) | undefined;
  // Asking the signal each time is dearer than remembering.
  let { aborted } = signal;
  signal.addEventListener(
    'abort',
    () => {
      aborted = true;
      rejectWaiting?.(signal.reason);
    },
    { once: true },
  );
  return (promise) =>
    new Promise((resolve, reject) => {
      rejectWaiting = reject;
      promise.then(resolve, reject);
      if (aborted) reject(signal.reason);
    });
}
