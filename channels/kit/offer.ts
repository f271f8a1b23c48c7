import type { ChannelHost } from '../../src/core/channel.ts';
import type { InboundMessage } from '../../src/core/message.ts';
import type { Clock } from '../../src/core/ports.ts';
import { backoffMs } from '../../src/lib/backoff.ts';

/** Said by every channel while the gateway has no room. */
export const JOURNAL_FULL = 'the journal is full: messages are taken again once answers are finished';

export interface OfferOptions {
  readonly host: Pick<ChannelHost, 'receive'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Called before each wait that follows a rejected `receive` (the journal fails): report health here. */
  readonly onRejected: (error: unknown, waitMs: number) => void;
  /** Called before each wait once the gateway has had no room for `BUSY_MS`: report health here too. */
  readonly onFull: () => void;
  /** First wait after a rejection; doubled up to the cap. Defaults 1 s and 60 s. */
  readonly baseMs?: number;
  readonly capMs?: number;
}

/** Room that comes within this time is no trouble: answers end all the time. ms. */
const BUSY_MS = 5_000;

/**
 * Offers one batch until the gateway accepted it: the same batch again after a busy receipt, and again with
 * back-off when `receive` rejects. Only after this resolved may the caller acknowledge. Rejects only with
 * `signal.reason`.
 */
export async function offer(batch: readonly InboundMessage[], cursor: string | undefined, options: OfferOptions): Promise<void> {
  const { host, clock, random, signal, onRejected, onFull, baseMs = 1_000, capMs = 60_000 } = options;
  let failures = 0;
  let busySince: number | undefined;
  for (;;) {
    signal.throwIfAborted();
    let waitMs: number;
    try {
      const receipt = await host.receive(batch, cursor);
      if (receipt.kind === 'accepted') return;
      failures = 0;
      waitMs = receipt.retryAfterMs;
      busySince ??= clock.now();
      if (clock.now() - busySince >= BUSY_MS) onFull();
    } catch (error) {
      signal.throwIfAborted();
      busySince = undefined;
      waitMs = backoffMs(failures, { baseMs, capMs, random });
      failures += 1;
      onRejected(error, waitMs);
    }
    await clock.sleep(waitMs, signal);
  }
}
