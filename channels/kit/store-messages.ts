import type { ChannelHealth, ChannelHost } from '../../src/core/channel.ts';
import { errorText } from '../../src/core/errors.ts';
import type { InboundMessage } from '../../src/core/message.ts';
import type { Context } from './context.ts';
import { JOURNAL_FULL, offer } from './offer.ts';

export interface StoringOptions extends Context {
  readonly host: Pick<ChannelHost, 'receive'>;
  /**
   * Tells the operator while nothing can be stored: `down` when the journal cannot write, `degraded` when it
   * has had no room for some seconds. Then once `healthy`, without a detail.
   */
  readonly onTrouble: (detail: string | undefined, state: Extract<ChannelHealth, 'healthy' | 'degraded' | 'down'>) => void;
}

/**
 * Offers one batch until the gateway accepted it, and says so while it cannot be stored. Only after this
 * resolved may the caller acknowledge. Rejects only with `signal.reason`.
 */
export async function storeMessages(
  batch: readonly InboundMessage[],
  cursor: string | undefined,
  options: StoringOptions,
): Promise<void> {
  const { host, clock, random, logger, signal, onTrouble } = options;
  let [told, full] = [false, false];
  const onRejected = (error: unknown, waitMs: number): void => {
    [told, full] = [true, false];
    onTrouble(`messages cannot be stored, trying again: ${errorText(error)}`, 'down');
    logger.error('channel.receive-failed', { error: errorText(error), waitMs });
  };
  const onFull = (): void => {
    if (!full) logger.warn('channel.journal-full', {});
    [told, full] = [true, true];
    onTrouble(JOURNAL_FULL, 'degraded');
  };
  await offer(batch, cursor, { host, clock, random, signal, onRejected, onFull });
  if (told) onTrouble(undefined, 'healthy');
}
