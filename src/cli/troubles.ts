import { ERROR_CODES } from '../core/error-codes.ts';
import type { JournalCounts } from '../core/journal.ts';
import type { HoldStatus, ModelHealth, StatusDocument } from '../core/status.ts';
import { counted } from '../lib/counted.ts';
import { spentText } from '../llm/money/with-budget.ts';
import { detailText } from './format-channel.ts';
import { formatDuration, formatRelative } from './format-time.ts';

/** What mends calls whose price the catalog does not know. */
const UNPRICED_FIX = 'gatehouse models list names it; give it a `price` in the config';

/** What is not as it should be with a running daemon. Not yet printable: parts of it are others' words. */
export interface Trouble {
  /**
   * As in `degraded`, such as `model:openai/gpt-5-mini`, or what it is about: `config`, `clock`, `messages`.
   */
  readonly id: string;
  readonly text: string;
  /** The command or the change that mends it. */
  readonly fix: string;
  /** Messages go without an answer, or nothing can be trusted, until it is mended. */
  readonly isBad: boolean;
}

/** Everything that an operator has to know of, the gravest first. Empty = all well. */
export function troublesOf(status: StatusDocument, now: number): readonly Trouble[] {
  const found = [
    ...modelTroubles(status, now),
    ...slotTroubles(status),
    ...budgetTroubles(status),
    ...status.channels.flatMap((channel): Trouble[] => {
      const { name, state } = channel;
      if (state === 'healthy' || state === 'starting') return [];
      const text = `channel ${name} is ${state}: ${detailText(channel) || 'it gives no reason'}`;
      return [{ id: `channel:${name}`, text, fix: `gatehouse channels test ${name}`, isBad: state !== 'degraded' }];
    }),
    ...(status.holds ?? []).map(
      (hold): Trouble => ({
        id: `hold:${hold.what}`,
        text: holdText(hold, now, status.journal.unsent),
        fix: 'nothing to do: it goes on by itself',
        isBad: false,
      }),
    ),
    ...configTroubles(status),
    ...clockTroubles(status),
    ...diskTroubles(status),
    ...jobTroubles(status),
    ...waitingTroubles(status),
    ...webhookTroubles(status, now),
    ...partTroubles(status),
  ];
  return found.toSorted((a, b) => Number(b.isBad) - Number(a.isBad));
}

/** `the model is called again in 48 s (429)`; of a channel, how many parts of answers wait. */
export function holdText({ what, reason, until }: HoldStatus, now: number, unsent: JournalCounts['unsent']): string {
  const left = formatDuration(Math.max(0, until - now));
  if (what === 'model') return `the model is called again in ${left} (${reason})`;
  const count = unsent.find(({ channel }) => channel === what)?.count ?? 0;
  return `${count === 0 ? 'answers wait' : `${counted(count, 'answer')} ${count === 1 ? 'waits' : 'wait'}`} ${left} for ${what} (${reason})`;
}

/**
 * `3 calls failed in a row for 2 min: GH2101 the key was refused`. Undefined = the last call was answered.
 */
export function failingText({ failedInARow, since, last }: ModelHealth, now: number): string | undefined {
  if (failedInARow === 0 || !last) return undefined;
  const time = since === undefined || now - since < 60_000 ? '' : ` for ${formatDuration(now - since)}`;
  const count = failedInARow === 1 ? 'the last call failed' : `${failedInARow} calls failed in a row${time}`;
  return `${count}: ${last.code} ${last.detail}`;
}

/** What ends the demo of a daemon that runs: it looks for keys at its start. */
export const NAME_A_MODEL = 'gatehouse auth set-key PROVIDER (such as anthropic), then restart the daemon';

/** What mends a model whose calls fail. */
export function failingFix({ last }: ModelHealth): string {
  const { code = '', hint } = last ?? {};
  return hint ?? (code in ERROR_CODES ? ERROR_CODES[code as keyof typeof ERROR_CODES].hint : 'gatehouse models test');
}

function modelTroubles({ model, modelHealth }: StatusDocument, now: number): readonly Trouble[] {
  if (model.demo)
    return [{ id: 'model:demo', text: 'no real AI answers: the demo is the model', fix: NAME_A_MODEL, isBad: true }];
  const text = modelHealth && failingText(modelHealth, now);
  return text === undefined || !modelHealth
    ? []
    : [{ id: `model:${model.id}`, text: `model ${model.id}: ${text}`, fix: failingFix(modelHealth), isBad: true }];
}

/** Of several that stand by for each other, each that is left alone for its failures. */
function slotTroubles({ models = [], model, modelHealth }: StatusDocument): readonly Trouble[] {
  const isNone = models.every(({ circuit }) => circuit === 'open');
  return models
    .filter(({ id, circuit }) => circuit !== 'closed' && !(id === model.id && (modelHealth?.failedInARow ?? 0) > 0))
    .map(({ id, circuit, failures }) => {
      const state = circuit === 'open' ? 'is left alone' : 'is tried again';
      const text = `model ${id} ${state} after ${counted(failures, 'failure')}${isNone ? '' : ', another one answers'}`;
      return { id: `model:${id}`, text, fix: 'gatehouse models test', isBad: isNone };
    });
}

function budgetTroubles({ budget, usageToday }: StatusDocument): readonly Trouble[] {
  if (!budget) return [];
  const { spentUsd, limitUsd } = budget;
  const reached: Trouble = {
    ...{ id: 'budget', isBad: true, fix: 'raise budget.daily_usd, or wait for midnight' },
    text: `the limit of today is reached, and no paid model is called: ${spentText(budget)}`,
  };
  const unpriced: Trouble = {
    ...{ id: 'price', isBad: false, fix: UNPRICED_FIX },
    text: `${counted(usageToday.unpriced, 'call')} of unknown price today, which no limit counts`,
  };
  return [...(spentUsd >= limitUsd ? [reached] : []), ...(usageToday.unpriced > 0 ? [unpriced] : [])];
}

