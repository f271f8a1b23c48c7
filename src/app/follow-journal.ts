import { errorText } from '../core/errors.ts';
import type { Delivery } from '../delivery/deliver.ts';
import type { GatewayParts } from './compose/gateway.ts';
import type { Base } from './compose/options.ts';
import { onOwnBehalf } from './origin.ts';

/** What was committed elsewhere, by a command or by another part of this process, is worked on too. */
export function followJournal({ options, journal, linked }: Base, { gateway, lanes }: GatewayParts, delivery: Delivery): void {
  journal.onOutsideChange(() => {
    linked.refresh().catch((error) => options.logger.warn('journal.look-failed', { detail: errorText(error) }));
    gateway.look().catch((error) => options.logger.warn('journal.look-failed', { detail: errorText(error) }));
  });
  journal.wakeup.listen((what, lane) =>
    onOwnBehalf(() => {
      if (what === 'run') lanes.fetch([lane]);
      else if (what === 'part') delivery.poke(lane);
    }),
  );
}
