import type { ChannelHealth } from '../core/channel.ts';
import { ERROR_CODES } from '../core/error-codes.ts';
import type { RunEvent } from '../core/events.ts';
import { isLoginRefused } from '../core/outbox.ts';
import type { Clock, Logger } from '../core/ports.ts';
import { DropCounts } from './drop-counts.ts';
import { LONG_WAIT_MS, RecentHealth } from './recent-health.ts';

/** How many recent errors `status` shows. */
const KEPT_ERRORS = 5;
/** Held intake is told every ten minutes (`floods.ts`); one that was not told for so long is over. ms. */
const HELD_MS = 11 * 60_000;

export interface RecentError {
  readonly at: number;
  readonly code: string;
  readonly detail: string;
}

/** What the daemon remembers of its events for `status`; everything else is in the journal or the log. */
export class Observations {
  readonly errors: RecentError[] = [];
  lastModelMs: number | undefined;
  journalFailing = false;
  readonly health: RecentHealth;
  /** Channels whose platform is asked to hold its messages, and when that was told last, epoch ms. */
  readonly #held = new Map<string, number>();
  readonly #redact: (text: string) => string;

  /** `redact` takes secrets out: `status` is read by people and programs that must not have them. */
  constructor(redact: (text: string) => string = (text) => text) {
    this.#redact = redact;
    this.health = new RecentHealth(redact);
  }

  readonly observe = (event: RunEvent): void => {
    this.health.observe(event);
    if (event.type === 'model.done') this.lastModelMs = Math.round(event.ms);
    if (event.type === 'model.failed' && event.kind !== 'aborted')
      this.#error(event.at, event.code, `${event.model}: ${event.detail}`);
    if (event.type === 'failed') this.#error(event.at, event.code, event.detail);
    if (event.type === 'intake.held') {
      this.#held.set(event.channel ?? '', event.at);
      this.#error(event.at, event.code, `${event.channel ?? ''}: ${event.reason}`);
    }
    if (event.type === 'intake.resumed') this.#held.delete(event.channel ?? '');
    if (event.type === 'part.dead') this.#error(event.at, 'GH1601', event.reason);
    if (event.type === 'part.retry' && isLoginRefused(event.reason)) this.#error(event.at, 'GH1501', event.reason);
    if (event.type === 'part.unknown') this.#error(event.at, 'GH1602', event.reason);
    if (event.type === 'channel' && event.state === 'down')
      this.#error(
        event.at,
        /GH\d{4}/.exec(event.detail ?? '')?.[0] ?? 'GH1502',
        `${event.channel ?? ''}: ${event.detail ?? 'down'}`,
      );
    if (event.type === 'job' && event.state !== 'skipped') this.#error(event.at, 'GH1703', `${event.job}: ${event.reason}`);
    if (event.type === 'journal') {
      this.journalFailing = event.state === 'failing';
      if (event.code) this.#error(event.at, event.code, 'the journal could not be written');
    }
  };

  /** Channels whose platform is asked to hold its messages; one that has offered none since is left out. */
  held(now: number): readonly string[] {
    return [...this.#held].flatMap(([channel, at]) => (now - at < HELD_MS ? [channel] : []));
  }

  #error(at: number, code: string, detail: string): void {
    // Redacted before it is cut: half a secret would not be recognised.
    this.errors.unshift({ at, code, detail: this.#redact(detail).slice(0, 300) });
    this.errors.length = Math.min(this.errors.length, KEPT_ERRORS);
  }
}

const WARNINGS = new Set([
  'failed',
  'intake.held',
  'job',
  'model.failed',
  'part.dead',
  'part.unknown',
  'part.expired',
  'tool.unknown',
  'session.damaged',
]);
/** Too many per message for a log that people read, and each is a write of its own: kept for `debug`. */
const DETAILS = new Set([
  'received',
  'admitted',
  'queued',
  'started',
  'model.started',
  'model.done',
  'tool.started',
  'part.retry',
]);

/** What a line has in a place of its own; the hint comes last. */
const NOT_DATA = new Set(['type', 'at', 'hint']);

function isTrouble(state: ChannelHealth): boolean {
  return state === 'down' || state === 'degraded';
}

/** A thousandth of a millisecond tells an operator nothing. */
function inWholeMs(name: string, value: unknown): unknown {
  return typeof value === 'number' && /ms$/i.test(name) ? Math.round(value) : value;
}

/** The way out that the event names, else the usual one of its error code. */
function hintFor(event: RunEvent): { hint?: string } {
  if ('hint' in event && event.hint !== undefined) return { hint: event.hint };
  const code = 'code' in event ? event.code : undefined;
  return code !== undefined && code in ERROR_CODES ? { hint: ERROR_CODES[code as keyof typeof ERROR_CODES].hint } : {};
}

/**
 * One log line per event, without message content. Streamed text and words of tools are not logged; of
 * dropped messages see `DropCounts`.
 */
export function logEvents(logger: Logger): (event: RunEvent) => void {
  const drops = new DropCounts();
  return (event) => {
    if (event.type === 'model.text' || event.type === 'tool.progress') return;
    for (const more of drops.over(event.at)) logger.info('dropped.more', { ...more });
    const { type } = event;
    const isRefusedLogin = event.type === 'part.retry' && isLoginRefused(event.reason);
    const isCounted = event.type === 'dropped' && !drops.isFirst(event);
    const isLong = event.type === 'part.retry' && event.waitMs >= LONG_WAIT_MS;
    const isDetail = isCounted || (DETAILS.has(type) && !isRefusedLogin && !isLong);
    if (isDetail && logger.isDebugEnabled?.() === false) return;
    const data: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(event)) if (!NOT_DATA.has(name)) data[name] = inWholeMs(name, value);
    Object.assign(data, hintFor(event));
    // Stopped by its user, or by a shutdown: the operator need not look into that.
    const intended = event.type === 'model.failed' && event.kind === 'aborted';
    if (event.type === 'journal' && event.state === 'failing') logger.error(type, data);
    else if (isRefusedLogin) logger.warn(type, data);
    else if ((WARNINGS.has(type) && !intended) || (event.type === 'channel' && isTrouble(event.state))) logger.warn(type, data);
    else if (isDetail) logger.debug(type, data);
    else logger.info(type, data);
  };
}

/** The last midnight in the daemon's time zone: usage "today" is counted from there. */
export function startOfDay(clock: Clock): number {
  return new Date(clock.now()).setHours(0, 0, 0, 0);
}
