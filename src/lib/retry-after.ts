/** A longer wait is a mistake of the server, or meant to harm. */
const LONGEST_MS = 366 * 86_400_000;
/** Spec B3: added to a wait that was read from prose, which servers round down. */
const PROSE_MARGIN_MS = 1_000;

export interface HeaderLookup {
  get(name: string): string | null;
}

/**
 * How long a server asks us to wait, in ms from `now` (epoch ms): `retry-after-ms`, then `Retry-After` in
 * seconds or as an HTTP date (RFC 9110 10.2.3), then "try again in 1m2.5s" or "retry after 7 seconds" in the
 * body.
 */
export function parseRetryAfter(headers: HeaderLookup | undefined, body: string, now: number): number | undefined {
  const waitMs = readWait(headers, body, now);
  return waitMs === undefined ? undefined : Math.min(waitMs, LONGEST_MS);
}

function readWait(headers: HeaderLookup | undefined, body: string, now: number): number | undefined {
  const ms = Number.parseFloat(headers?.get('retry-after-ms') ?? '');
  if (ms >= 0) return Math.ceil(ms);
  const header = headers?.get('retry-after')?.trim();
  if (header) {
    if (/^\d+(\.\d+)?$/.test(header)) return Math.ceil(Number(header) * 1_000);
    const date = Date.parse(header);
    if (!Number.isNaN(date)) return Math.max(0, date - now);
  }
  return parseProse(body);
}

function parseProse(body: string): number | undefined {
  const found = /(?:try again|retry) (?:in|after)\s+((?:\d+(?:\.\d+)?\s*(?:ms|hours?|h|minutes?|min|m|seconds?|s)\s*)+)/i.exec(
    body,
  )?.[1];
  if (!found) return undefined;
  let total = 0;
  for (const [, amount, unit = ''] of found.matchAll(/(\d+(?:\.\d+)?)\s*(ms|h|m|s)/gi)) total += Number(amount) * unitMs(unit);
  return Math.ceil(total) + PROSE_MARGIN_MS;
}

function unitMs(unit: string): number {
  switch (unit.toLowerCase()) {
    case 'ms':
      return 1;
    case 'h':
      return 3_600_000;
    case 'm':
      return 60_000;
    default:
      return 1_000;
  }
}
