/** Keeps reading the list until the signal aborts, and says what is wrong while it cannot. */
import { errorText } from '../../src/core/errors.ts';
import type { Clock, Logger } from '../../src/core/ports.ts';
import { DeadlineError } from '../kit/deadline.ts';
import { reconnect } from '../kit/reconnect.ts';
import { withAdvice } from '../kit/reported-health.ts';
import type { CatchUp, Caught } from './catch-up.ts';
import { CallError } from './client.ts';
import type { Fault, Health } from './health.ts';

export interface ReceiveOptions {
  readonly catchUp: Pick<CatchUp, 'run'>;
  readonly health: Health;
  readonly pollMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** After the first reading, and after its failure: from then on webhooks need not wait for it. */
  readonly settled: () => void;
  /** After each reading; `first` after a start or a failure, when messages were bound to be missed. */
  readonly onRead: (caught: Caught, first: boolean) => Promise<void>;
}

/** Only the operator can mend refused credentials; an account that was suspended may come back. */
const REFUSED_WAIT_MS = 300_000;

/** Never rejects. */
export async function receive(options: ReceiveOptions): Promise<void> {
  const { catchUp, health, pollMs, clock, random, logger, signal, settled, onRead } = options;
  await reconnect({
    run: async (connected) => {
      for (let first = true; ; first = false) {
        const caught = await catchUp.run();
        connected();
        health.set('api', undefined);
        health.ready();
        settled();
        if (caught.messages.length > 0) logger.info('twilio.caught-up', { messages: caught.messages.length });
        await onRead(caught, first);
        await clock.sleep(pollMs, signal);
      }
    },
    onEnd: (error) => {
      const { fault, waitMs } = diagnose(error);
      health.set('api', fault);
      logger.warn('twilio.list-failed', { detail: fault.detail });
      settled();
      return waitMs;
    },
    clock,
    random,
    signal,
  });
}

/** What the operator is told, and how long to wait beyond the ordinary back-off. */
function diagnose(error: unknown): { fault: Fault; waitMs: number } {
  if (error instanceof DeadlineError) return degraded(`GH1502: the platform does not answer (${error.message})`);
  if (!(error instanceof CallError)) return degraded(errorText(error));
  const { failure } = error;
  if (failure.kind !== 'api') {
    return degraded(withAdvice(failure.detail));
  }
  const { status, description, retryAfterMs = 0 } = failure;
  if (status === 401 || status === 403 || status === 404) {
    const detail = `GH1501: Twilio refused the account SID or auth token (${status} ${description}): check both in its console, and that the account is active`;
    return { fault: { state: 'down', detail }, waitMs: REFUSED_WAIT_MS };
  }
  return { ...degraded(`GH1502: ${status} ${description}`), waitMs: retryAfterMs };
}

function degraded(detail: string): { fault: Fault; waitMs: number } {
  return { fault: { state: 'degraded', detail }, waitMs: 0 };
}
