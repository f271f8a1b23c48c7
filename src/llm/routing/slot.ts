import type { Model, ModelRequest } from '../../core/model.ts';
import type { Clock } from '../../core/ports.ts';
import type { SlotStatus } from '../../core/status.ts';
import { priceAt } from '../catalog/price.ts';
import { estimateRequestTokens } from '../tokens.ts';
import { Circuit, type CircuitOptions } from './circuit.ts';
import { Metrics } from './metrics.ts';
import type { ScoreInput } from './score.ts';

/** One model with its wrappers (cost, budget, retry). Its place in the list is its priority. */
export interface Slot {
  readonly model: Model;
}

/** A slot with what was learnt of it. */
export class SlotState {
  readonly model: Model;
  readonly metrics: Metrics;
  readonly circuit: Circuit;
  /** Monotonic ms of the start of the last call. */
  usedAt: number | undefined;

  readonly #clock: Pick<Clock, 'now'>;

  constructor(slot: Slot, options: CircuitOptions & { readonly clock: Pick<Clock, 'now'> }) {
    this.#clock = options.clock;
    this.model = slot.model;
    this.metrics = new Metrics();
    this.circuit = new Circuit(options);
  }

  get provider(): string {
    return this.model.id.split('/', 1)[0] ?? '';
  }

  /**
   * USD per million tokens, three in for each one out, which is about what a conversation has; undefined =
   * unknown.
   */
  get cost(): number | undefined {
    const price = priceAt(this.model.facts?.price ?? null, this.#clock.now());
    return price ? (3 * price.in + price.out) / 4 : undefined;
  }

  get scoreInput(): ScoreInput {
    const { metrics } = this;
    return { calls: metrics.calls, errorRate: metrics.errorRate, throughput: metrics.tokensPerSecond, cost: this.cost };
  }

  /** Whether the model can take the whole request as it is. What is not known counts as able. */
  suits(request: ModelRequest, inputTokens: number): boolean {
    const { facts, contextWindow } = this.model;
    if (inputTokens > contextWindow) return false;
    if (facts?.vision === false && (request.images?.size ?? 0) > 0) return false;
    return facts?.tools !== false || request.tools.length === 0;
  }
}

/** A first token this many times slower than another model's, and this late at all, is as bad as none. */
const SLOW_TIMES = 4;
const SLOW_MS = 10_000;
/** Where none of the others was measured yet. */
const SLOW_ALONE_MS = 20_000;

/**
 * After how long the first token of an answer counts as a failure, so that a model that is merely slow is
 * left too. Never for a model that thinks, which is slow on purpose, for one that is free, which others would
 * not replace at its price, and where no other is well.
 */
export function slowAfterMs(slot: SlotState, all: readonly SlotState[]): number {
  const others = all.filter((other) => other !== slot && other.circuit.state === 'closed');
  if (others.length === 0 || slot.cost === 0 || (slot.model.facts?.thinking?.length ?? 0) > 0) return Infinity;
  const measured = others.flatMap(({ metrics }) => metrics.firstTokenMs ?? []);
  return measured.length === 0 ? SLOW_ALONE_MS : Math.max(SLOW_MS, SLOW_TIMES * Math.min(...measured));
}

/** `now`: monotonic ms. */
export function statusOf({ model, circuit, metrics, usedAt }: SlotState, score: number, now: number): SlotStatus {
  return {
    id: model.id,
    circuit: circuit.state,
    consecutiveFailures: circuit.consecutiveFailures,
    successes: metrics.successes,
    failures: metrics.failures,
    errorRate: metrics.errorRate,
    latencyMs: metrics.latencyMs ?? null,
    p95Ms: metrics.p95Ms ?? null,
    firstTokenMs: metrics.firstTokenMs ?? null,
    tokensPerSecond: metrics.tokensPerSecond ?? null,
    score,
    idleMs: usedAt === undefined ? null : now - usedAt,
  };
}

/** The slots that can take the request, or all when none can: then a failure says what is wrong. */
export function suited(slots: readonly SlotState[], request: ModelRequest): readonly SlotState[] {
  // Equal windows fit all or none; the estimate reads the whole conversation.
  const [first, ...others] = slots.map(({ model }) => model.contextWindow);
  const inputTokens = others.every((window) => window === first) ? 0 : estimateRequestTokens(request);
  const able = slots.filter((slot) => slot.suits(request, inputTokens));
  return able.length > 0 ? able : slots;
}
