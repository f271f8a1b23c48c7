/** From the records of a day to figures, and from figures to a verdict. */
import type { DayRecord, Mode } from './run-day.ts';
import { type Outage, type Provider, wellThroughout } from './world.ts';

export interface Figures {
  readonly mode: Mode;
  readonly requests: number;
  readonly served: number;
  /** Not served although some provider was well from the request to its end. */
  readonly lost: number;
  /** Requests without exactly one end. */
  readonly brokenEnds: number;
  /** Of the served, from request to the end of the answer. */
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** All that the providers bill: failed, cancelled and repeated calls too. */
  readonly costUsd: number;
  readonly switches: number;
  /** Outages of providers that were in use before. */
  readonly recoveries: number;
  /** The longest time from the end of such an outage to that provider's next answer; Infinity = never. */
  readonly slowestRecoveryMs: number;
}

export interface Check {
  readonly name: string;
  readonly passed: boolean;
  readonly detail: string;
}

export const PROBE_INTERVAL_MS = 60_000;
/** A provider is in use when it answered this share of requests in the ten minutes before its outage. */
const IN_USE = 0.1;
const BEFORE_MS = 600_000;

export function toFigures(record: DayRecord): Figures {
  const { mode, requests, calls, world } = record;
  const served = requests.filter((request) => request.served);
  const latencies = served.map(({ work, endedAt }) => endedAt - work.at).sort((a, b) => a - b);
  const lost = requests.filter(
    ({ served, work, endedAt }) => !served && world.some((provider) => wellThroughout(provider, work.at, endedAt)),
  );
  const recoveries = world.flatMap((provider) =>
    provider.outages.flatMap((outage) => recoveryMs(provider, outage, record) ?? []),
  );
  return {
    mode,
    requests: requests.length,
    served: served.length,
    lost: lost.length,
    brokenEnds: requests.filter(({ ends }) => ends !== 1).length,
    p50Ms: percentile(latencies, 0.5),
    p95Ms: percentile(latencies, 0.95),
    costUsd: calls.reduce((sum, { costUsd }) => sum + costUsd, 0),
    switches: requests.reduce((sum, { switches }) => sum + switches, 0),
    recoveries: recoveries.length,
    slowestRecoveryMs: Math.max(0, ...recoveries),
  };
}

/** Undefined when the outage did not concern the mode: the provider was not in use, or not asked then. */
function recoveryMs(provider: Provider, outage: Outage, { mode, calls, requests }: DayRecord): number | undefined {
  const recent = calls.filter(({ at, answered }) => answered && at >= outage.from - BEFORE_MS && at < outage.from);
  const own = recent.filter((call) => call.provider === provider.id);
  if (own.length === 0 || own.length < IN_USE * recent.length) return undefined;
  const asked = calls.filter((call) => call.provider === provider.id);
  if (asked.filter(({ at }) => at >= outage.from && at < outage.to).length < 3) return undefined;
  // Another outage of its own may follow at once, and without a request nobody can be used.
  if (!wellThroughout(provider, outage.to, outage.to + 2 * PROBE_INTERVAL_MS)) return undefined;
  if (!requests.some(({ work }) => work.at >= outage.to + PROBE_INTERVAL_MS && work.at < outage.to + 1.5 * PROBE_INTERVAL_MS))
    return undefined;
  // Where a score or a race decides, a provider that is asked again may well lose its first races.
  const back = asked.find(({ at, answered }) => at >= outage.to && (answered || mode === 'hedge' || mode === 'lane'));
  return back ? back.at - outage.to : Number.POSITIVE_INFINITY;
}

/** What the routing promises. */
export function check(all: readonly Figures[]): readonly Check[] {
  const of = (mode: Mode): Figures => {
    const found = all.find((figures) => figures.mode === mode);
    if (!found) throw new Error(`no figures of ${mode}`);
    return found;
  };
  const routed = all.filter(({ mode }) => mode !== 'alone');
  const less = (name: string, a: number, b: number, unit: (x: number) => string): Check => {
    return { name, passed: a < b, detail: `${unit(a)} against ${unit(b)}` };
  };
  const each = (name: string, good: (figures: Figures) => boolean, value: (figures: Figures) => string): Check => {
    return { name, passed: routed.every(good), detail: routed.map((one) => `${one.mode} ${value(one)}`).join(', ') };
  };
  return [
    less('lane beats off on p95', of('lane').p95Ms, of('off').p95Ms, seconds),
    less('lane beats off on cost', of('lane').costUsd, of('off').costUsd, dollars),
    less('hedge beats lane on p95', of('hedge').p95Ms, of('lane').p95Ms, seconds),
    each(
      'no request is lost that another provider could have served',
      ({ lost }) => lost === 0,
      ({ lost }) => String(lost),
    ),
    each(
      'every request ends exactly once',
      ({ brokenEnds }) => brokenEnds === 0,
      ({ brokenEnds }) => String(brokenEnds),
    ),
    each(
      'a provider that recovers is used again within two probe intervals',
      ({ recoveries, slowestRecoveryMs }) => recoveries > 0 && slowestRecoveryMs <= 2 * PROBE_INTERVAL_MS,
      ({ recoveries, slowestRecoveryMs }) => `${seconds(slowestRecoveryMs)} (${recoveries} outages)`,
    ),
    {
      name: 'the lone model does lose some, so that a loss would show',
      passed: of('alone').lost > 0,
      detail: String(of('alone').lost),
    },
  ];
}

export function toText(all: readonly Figures[], checks: readonly Check[]): string {
  const head = ['mode', 'requests', 'success', 'lost', 'p50', 'p95', 'cost', 'switches', 'slowest recovery'];
  const rows = all.map((one) => [
    one.mode,
    String(one.requests),
    `${((100 * one.served) / one.requests).toFixed(2)} %`,
    String(one.lost),
    seconds(one.p50Ms),
    seconds(one.p95Ms),
    dollars(one.costUsd),
    String(one.switches),
    one.recoveries === 0 ? '-' : seconds(one.slowestRecoveryMs),
  ]);
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]): string => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  return [
    line(head),
    `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`,
    ...rows.map(line),
    '',
    ...checks.map(({ name, passed, detail }) => `${passed ? 'ok  ' : 'FAIL'} ${name}: ${detail}`),
    '',
  ].join('\n');
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function dollars(usd: number): string {
  return `${usd.toFixed(2)} USD`;
}
