import type { ChannelHost } from '../../src/core/channel.ts';
import { errorText } from '../../src/core/errors.ts';
import type { InboundMessage } from '../../src/core/message.ts';
import type { Clock, Logger } from '../../src/core/ports.ts';
import { offer } from './offer.ts';

export interface StoringOptions {
  readonly host: Pick<ChannelHost, 'receive'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** What the operator is told while the journal cannot write; undefined once it can again. */
  readonly onTrouble: (detail: string | undefined) => void;
}

/**
 * Offers one batch until the gateway accepted it, and says so while it cannot be stored. Only after this resolved may the caller
 * acknowledge. Rejects with `signal.reason` alone.
 */
export async function storeMessages(
  batch: readonly InboundMessage[],
  cursor: string | undefined,
  options: StoringOptions,
): Promise<void> {
  const { host, clock, random, logger, signal, onTrouble } = options;
  let rejected = false;
  const onRejected = (error: unknown, waitMs: number): void => {
    rejected = true;
    onTrouble(`messages cannot be stored, trying again: ${errorText(error)}`);
    logger.error('channel.receive-failed', { error: errorText(error), waitMs });
  };
  await offer(batch, cursor, { host, clock, random, signal, onRejected });
  if (rejected) onTrouble(undefined);
}
