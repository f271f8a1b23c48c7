import type { ChannelHealth } from '../../src/core/channel.ts';

export type ReportHealth = (state: ChannelHealth, detail?: string) => void;

/** Passes on changes only: a quiet chat is polled once a minute for ever. `known` was reported before. */
export function changesOnly(report: ReportHealth, known?: ChannelHealth): ReportHealth {
  let last = known && `${known} `;
  return (state, detail) => {
    const next = `${state} ${detail ?? ''}`;
    if (next === last) return;
    last = next;
    report(state, detail);
  };
}

/** What to check, by the code of a connection that never stood (Node: errors of `dns`, `net` and `tls`). */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/ENOTFOUND|EAI_/, 'the host name is not known: check api_root and DNS'],
  [/ECONNREFUSED/, 'nothing listens there: check api_root'],
  [/CERT_HAS_EXPIRED/, 'the TLS certificate has expired: renew it on the server'],
  [/ALTNAME/, 'the TLS certificate is for another name: check api_root'],
  [/SELF_SIGNED|UNABLE_TO_/, 'nobody known here vouches for the TLS certificate: name its authority in NODE_EXTRA_CA_CERTS'],
  [/ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/, 'no answer from there: check the network and api_root'],
];

/** A failure to reach the platform, with what to check where that is known; for channels with `api_root`. */
export function withAdvice(detail: string): string {
  const advice = ADVICE.find(([pattern]) => pattern.test(detail))?.[1];
  return `GH1502: ${detail}${advice === undefined ? '' : `: ${advice}`}`;
}
