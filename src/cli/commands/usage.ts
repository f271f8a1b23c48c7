import { chatDirOf } from '../../../config/paths.ts';
import { ConfigError } from '../../../config/problem.ts';
import { isGatehouseError } from '../../core/errors.ts';
import type { SpendingGroup, SpendingGroupKey, SpendingReader } from '../../core/ledger.ts';
import { printable } from '../../lib/printable.ts';
import { startOfLocalDay } from '../../lib/wall-time.ts';
import type { BudgetLimits, LimitName } from '../../llm/money/budget.ts';
import { addUp, joinedLedgers, type Sums } from '../../llm/money/joined-ledgers.ts';
import { LinkedIds } from '../../operator/linked-ids.ts';
import { type Command, type CommandContext, dataDirOf, readConfig } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { isoTime } from '../format-time.ts';
import { limitsOf } from '../limits-of.ts';
import { formatTable } from '../output.ts';
import { withJournal } from '../read-journal.ts';
import { parsePeriod } from './usage-period.ts';

export interface UsageOptions {
  readonly by: SpendingGroupKey;
  readonly since?: string;
  readonly until?: string;
}

/** A limit of today with the one who used most of it. */
interface LimitUse {
  readonly limit: LimitName;
  /** Whose: a session, sender or job; null for the limit of the day, and when nobody spent anything. */
  readonly key: string | null;
  readonly limitUsd: number;
  readonly spentUsd: number;
  readonly leftUsd: number;
}

/** As the budget of the daemon does (`Budget.open`). */
const JOB_MS = 30 * 86_400_000;

/**
 * What the ledger says, whether or not a daemon runs. Days are cut at midnight of this machine's time zone.
 * Calls of unknown price are counted apart, never as 0.
 */
export const usage: Command<UsageOptions> = async (context, options) => {
  const { deps, out } = context;
  const now = deps.clock.now();
  const period = parsePeriod({ ...options, defaultSince: '30d' }, now);
  const limits = await configuredLimits(context);
  const { groups, total, uses } = await withLedgers(context, async (ledger, linked) => {
    const found = await ledger.spending({ ...period, by: options.by });
    // Calls outside of jobs are in no group of `job`.
    const all = options.by === 'job' ? await ledger.spending({ ...period, by: 'day' }) : found;
    return { groups: sorted(found, options.by), total: addUp(all), uses: await limitUses(ledger, limits, now, linked) };
  });
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  out.document({
    by: options.by,
    since: isoTime(period.since),
    until: isoTime(period.until),
    timeZone,
    groups: groups.map(({ key, ...sums }) => ({ key, ...sumsToJson(sums) })),
    total: sumsToJson(total),
    limitsToday: uses,
  });
  if (total.calls === 0) out.data('no model call was recorded in this period');
  else out.data(usageTable(options.by, groups, total));
  if (uses.length > 0) out.data(`\n${limitTable(uses)}`);
  if (total.calls > 0 || uses.length > 0) out.data(`days begin at midnight, ${timeZone}`);
  if (total.unpriced > 0) out.say('→ ? is an unknown price: set "price" in model_hints of the config');
  return EXIT.ok;
};

/** The ledgers of the daemon and of `chat`, as far as there are any: both spend the same money. */
async function withLedgers<T>(
  context: CommandContext,
  use: (ledger: SpendingReader, linked: LinkedIds['of']) => Promise<T>,
): Promise<T> {
  const inner = async (ledgers: readonly SpendingReader[], linked: LinkedIds['of']): Promise<T> => {
    const ofChat = await withJournal(context, ({ journal }) => use(joinedLedgers([...ledgers, journal]), linked), {
      dir: chatDirOf(dataDirOf(context)),
    });
    return ofChat ?? (await use(joinedLedgers(ledgers), linked));
  };
  const found = await withJournal(context, async ({ journal, people }) => {
    const links = new LinkedIds(people);
    await links.refresh();
    return await inner([journal], links.of);
  });
  return found ?? (await inner([], (id) => [id]));
}

/** As the daemon would have them. A broken config, which is told, must not hide what was spent. */
async function configuredLimits(context: CommandContext): Promise<BudgetLimits> {
  const { out } = context;
  try {
    const { config } = await readConfig(context);
    return await limitsOf(context, config);
  } catch (error) {
    if (!(error instanceof ConfigError) && !isGatehouseError(error)) throw error;
    out.say(`${out.mark('warn', 'stderr')} the limits are not known: ${error.message}`);
    return {};
  }
}

