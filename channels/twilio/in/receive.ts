import type { Context } from '../../kit/context.ts';
import { type Diagnosis, diagnose, down, REFUSED_WAIT_MS } from '../../kit/diagnosis.ts';
import type { HealthSum } from '../../kit/health-sum.ts';
import { keepReceiving } from '../../kit/keep-receiving.ts';
import type { CatchUp, Caught } from './catch-up.ts';

export interface ReceiveOptions extends Context {
  readonly catchUp: Pick<CatchUp, 'run'>;
  readonly health: Pick<HealthSum<'api'>, 'set'>;
  readonly pollMs: number;
  /** After the first reading, and after its failure: from then on webhooks need not wait for it. */
  readonly settled: () => void;
  /** After each reading; `first` after a start or a failure, when messages were bound to be missed. */
  readonly onRead: (caught: Caught, first: boolean) => Promise<void>;
}

/** Never rejects. */
export async function receive(options: ReceiveOptions): Promise<void> {
  const { catchUp, health, pollMs, clock, random, logger, signal, settled, onRead } = options;
  await keepReceiving({
    run: async (connected) => {
      for (let first = true; ; first = false) {
        const caught = await catchUp.run();
        connected();
        health.set('api', 'healthy');
        settled();
        if (caught.messages.length > 0) logger.info('twilio.caught-up', { messages: caught.messages.length });
        await onRead(caught, first);
        await clock.sleep(pollMs, signal);
      }
    },
    judge,
    health: (state, detail) => health.set('api', state, detail),
    event: 'twilio.list-failed',
    ...{ settled, clock, random, logger, signal },
  });
}

function judge(error: unknown): Diagnosis {
  return diagnose(error, {
    ofCall: ({ failure }) => {
      if (failure.kind !== 'api' || ![401, 403, 404].includes(failure.status ?? 0)) return undefined;
      const what = `Twilio refused the account SID or auth token (${failure.status} ${failure.detail})`;
      return down(`GH1501: ${what}: check both in its console, and that the account is active`, REFUSED_WAIT_MS);
    },
  });
}