/** A message is kept by two syncs before it is answered: from here on a person notices. ms. */
const SLOW_SYNC_MS = 100;

function diskTroubles({ disk }: StatusDocument): readonly Trouble[] {
  if (!disk) return [];
  const { freeMb, reserveMb, syncMs = 0 } = disk;
  const full = `${freeMb} MB are free on the disk, less than the reserve of ${reserveMb} MB: files are refused`;
  const slow = `the disk takes ${syncMs} ms to keep what is written (usual: below 10), and each message waits for it`;
  const local = 'put the data directory on a local disk, not on a network share';
  return [
    ...(freeMb < reserveMb
      ? [{ id: 'disk', text: full, fix: 'make room on the disk, or lower disk.reserve_mb', isBad: true }]
      : []),
    ...(syncMs >= SLOW_SYNC_MS ? [{ id: 'disk', text: slow, fix: local, isBad: false }] : []),
  ];
}

/** Older refusals tell nothing of what is wrong now. ms. */
const REFUSED_LATELY_MS = 600_000;

function webhookTroubles({ webhooks = [] }: StatusDocument, now: number): readonly Trouble[] {
  return webhooks.flatMap(({ path, refused, refusedAt, takenAt }): Trouble[] => {
    if (now - refusedAt > REFUSED_LATELY_MS) return [];
    const taken = takenAt === undefined ? 'none was taken' : `the last was taken ${formatRelative(takenAt, now)}`;
    const text = `${counted(refused, 'request')} at ${path} refused, not signed as the platform signs them; ${taken}`;
    const fix = 'compare the secret with that at the platform; strangers need no repair';
    return [{ id: `webhook:${path}`, text, fix, isBad: false }];
  });
}

function jobTroubles({ jobs }: StatusDocument): readonly Trouble[] {
  if (!jobs || jobs.failing === 0) return [];
  return [{ id: 'jobs', text: `${counted(jobs.failing, 'job')} failed last time`, fix: 'gatehouse cron list', isBad: false }];
}

function configTroubles({ config }: StatusDocument): readonly Trouble[] {
  if (!config) return [];
  const { problem, needsRestart } = config;
  const broken = problem && {
    ...{ id: 'config', isBad: true, fix: 'gatehouse config check' },
    text: `the config file is not in use as it stands: ${problem.code} ${problem.detail}`,
  };
  const restart = needsRestart.length > 0 && {
    ...{ id: 'restart', isBad: false, fix: 'restart the daemon' },
    text: `changes of the config hold after a restart: ${needsRestart.join(', ')}`,
  };
  return [...(broken ? [broken] : []), ...(restart ? [restart] : [])];
}

function clockTroubles({ clockMovedMs: moved, clockBehindMs: behind }: StatusDocument): readonly Trouble[] {
  if (behind !== undefined) {
    const text = `the clock is ${formatDuration(behind)} behind the newest record, so what is due waits`;
    return [{ id: 'clock', text, fix: 'timedatectl set-ntp true', isBad: true }];
  }
  if (moved === undefined) return [];
  const text = `the clock was set ${formatDuration(Math.abs(moved))} ${moved < 0 ? 'back' : 'ahead'} while the daemon ran`;
  return [{ id: 'clock', text, fix: 'timedatectl status, then restart the daemon', isBad: false }];
}

function waitingTroubles({ journal: { inbox, outbox } }: StatusDocument): readonly Trouble[] {
  const dead = inbox.DEAD + outbox.DEAD;
  const unknown = outbox.UNKNOWN;
  if (dead + unknown === 0) return [];
  const parts = [
    ...(dead > 0 ? [`${counted(dead, 'message')} given up`] : []),
    ...(unknown > 0 ? [`${counted(unknown, 'answer')} of which it is not known whether they arrived`] : []),
  ];
  return [{ id: 'messages', text: parts.join(', '), fix: 'gatehouse dead list', isBad: false }];
}

/** Parts of the daemon that say for themselves that they are not well. */
function partTroubles({ degraded, mcp = [], plugins = [], sandbox }: StatusDocument): readonly Trouble[] {
  const trouble = (id: string, text: string, fix: string, isBad = false): readonly Trouble[] =>
    degraded.includes(id) ? [{ id, text, fix, isBad }] : [];
  const noSandbox = sandbox && 'problem' in sandbox ? sandbox : undefined;
  return [
    ...trouble('journal', 'the journal cannot be written, and nothing is accepted', 'make room on the disk', true),
    ...trouble('sandbox', `no tool runs programs: ${noSandbox?.problem ?? ''}`, noSandbox?.hint ?? ''),
    ...mcp.flatMap(({ server, state, detail = '' }) =>
      trouble(`mcp:${server}`, `MCP server ${server} is ${state}: ${detail}`, `gatehouse mcp test ${server}`),
    ),
    ...plugins.flatMap(({ plugin, detail = '' }) =>
      trouble(`plugin:${plugin}`, `plugin ${plugin} is broken: ${detail}`, 'gatehouse plugins list'),
    ),
    ...degraded.flatMap((id) =>
      id.startsWith('intake:')
        ? trouble(id, `${id.slice(7)} is asked to hold its messages: too many wait`, 'gatehouse explain GH1509')
        : [],
    ),
  ];
}
