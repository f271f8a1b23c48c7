import type { JournalCounts } from '../core/journal.ts';
import type { ConfigStatus, StatusDocument } from '../core/status.ts';
import type { HttpServerOptions } from '../http/server.ts';
import { systemClock } from '../lib/clock.ts';
import { packageVersion } from '../lib/package-info.ts';
import { addUp } from '../llm/money/joined-ledgers.ts';
import type { Daemon } from './daemon.ts';
import { startOfDay } from './observe.ts';

/**
 * What is not as it should be, in words that a monitor can match: `model:demo`, `channel:telegram`,
 * `mcp:files`, `plugin:greet`, `journal`, `intake:telegram` (its platform is asked to hold its messages).
 */
function degradedParts(daemon: Daemon): readonly string[] {
  return [
    ...(daemon.models.model.demo ? ['model:demo'] : []),
    ...(failsNow(daemon) ? [`model:${daemon.models.model.id}`] : []),
    ...(daemon.models.slots?.() ?? []).flatMap(({ id, circuit }) => (circuit === 'closed' ? [] : [`model:${id}`])),
    ...daemon.channels
      .status()
      .flatMap(({ name, state }) => (state === 'healthy' || state === 'starting' ? [] : [`channel:${name}`])),
    ...daemon.mcp.status().flatMap(({ server, state }) => (state === 'down' || state === 'login' ? [`mcp:${server}`] : [])),
    ...daemon.plugins.status().flatMap(({ plugin, state }) => (state === 'broken' ? [`plugin:${plugin}`] : [])),
    ...(daemon.observations.journalFailing ? ['journal'] : []),
    ...(daemon.programs.status && 'problem' in daemon.programs.status ? ['sandbox'] : []),
    ...daemon.observations.held(systemClock.now()).map((channel) => `intake:${channel}`),
  ];
}

/**
 * `/healthz`: the process answers and its event loop turns. `/readyz`: the journal can be written and at
 * least one channel receives (503 otherwise). Guarded is `/status`: everything `gatehouse status` shows. None
 * of them holds message content or secrets.
 */
export function statusRoutes(
  daemon: Daemon,
  startedAt: number,
  about: { readonly config: () => ConfigStatus; readonly token: string },
): Pick<HttpServerOptions, 'routes' | 'guarded'> {
  const routes = {
    '/healthz': async () => ({ status: 200, body: { ok: true, version: packageVersion() } }),
    '/readyz': async () => {
      const ready = daemon.channels.isReceiving && !daemon.observations.journalFailing;
      return { status: ready ? 200 : 503, body: { ready, degraded: degradedParts(daemon) } };
    },
  };
  const status = async () => ({ status: 200, body: await statusDocument(daemon, startedAt, about.config()) });
  return { routes, guarded: { token: about.token, routes: { '/status': status } } };
}

/** Where several stand by for each other, each has a circuit that says so. */
function failsNow({ observations, models }: Daemon): boolean {
  return (models.slots?.() ?? []).length === 0 && (observations.health.model()?.failedInARow ?? 0) > 0;
}

/** Less is drift that time servers mend. ms. */
const CLOCK_MOVED_MS = 60_000;

/** What the clock of the machine says, beside what has passed since the process began. */
function clockMoved(now: number): { clockMovedMs?: number } {
  const moved = Math.round(now - performance.timeOrigin - systemClock.monotonic());
  return Math.abs(moved) < CLOCK_MOVED_MS ? {} : { clockMovedMs: moved };
}

/** What was recorded at a later time than it is now, by a clock that was ahead or is behind. */
async function clockBehind({ journal }: Daemon, now: number): Promise<{ clockBehindMs?: number }> {
  const behind = ((await journal.record.latestAt()) ?? now) - now;
  return behind < CLOCK_MOVED_MS ? {} : { clockBehindMs: behind };
}

function syncTime({ opened }: Daemon): { syncMs?: number } {
  const ms = opened.syncMs();
  return ms === undefined ? {} : { syncMs: Math.round(ms) };
}

function removedChannels({ channels }: Daemon, { unsent }: JournalCounts): NonNullable<StatusDocument['removedChannels']> {
  return unsent
    .filter(({ channel }) => channels.state(channel) === undefined)
    .map(({ channel: name, count: waiting }) => ({ name, waiting }));
}

async function statusDocument(daemon: Daemon, startedAt: number, config: ConfigStatus): Promise<StatusDocument> {
  const { observations, models } = daemon;
  const { model } = models;
  const budget = models.daily?.();
  const health = observations.health.model();
  const replaced = models.replaced?.();
  const now = systemClock.now();
  const warnings = models.warnings?.(now) ?? [];
  const { calls, tokensIn, tokensOut, costUsd, unpriced } = addUp(
    await daemon.journal.spending({ since: startOfDay(systemClock), by: 'day' }),
  );
  const { running, waiting, ofPerson } = daemon.lanes.stats();
  const journal = await daemon.journal.counts();
  const { status: sandbox } = daemon.programs;
  return {
    version: packageVersion(),
    pid: process.pid,
    startedAt,
    uptimeSec: Math.round((now - startedAt) / 1_000),
    model: {
      id: model.id,
      demo: model.demo ?? false,
      ...(observations.lastModelMs === undefined ? {} : { lastLatencyMs: observations.lastModelMs }),
      ...(replaced ? { replacedBy: replaced.to } : {}),
      ...(warnings.length > 0 ? { warnings } : {}),
    },
    ...(health ? { modelHealth: health } : {}),
    holds: observations.health.holds(now),
    ...clockMoved(now),
    ...(await clockBehind(daemon, now)),
    disk: { ...(await daemon.disk.room()), ...syncTime(daemon) },
    models: models.slots?.() ?? [],
    ...(budget ? { budget } : {}),
    channels: daemon.channels.status(),
    removedChannels: removedChannels(daemon, journal),
    config,
    webhooks: daemon.webhooks.refused(),
    mcp: daemon.mcp.status(),
    plugins: daemon.plugins.status(),
    journal,
    ...(sandbox ? { sandbox } : {}),
    jobs: await daemon.journal.jobs.counts(),
    lanes: { running, waiting, ofPerson },
    usageToday: { calls, tokensIn, tokensOut, costUsd, unpriced },
    lastErrors: [...observations.errors],
    degraded: degradedParts(daemon),
  };
}
