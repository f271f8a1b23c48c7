import { errorText } from '../../core/errors.ts';
import type { ModelAnswer, ModelEvent, ModelFailure, ModelRequest } from '../../core/model.ts';
import type { Clock } from '../../core/ports.ts';
import { abortedFailure, createFailure } from '../failure.ts';
import type { Pass } from './circuit.ts';
import { isModelFault } from './failover.ts';
import { type SlotState, slowAfterMs } from './slot.ts';

export interface AttemptOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The slot and its alternatives. */
  readonly all: readonly SlotState[];
}

/**
 * One call of one slot. Its outcome is charged to that slot, also when the stream breaks late. A call that
 * was closed, or that failed because its signal aborted, is not recorded.
 */
export class Attempt {
  readonly slot: SlotState;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #open: () => AsyncIterator<ModelEvent>;
  readonly #pass: Pass;
  readonly #slowAfterMs: number;
  /** Time the model took so far; the time a consumer takes between two events is not the model's. */
  #waitedMs = 0;
  #firstTokenMs: number | undefined;
  #events: AsyncIterator<ModelEvent> | undefined;
  #closed = false;
  /** Whether text or reasoning came that no restart took back. */
  streamed = false;

  constructor(slot: SlotState, request: ModelRequest, options: AttemptOptions) {
    this.slot = slot;
    this.#clock = options.clock;
    this.#signal = options.signal;
    this.#slowAfterMs = slowAfterMs(slot, options.all);
    this.#pass = slot.circuit.enter();
    slot.usedAt = options.clock.monotonic();
    this.#open = () => slot.model.call(request, options.signal)[Symbol.asyncIterator]();
  }

  /** The next event. Never rejects. Must not be called again after `done` or `failed`, of which one comes. */
  async next(): Promise<ModelEvent> {
    const from = this.#clock.monotonic();
    const event = await this.#read();
    this.#waitedMs += this.#clock.monotonic() - from;
    if (event.type === 'text' || event.type === 'reasoning') {
      this.streamed = true;
      this.#firstTokenMs ??= this.#waitedMs;
    } else if (event.type === 'restart') {
      this.streamed = false;
    } else if (event.type === 'done') {
      this.#answered(event.answer);
      await this.#closeStream();
    } else if (event.type === 'failed') {
      this.#failed(event.failure);
      await this.#closeStream();
      if (this.#signal.aborted) return { type: 'failed', failure: abortedFailure() };
    }
    return event;
  }

  get isTrial(): boolean {
    return this.#pass.trial;
  }

  /** Goes on from `upcoming` to the event that shows if the model answers. For a trial that was outrun. */
  async watch(upcoming: Promise<ModelEvent> | undefined): Promise<ModelEvent> {
    let event = await (upcoming ?? this.next());
    const isOpen = (): boolean => event.type !== 'done' && event.type !== 'failed';
    while (isOpen() && this.#firstTokenMs === undefined) event = await this.next();
    if (isOpen()) this.#settle();
    return event;
  }

  /**
   * Closes the stream; a call that had not ended is given up without a record. While `next` is pending the
   * signal has to be aborted first, because the model cannot see that its consumer leaves.
   */
  async close(): Promise<void> {
    this.#closed = true;
    this.#pass.released();
    await this.#closeStream();
  }

  async #read(): Promise<ModelEvent> {
    try {
      this.#events ??= this.#open();
      const step = await this.#events.next();
      if (!step.done) return step.value;
      return broken(`${this.slot.model.id} ended without an answer`);
    } catch (error) {
      return broken(`${this.slot.model.id} threw: ${errorText(error)}`);
    }
  }

  /**
   * An answer without text or calls reaches the agent, which records its cost and asks again (spec C4). It is
   * a failure of this slot all the same, so that the second one in a row sends the next try elsewhere.
   */
  #answered(answer: ModelAnswer): void {
    if (this.#closed) return;
    if (answer.stop === 'end' && answer.text.trim() === '' && answer.toolCalls.length === 0) {
      this.#charge();
      return;
    }
    const firstToken = this.#firstTokenMs === undefined ? {} : { firstTokenMs: this.#firstTokenMs };
    this.slot.metrics.succeeded({ latencyMs: this.#waitedMs, ...firstToken, tokensOut: answer.usage.tokensOut });
    this.#settle();
  }

  #settle(): void {
    if ((this.#firstTokenMs ?? 0) > this.#slowAfterMs) this.#pass.failed();
    else this.#pass.succeeded();
  }

  #failed(failure: ModelFailure): void {
    if (this.#closed || this.#signal.aborted || !isModelFault(failure)) this.#pass.released();
    else this.#charge();
  }

  #charge(): void {
    this.slot.metrics.failed({ expected: this.slot.circuit.state !== 'closed' });
    this.#pass.failed();
  }

  async #closeStream(): Promise<void> {
    try {
      await this.#events?.return?.();
    } catch {
      // A stream that fails while it is closed has nothing more to say: its outcome is known.
    }
  }
}

function broken(message: string): ModelEvent {
  return { type: 'failed', failure: createFailure('malformed', { message }) };
}
