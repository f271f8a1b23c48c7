import { createHttpFetch } from '../../lib/http-fetch.ts';
import type { WireOptions } from './wire.ts';
import { type GuardOptions, guardFetch } from './wire-guard.ts';

/** The fetch of a wire: bounded by `guardFetch`, with the config's additions and the provider's signature. */
export function guardedFetch(options: WireOptions, guard: GuardOptions = {}): typeof fetch {
  const { headers = {}, extraBody, sign, clock } = options;
  return guardFetch(options.fetch ?? createHttpFetch(options.timeouts.connectMs), 'gatehouse', {
    ...guard,
    set: { ...headers, ...guard.set },
    ...(extraBody ? { extraBody } : {}),
    ...(sign ? { sign: (request) => sign({ ...request, now: clock.now() }) } : {}),
  });
}
