import { errorText, isGatehouseError } from '../core/errors.ts';
import type { Emit } from '../core/events.ts';
import type { AnswerTarget } from '../core/message.ts';
import type { NewPart, Outbox } from '../core/outbox.ts';
import type { Clock } from '../core/ports.ts';
import { delayed } from '../delivery/notice.ts';

export interface DelayNoticeOptions {
  readonly journal: Pick<Outbox, 'enqueue'>;
  /** The part is on disk: delivery may look. */
  readonly onParts: (parts: readonly NewPart[]) => void;
  readonly clock: Clock;
  readonly emit: Emit;
}

/**
 * Reads the events of one turn and tells its chat, once, that the answer is held up (F24). The part is
 * committed before the turn's own parts as long as `settled` is awaited first, so it is sent before the
 * answer.
 */
export class DelayNotice {
  readonly #target: AnswerTarget;
  readonly #options: DelayNoticeOptions;
  #told: Promise<void> | undefined;

  constructor(target: AnswerTarget, options: DelayNoticeOptions) {
    this.#target = target;
    this.#options = options;
  }

  /** Passes every event on. */
  readonly emit: Emit = (event) => {
    this.#options.emit(event);
    if (event.type === 'model.waiting') this.#told ??= this.#tell(event.waitMs);
  };

  /** Never rejects: an answer must not be lost because the notice that it is late failed. */
  async settled(): Promise<void> {
    await this.#told;
  }

  async #tell(waitMs: number): Promise<void> {
    const { journal, onParts, clock, emit } = this.#options;
    const { id: messageId, channel } = this.#target;
    try {
      const parts = [delayed(this.#target, waitMs, clock.now())];
      await journal.enqueue(parts);
      onParts(parts);
    } catch (error) {
      const code = isGatehouseError(error) ? error.code : 'GH2003';
      emit({ type: 'failed', at: clock.now(), messageId, channel, code, detail: `no notice of a delay: ${errorText(error)}` });
    }
  }
}
