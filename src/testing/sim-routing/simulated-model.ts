import type { Model, ModelEvent, ModelFailure } from '../../core/model.ts';
import type { Clock } from '../../core/ports.ts';
import { abortedFailure, createFailure } from '../../llm/failure.ts';
import { draw, drawAround } from './random.ts';
import type { Work } from './traffic.ts';
import { outageAt, type Provider, slownessAt, type Trouble } from './world.ts';

/** One call as the provider saw it, for the bill and for the checks. */
export interface ProviderCall {
  readonly provider: string;
  /** Ms from the start of the day. */
  readonly at: number;
  readonly work: number;
  answered: boolean;
  costUsd: number;
}

export interface SimulatedModelOptions {
  readonly provider: Provider;
  readonly clock: Clock;
  readonly seed: number;
  readonly work: (session: string) => Work;
  readonly calls: ProviderCall[];
}

/** What the wires wait for a first token at least (spec B7). */
const FIRST_TOKEN_LIMIT_MS = 30_000;
/** Median of a stall. */
const STALL_MS = 12_000;
const RETRY_AFTER_MS = 20_000;
/** How long it takes a provider to say no. */
const REFUSAL_MS = 150;

const REFUSALS: Readonly<Record<Exclude<Trouble, 'hang' | 'cut'>, ModelFailure>> = {
  error: createFailure('server', { message: 'status 500', status: 500 }),
  network: createFailure('network', { message: 'connection refused' }),
  auth: createFailure('auth', { message: 'status 401', status: 401 }),
  limited: createFailure('rate-limit', { message: 'status 429', status: 429, retryAfterMs: RETRY_AFTER_MS }),
};

/** A provider in virtual time. Like real ones it bills the prompt once read, and the output produced. */
export function simulatedModel(options: SimulatedModelOptions): Model {
  const { provider, clock } = options;
  return {
    id: provider.id,
    contextWindow: 128_000,
    facts: { maxOutputTokens: 8_192, vision: true, tools: true, price: provider.price },
    async *call(request, signal) {
      const work = options.work(request.context.session);
      const call: ProviderCall = { provider: provider.id, at: clock.now(), work: work.index, answered: false, costUsd: 0 };
      const nth = options.calls.filter((other) => other.work === work.index && other.provider === provider.id).length;
      options.calls.push(call);
      try {
        yield* answer(options, work, call, (name) => [options.seed, provider.id, work.index, nth, name], signal);
      } catch {
        yield failed(abortedFailure()); // only an aborted sleep throws
      }
    },
  };
}

type Key = (name: string) => readonly (number | string)[];

async function* answer(
  { provider, clock }: SimulatedModelOptions,
  work: Work,
  call: ProviderCall,
  key: Key,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  const trouble = outageAt(provider, call.at)?.trouble;
  if (trouble === 'hang') {
    await clock.sleep(FIRST_TOKEN_LIMIT_MS, signal);
    return yield failed(createFailure('timeout', { message: 'no first token' }));
  }
  await clock.sleep(REFUSAL_MS, signal);
  if (trouble && trouble !== 'cut') return yield failed(REFUSALS[trouble]);
  if (draw(...key('error')) < provider.errorRate) return yield failed(REFUSALS.error);

  const slowness = slownessAt(provider, call.at);
  call.costUsd += (work.tokensIn * provider.price.in) / 1e6;
  const stalled = draw(...key('stall')) < provider.stallRate ? drawAround(STALL_MS, 0.4, ...key('stalled')) : 0;
  await clock.sleep(drawAround(provider.firstTokenMs, 0.4, ...key('first')) * slowness + stalled, signal);
  const writing = (work.tokensOut * 1_000 * slowness) / drawAround(provider.tokensPerSecond, 0.2, ...key('speed'));
  for (const half of ['first half', 'second half']) {
    yield { type: 'text', text: half };
    await clock.sleep(writing / 2, signal);
    call.costUsd += (work.tokensOut * provider.price.out) / 2e6;
    if (trouble === 'cut') return yield failed(createFailure('malformed', { message: 'the stream broke off' }));
  }
  call.answered = true;
  yield done(provider, work);
}

function done({ id }: Provider, { tokensIn, tokensOut }: Work): ModelEvent {
  const [provider = '', model = ''] = id.split('/');
  const usage = { tokensIn, tokensOut, tokensCached: 0 };
  return {
    type: 'done',
    answer: { text: 'first halfsecond half', toolCalls: [], stop: 'end', usage, provider, model },
  };
}

function failed(failure: ModelFailure): ModelEvent {
  return { type: 'failed', failure };
}
