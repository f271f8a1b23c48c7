import type { FailureKind, Model, ModelAnswer, ModelEvent, ModelFailure, ModelRequest } from '../core/model.ts';
import type { Clock } from '../core/ports.ts';

/** A call that the model asks for. An object becomes JSON text; a string stays as it is, also malformed. */
export interface ScriptedCall {
  readonly id?: string;
  readonly name: string;
  readonly arguments?: string | Readonly<Record<string, unknown>>;
}

export interface ScriptedAnswer extends Partial<Omit<ModelAnswer, 'toolCalls'>> {
  readonly toolCalls?: readonly ScriptedCall[];
  /** Waits this long on the model's clock before the first event. ms. */
  readonly delayMs?: number;
  /** Text pieces streamed before the end; absent = the whole text in one. */
  readonly chunks?: readonly string[];
}

/** What one call does. A string is an answer of that text. */
export type ScriptStep =
  | string
  | ScriptedAnswer
  | { readonly fail: FailureKind | ModelFailure; readonly delayMs?: number }
  /** Waits until the signal aborts. `deaf` does not even end then. */
  | { readonly hang: true | 'deaf' }
  /** Raw events, for streams that break the rules. */
  | { readonly events: readonly ModelEvent[] };

export type ScriptFunction = (request: ModelRequest, signal: AbortSignal) => ScriptStep | Promise<ScriptStep>;

/** A list is used up call by call; a function alone answers every call. */
export type Script = readonly (ScriptStep | ScriptFunction)[] | ScriptFunction;

export interface ScriptedModelOptions {
  readonly id?: string;
  readonly contextWindow?: number;
  readonly demo?: boolean;
  /** Needed for `delayMs`. */
  readonly clock?: Clock;
}

export interface ScriptedModel extends Model {
  /** The request of every call, in order. */
  readonly requests: readonly ModelRequest[];
  /** Steps of the list that no call has taken. */
  remaining(): number;
}

/** A model that does what the test wrote down. A call beyond the end fails with kind `bad-request`. */
export function scriptedModel(script: Script, options: ScriptedModelOptions = {}): ScriptedModel {
  const requests: ModelRequest[] = [];
  const steps = typeof script === 'function' ? undefined : [...script];
  const id = options.id ?? 'scripted/model';
  return {
    id,
    contextWindow: options.contextWindow ?? 128_000,
    ...(options.demo === undefined ? {} : { demo: options.demo }),
    requests,
    remaining: () => steps?.length ?? 0,
    async *call(request, signal) {
      requests.push(request);
      const next = typeof script === 'function' ? script : steps?.shift();
      if (next === undefined) {
        yield failed({ kind: 'bad-request', message: `the script has no answer for call ${requests.length}` });
        return;
      }
      const step = typeof next === 'function' ? await next(request, signal) : next;
      yield* play(step, id, options.clock, signal);
    },
  };
}

async function* play(step: ScriptStep, id: string, clock: Clock | undefined, signal: AbortSignal): AsyncIterable<ModelEvent> {
  if (typeof step === 'string') return yield* play({ text: step }, id, clock, signal);
  if ('events' in step) return yield* step.events;
  if ('hang' in step) {
    await aborted(signal, step.hang === 'deaf');
    return yield failed({ kind: 'aborted' });
  }
  if (step.delayMs !== undefined && !(await waited(step.delayMs, clock, signal))) return yield failed({ kind: 'aborted' });
  if ('fail' in step) return yield failed(typeof step.fail === 'string' ? { kind: step.fail } : step.fail);
  const answer = complete(step, id);
  if (answer.reasoning !== undefined) yield { type: 'reasoning', text: answer.reasoning };
  for (const text of step.chunks ?? (answer.text === '' ? [] : [answer.text])) yield { type: 'text', text };
  yield { type: 'done', answer };
}

function complete(step: ScriptedAnswer, id: string): ModelAnswer {
  const [provider = 'scripted', model = 'model'] = id.split('/');
  const toolCalls = (step.toolCalls ?? []).map((call, i) => ({
    id: call.id ?? `t${i}`,
    name: call.name,
    arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments ?? {}),
  }));
  return {
    text: step.text ?? (step.chunks ?? []).join(''),
    ...(step.reasoning === undefined ? {} : { reasoning: step.reasoning }),
    toolCalls,
    stop: step.stop ?? (toolCalls.length > 0 ? 'tools' : 'end'),
    usage: step.usage ?? { tokensIn: 10, tokensOut: 5, tokensCached: 0 },
    provider: step.provider ?? provider,
    model: step.model ?? model,
    ...(step.providerState ? { providerState: step.providerState } : {}),
    ...(step.servedModel === undefined ? {} : { servedModel: step.servedModel }),
  };
}

const CODES: Readonly<Record<FailureKind, string>> = {
  'rate-limit': 'GH2102',
  overloaded: 'GH2103',
  server: 'GH2103',
  network: 'GH2104',
  timeout: 'GH2105',
  auth: 'GH2101',
  payment: 'GH2110',
  'bad-request': 'GH2106',
  forbidden: 'GH2118',
  'model-gone': 'GH2117',
  'context-length': 'GH2107',
  'content-filter': 'GH2111',
  empty: 'GH2108',
  malformed: 'GH2109',
  budget: 'GH2112',
  aborted: 'GH2105',
};

/** Of which a chat is told: all but that of a call that was taken back. */
export const FAILURE_KINDS = (Object.keys(CODES) as FailureKind[]).filter((kind) => kind !== 'aborted');
const RETRYABLE: readonly FailureKind[] = ['rate-limit', 'overloaded', 'server', 'network', 'timeout', 'empty', 'malformed'];

function failed(failure: Partial<ModelFailure> & Pick<ModelFailure, 'kind'>): ModelEvent {
  const { kind } = failure;
  const base = { code: CODES[kind], message: `scripted ${kind}`, hint: 'none', retryable: RETRYABLE.includes(kind) };
  return { type: 'failed', failure: { ...base, ...failure } };
}

async function aborted(signal: AbortSignal, deaf: boolean): Promise<void> {
  if (deaf) return new Promise(() => undefined);
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** False = aborted while waiting. */
async function waited(ms: number, clock: Clock | undefined, signal: AbortSignal): Promise<boolean> {
  if (!clock) throw new Error('a scripted delay needs the `clock` option');
  try {
    await clock.sleep(ms, signal);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
