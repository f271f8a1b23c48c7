import type { Model, ModelRequest } from '../../core/model.ts';
import { type RetryOptions, withRetry } from '../../llm/retry.ts';
import { createAdaptiveRouter } from '../../llm/routing/adaptive-router.ts';
import { createChain } from '../../llm/routing/chain.ts';
import { FakeClock } from '../fakes.ts';
import { draw } from './random.ts';
import { type ProviderCall, simulatedModel } from './simulated-model.ts';
import { createTraffic, type Work } from './traffic.ts';
import { createWorld, type Day, type Provider } from './world.ts';

/** `alone`: the first model with retry alone, which shows what routing is for and that losses are noticed. */
export const MODES = ['alone', 'off', 'chain', 'lane', 'hedge'] as const;
export type Mode = (typeof MODES)[number];

export interface RequestRecord {
  readonly work: Work;
  /** Ms from the start of the day. */
  readonly endedAt: number;
  readonly served: boolean;
  readonly switches: number;
  /** Ends other than the one it must have; a stream that breaks the port. */
  readonly ends: number;
}

export interface DayRecord {
  readonly mode: Mode;
  readonly world: readonly Provider[];
  readonly requests: readonly RequestRecord[];
  readonly calls: readonly ProviderCall[];
}

/** Where others stand by it is better to switch than to wait longer than this; a lone model has to wait. */
const PATIENCE_MS = 5_000;
/** After the last request: longer than any call can take. */
const AFTERMATH_MS = 900_000;

/** One day of traffic through the routing the daemon uses, on a virtual clock that starts at 0. */
export async function runDay(mode: Mode, day: Day): Promise<DayRecord> {
  const clock = new FakeClock(0);
  const world = createWorld(day);
  const traffic = createTraffic(day);
  const calls: ProviderCall[] = [];
  const model = createModel(mode, world, { clock, day, traffic, calls });
  const requests: RequestRecord[] = [];
  const running: Promise<void>[] = [];
  for (const work of traffic) {
    await clock.advance(work.at - clock.now());
    running.push(
      ask(model, work).then(({ served, switches, ends }) => {
        requests.push({ work, endedAt: clock.now(), served, switches, ends });
      }),
    );
  }
  await clock.advance(AFTERMATH_MS);
  await Promise.all(running);
  return { mode, world, requests, calls };
}

interface Parts {
  readonly clock: FakeClock;
  readonly day: Day;
  readonly traffic: readonly Work[];
  readonly calls: ProviderCall[];
}

function createModel(mode: Mode, world: readonly Provider[], { clock, day, traffic, calls }: Parts): Model {
  let draws = 0;
  const random = (): number => {
    draws += 1;
    return draw(day.seed, mode, draws);
  };
  const works = new Map(traffic.map((work) => [`r${work.index}`, work]));
  const work = (session: string): Work => {
    const found = works.get(session);
    if (!found) throw new Error(`nobody asked for ${session}`);
    return found;
  };
  const retry: RetryOptions = { clock, random, ...(mode === 'alone' ? {} : { maxWaitMs: PATIENCE_MS }) };
  const [first, ...others] = world.map((provider) => ({
    model: withRetry(simulatedModel({ provider, clock, seed: day.seed, work, calls }), retry),
  }));
  if (!first) throw new Error('a world without providers');
  if (mode === 'alone') return first.model;
  const slots = [first, ...others];
  return mode === 'chain' ? createChain(slots, { clock }) : createAdaptiveRouter(slots, { clock, random, mode });
}

async function ask(model: Model, work: Work): Promise<{ served: boolean; switches: number; ends: number }> {
  const request: ModelRequest = {
    messages: [],
    tools: [],
    context: { session: `r${work.index}`, channel: 'sim', sender: 'sim:1', purpose: 'turn' },
  };
  let served = false;
  let switches = 0;
  let ends = 0;
  for await (const event of model.call(request, new AbortController().signal)) {
    if (event.type === 'switched') switches += 1;
    if (event.type === 'done') served = true;
    if (event.type === 'done' || event.type === 'failed') ends += 1;
  }
  return { served, switches, ends };
}
