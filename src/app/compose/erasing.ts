import type { Erasure } from '../../core/erasure.ts';
import { archivedSession, principalOf } from '../../core/ids.ts';
import type { People } from '../../core/people.ts';
import type { SessionStore } from '../../core/session.ts';
import { Erasing } from '../../runs/erasing.ts';
import type { Transcripts } from '../../runs/transcripts.ts';
import type { GatewayParts } from './gateway.ts';
import type { Base } from './options.ts';

interface ErasingParts {
  readonly people: Pick<People, 'erasures'>;
  readonly sessions: SessionStore;
  readonly transcripts: Transcripts;
}

/** What finishes erasures beside the work of the daemon. The ticker wakes it, and the caller closes it. */
export function composeErasing(
  { options }: Base,
  { people, sessions, transcripts }: ErasingParts,
  { gateway, lanes }: GatewayParts,
): Erasing {
  const { dataDir, clock, logger } = options;
  return new Erasing({
    ...{ erasures: people.erasures, store: sessions, dataDir, clock, logger },
    // First the turns of the session, then the lines: a turn may wait for lines to move.
    apart: (session, work) => lanes.within(session, () => transcripts.apart([session, archivedSession(session)], work)),
    forget: ({ ids, at }: Erasure) => gateway.forgetPerson(ids.map(principalOf), at),
  });
}
