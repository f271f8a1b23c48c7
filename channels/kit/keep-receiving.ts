import type { Context } from './context.ts';
import type { Diagnosis } from './diagnosis.ts';
import { type ReconnectOptions, reconnect } from './reconnect.ts';
import type { ReportHealth } from './reported-health.ts';

export interface KeepReceivingOptions extends Context, Pick<ReconnectOptions, 'run' | 'steadyMs'> {
  /** What a connection ended with. */
  readonly judge: (error: unknown) => Diagnosis;
  readonly health: ReportHealth;
  /** Name of the log line about an end. */
  readonly event: string;
  /** Called after each end: the channel is known not to receive for now, and tries again by itself. */
  readonly settled: () => void;
}

/**
 * Runs a connection again and again until the signal aborts. Each end is told to the operator and the log
 * before the wait that its diagnosis asks for. Never rejects.
 */
export async function keepReceiving(options: KeepReceivingOptions): Promise<void> {
  const { judge, health, event, settled, logger } = options;
  const onEnd = (error: unknown): number => {
    const { state, detail, waitMs } = judge(error);
    health(state, detail);
    logger.warn(event, { detail });
    settled();
    return waitMs;
  };
  await reconnect({ ...options, onEnd });
}
