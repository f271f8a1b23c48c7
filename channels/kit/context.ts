import type { ChannelHost } from '../../src/core/channel.ts';
import type { Clock, Logger } from '../../src/core/ports.ts';

/** What everything that goes on for as long as a channel runs is given. */
export interface Context {
  readonly clock: Clock;
  /** 0 <= x < 1; for jitter. */
  readonly random: () => number;
  readonly logger: Logger;
  /** Ends every wait; what was not accepted by then is the platform's to deliver again. */
  readonly signal: AbortSignal;
}

/** The same for what hands messages to the gateway. */
export interface ReceivingContext extends Context {
  readonly host: ChannelHost;
}
