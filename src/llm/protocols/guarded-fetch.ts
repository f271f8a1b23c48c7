import { connectLimitedFetch } from '../../lib/connect-limited-fetch.ts';
import type { WireOptions } from './wire.ts';
import { type GuardOptions, guardFetch } from './wire-guard.ts';

/** The fetch of one wire: bounded by `guardFetch`, with what the config adds to requests and the signature of the provider. */
export function guardedFetch(options: WireOptions, guard: GuardOptions = {}): typeof fetch {
  const { headers = {}, extraBody, sign, clock } = options;
  return guardFetch(options.fetch ?? connectLimitedFetch(options.timeouts.connectMs), 'gatehouse', {
    ...guard,
    set: { ...headers, ...guard.set },
    ...(extraBody ? { extraBody } : {}),
    ...(sign ? { sign: (request) => sign({ ...request, now: clock.now() }) } : {}),
  });
}