async function limitUses(
  journal: SpendingReader,
  limits: BudgetLimits,
  now: number,
  linked: LinkedIds['of'],
): Promise<LimitUse[]> {
  const today = startOfLocalDay(now);
  const kinds: readonly [LimitName, number | undefined, number][] = [
    ['day', limits.dailyUsd, today],
    ['session', limits.sessionUsd, today],
    ['sender', limits.senderUsd, today],
    ['job', limits.jobUsd, today - JOB_MS],
  ];
  const uses: LimitUse[] = [];
  for (const [limit, limitUsd, since] of kinds) {
    if (limitUsd === undefined) continue;
    const found = await journal.spending({ since, by: limit });
    const most = (limit === 'sender' ? asPeople(found, linked) : found).reduce<SpendingGroup | undefined>(
      (top, group) => (top && top.costUsd >= group.costUsd ? top : group),
      undefined,
    );
    const spentUsd = most?.costUsd ?? 0;
    const key = limit === 'day' ? null : (most?.key ?? null);
    uses.push({ limit, key, limitUsd, spentUsd, leftUsd: Math.max(0, limitUsd - spentUsd) });
  }
  return uses;
}

/** Ids that are one person share a limit, as in the budget of the daemon. */
function asPeople(groups: readonly SpendingGroup[], linked: LinkedIds['of']): readonly SpendingGroup[] {
  const people = Map.groupBy(groups, ({ key }) => linked(key)[0] ?? key);
  return [...people].map(([key, all]) => ({ key, ...addUp(all) }));
}

/** Days in order; anything else with the most expensive first, unknown prices by their tokens. */
function sorted(groups: readonly SpendingGroup[], by: SpendingGroupKey): readonly SpendingGroup[] {
  if (by === 'day') return groups;
  return groups.toSorted((a, b) => b.costUsd - a.costUsd || b.tokensIn + b.tokensOut - a.tokensIn - a.tokensOut);
}

/** `costUsd` is of the calls whose price is known; null when there is none. */
function sumsToJson({ unpriced, costUsd, ...sums }: Sums): Record<string, unknown> {
  const cost = sums.calls > 0 && unpriced === sums.calls ? null : round(costUsd);
  return { ...sums, cachedPercent: cachedPercent(sums), costUsd: cost, unpricedCalls: unpriced };
}

/** Share of the input that came from a cache, to a tenth; null without input. */
function cachedPercent({ tokensIn, tokensCached }: Pick<Sums, 'tokensIn' | 'tokensCached'>): number | null {
  return tokensIn > 0 ? Math.round((tokensCached / tokensIn) * 1_000) / 10 : null;
}

/** Sums of fractions end in digits that mean nothing. */
function round(usd: number): number {
  return Math.round(usd * 1e9) / 1e9;
}

function usageTable(by: SpendingGroupKey, groups: readonly SpendingGroup[], total: Sums): string {
  const apart = total.unpriced > 0 ? ['WITHOUT PRICE'] : [];
  const row = (name: string, sums: Sums): string[] => [
    printable(name),
    ...[sums.calls, sums.tokensIn, sums.tokensOut, sums.tokensCached].map(String),
    cachedPercent(sums)?.toFixed(1) ?? '-',
    sums.calls > 0 && sums.unpriced === sums.calls ? '?' : sums.costUsd.toFixed(4),
    ...apart.map(() => String(sums.unpriced)),
  ];
  const head = [by.toUpperCase(), 'CALLS', 'TOKENS IN', 'TOKENS OUT', 'CACHED TOKENS', 'CACHED %', 'USD', ...apart];
  return formatTable(rightAligned([head, ...groups.map((group) => row(group.key, group)), row('total', total)]));
}

function limitTable(uses: readonly LimitUse[]): string {
  const rows = uses.map(({ limit, key, limitUsd, spentUsd, leftUsd }) => [
    limit,
    limitUsd.toFixed(4),
    spentUsd.toFixed(4),
    leftUsd.toFixed(4),
    key === null ? '' : printable(key),
  ]);
  return formatTable([['LIMIT TODAY', 'USD', 'SPENT', 'LEFT', 'MOST BY'], ...rows]);
}

/** All columns but the first. */
function rightAligned(rows: readonly (readonly string[])[]): string[][] {
  const width = (column: number): number => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const widths = (rows[0] ?? []).map((_, column) => width(column));
  return rows.map((row) => row.map((cell, column) => (column === 0 ? cell : cell.padStart(widths[column] ?? 0))));
}
