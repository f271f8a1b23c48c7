import { homedir } from 'node:os';
import { packageVersion } from '../lib/package-info.ts';
import { spentText } from '../llm/money/with-budget.ts';
import type { Daemon } from './daemon.ts';
import type { Listening } from './listen.ts';

const SIGNS = { healthy: '✓', starting: '…', degraded: '!', down: '✗', stopped: '-' } as const;

/**
 * What the daemon says when it is ready: one line per part, each with the next step where something is
 * missing. On stderr.
 */
export function readyText(about: {
  readonly daemon: Daemon;
  readonly listening: Listening;
  readonly modelLines: readonly string[];
  readonly dataDir: string;
  readonly tookMs: number;
  /** Epoch ms. */
  readonly now: number;
  /** What to do now; a line each. */
  readonly hints: readonly string[];
}): string {
  const { daemon, dataDir } = about;
  const home = homedir();
  const dir = dataDir.startsWith(`${home}/`) ? `~${dataDir.slice(home.length)}` : dataDir;
  const [model = '', ...more] = about.modelLines;
  const channels = daemon.channels.status().map(({ name, state, detail, inboundClass, sendClass }) => {
    const guarantee = `inbound ${inboundClass}, send ${sendClass}`;
    return row(SIGNS[state], 'channel', `${name} ${state}${detail ? `: ${detail}` : ` (${guarantee})`}`);
  });
  return [
    `gatehouse ${packageVersion()} ready in ${(about.tookMs / 1_000).toFixed(2)} s`,
    row('✓', 'storage', dir),
    health(about.listening),
    row(daemon.models.model.demo ? '!' : '✓', 'model', model),
    ...more.map((line) => row(' ', '', line)),
    ...(daemon.models.warnings?.(about.now) ?? []).map((warning) => row('!', 'catalog', warning)),
    ...spending(daemon),
    ...channels,
    ...about.hints.map((line) => `  ${line}`),
    '',
  ].join('\n');
}

function health({ http, takenPort }: Listening): string {
  const url = `http://${http.host}:${http.port}/healthz`;
  if (takenPort === undefined) return row('✓', 'health', url);
  return row('!', 'health', `${url} (port ${takenPort} is taken; name one in gateway.http.port to have the same at each start)`);
}

function spending({ models }: Daemon): readonly string[] {
  const day = models.daily?.();
  return day ? [row(day.spentUsd < day.limitUsd ? '✓' : '!', 'budget', `${spentText(day)} spent today`)] : [];
}

function row(sign: string, name: string, text: string): string {
  return `  ${sign} ${name.padEnd(8)} ${text}`.trimEnd();
}
