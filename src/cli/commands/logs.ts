import { GatehouseError } from '../../core/errors.ts';
import type { RunEvent } from '../../core/events.ts';
import { inKeys } from '../../core/ids.ts';
import type { EventRecord, RecordedEvent } from '../../core/record.ts';
import { REWRITTEN_WITHIN_MS } from '../../journal/refusal-rows.ts';
import { printable } from '../../lib/printable.ts';
import type { Command, CommandContext } from '../context.ts';
import { countOf } from '../count-option.ts';
import { EXIT } from '../exit-codes.ts';
import { EventLines } from '../format-event.ts';
import { isoTime } from '../format-time.ts';
import { withJournal } from '../read-journal.ts';
import { parseSince, parseTime } from './usage-period.ts';

export interface LogsOptions {
  readonly follow?: boolean;
  /** A session, a channel, or a part of a run's key. */
  readonly chat?: string;
  readonly level: 'info' | 'warn';
  readonly since?: string;
  /** Events before this time. */
  readonly until?: string;
  /** Default: `pretty` on a terminal, else `json`. */
  readonly log?: 'pretty' | 'json';
  readonly grep?: string;
  /** How many of the newest, or `all`. Absent = all with `since`, else 200. */
  readonly lines?: string;
}

const NEWEST = 200;
const NONE = 'no event matches in this period';
const PAGE = 1_000;
/** Once more events that were not asked for are held, the record is read forwards, page by page. */
const MOST_IN_VAIN = 16_000;
const FOLLOW_MS = 500;
/** Runs of a chat that are remembered: the later events of a run do not name its chat. */
const MOST_RUNS = 10_000;

/**
 * The record as lines: short ones on a terminal, elsewhere each event as one document on a line of its own.
 * `--log pretty` without a terminal: with every fact, for a search in them.
 */
export const logs: Command<LogsOptions> = async (context, options) => {
  const { out, deps } = context;
  if (out.json && options.log === 'pretty')
    throw new GatehouseError('GH1001', '--json and --log pretty contradict each other', { hint: 'leave out one of them' });
  // Before the record is opened: there may be none.
  boundsOf(options, deps.clock.now());
  mostOf(options);
  const printed = await withJournal(context, ({ journal }) => print(context, journal.record, options));
  if (printed === undefined) out.say('nothing is recorded yet');
  else if (printed === 'more') out.say(`these are the newest ${NEWEST}; -n COUNT or -n all shows more`);
  else if (printed === 0 && !out.json)
    out.say(isOfDay(options) ? 'no event matches in the last 24 hours; --since 30d looks further back' : NONE);
  return EXIT.ok;
};

/** How far the record was read. Refusals of a flood may still come before events that were read. */
class Position {
  /** What is read next comes after this one. */
  seq = 0;
  #newest = 0;
  /** Events that are read again: from the first refusal on whose row may still be written again. */
  readonly #seen = new Set<number>();
  #refused: RecordedEvent[] = [];

  /** Those of a page that were not read before. */
  take(page: readonly RecordedEvent[], now: number): readonly RecordedEvent[] {
    const fresh = page.filter(({ seq }) => !this.#seen.has(seq));
    for (const entry of fresh) {
      if (mayGetMore(entry, now)) this.#refused.push(entry);
      if (this.#refused.length > 0) this.#seen.add(entry.seq);
    }
    this.seq = page.at(-1)?.seq ?? this.seq;
    this.#newest = Math.max(this.#newest, this.seq);
    return fresh;
  }

  /** Everything was read. */
  goBack(now: number): void {
    this.#refused = this.#refused.filter((entry) => mayGetMore(entry, now));
    this.seq = this.#refused.reduce((least, { seq }) => Math.min(least, seq - 1), this.#newest);
    for (const seq of this.#seen) if (seq <= this.seq) this.#seen.delete(seq);
  }
}

function mayGetMore({ event }: RecordedEvent, now: number): boolean {
  return event.type === 'dropped' && Math.abs(now - event.at) < REWRITTEN_WITHIN_MS;
}

/**
 * Resolves with the number of lines, or `more` where earlier ones were left out unasked. Rows lie in the
 * order of their commits, and a commit may write what happened earlier than what another one wrote before it.
 * So a page is sorted by time, except with `follow`.
 */
async function print(context: CommandContext, record: EventRecord, options: LogsOptions): Promise<number | 'more'> {
  const { deps, out } = context;
  const since = boundsOf(options, deps.clock.now());
  const most = mostOf(options);
  let isAsked = filterOf(options, deps.clock.now());
  const position = new Position();
  const { stdout } = deps.stdio;
  const isTerminal = stdout.isTTY === true;
  const isJson = out.json || (options.log ?? (isTerminal ? 'pretty' : 'json')) === 'json';
  const people = new EventLines(out);
  const textOf = (entry: RecordedEvent): string => {
    if (isJson) return JSON.stringify(entry);
    return isTerminal ? people.line(entry.event, stdout.columns ?? 80) : lineOf(entry.event);
  };
  let printed = 0;
  const show = (asked: readonly RecordedEvent[]): void => {
    const lines = options.follow ? asked : asked.toSorted((a, b) => a.event.at - b.event.at);
    for (const entry of lines) out.raw(`${textOf(entry)}\n`);
    printed += lines.length;
  };
  if (most !== undefined) {
    const filter = (): Filter => filterOf(options, deps.clock.now());
    const take = (read: readonly RecordedEvent[]) => void position.take(read, deps.clock.now());
    const found = await newestOf(record, { most, since, filter, take });
    isAsked = found.isAsked;
    show(found.newest);
    if (!options.follow) return found.isMore && options.lines === undefined && !out.json ? 'more' : printed;
    position.goBack(deps.clock.now());
  }
  for (;;) {
    const page = await record.after(position.seq, { limit: PAGE, since });
    show(position.take(page, deps.clock.now()).filter(isAsked));
    if (page.length === PAGE) continue;
    if (!options.follow) return printed;
    position.goBack(deps.clock.now());
    await deps.clock.sleep(FOLLOW_MS);
  }
}

/**
 * When what is asked for begins. Throws GH1001 for what is no time, and for a period that ends before it
 * begins.
 */
function boundsOf(options: LogsOptions, now: number): number {
  const { since: first, until, follow } = options;
  const since = first === undefined && !isOfDay(options) ? 0 : parseSince(first ?? '24h', now);
  const end = until === undefined ? Number.POSITIVE_INFINITY : parseTime('--until', until, now);
  if (end <= since)
    throw new GatehouseError('GH1001', '--until is before --since', { hint: 'name the earlier time with --since' });
  if (follow && end <= now)
    throw new GatehouseError('GH1001', '--follow waits for what comes, and --until is over', { hint: 'leave out one of them' });
  return since;
}

/** Neither a time nor a number of events was asked for: the last 24 hours. */
function isOfDay({ since, lines }: LogsOptions): boolean {
  return since === undefined && lines === undefined;
}

function mostOf({ lines, since }: LogsOptions): number | undefined {
  if (lines === undefined) return since === undefined ? NEWEST : undefined;
  return lines === 'all' ? undefined : countOf('--lines', lines);
}

/** One remembers which runs are of its chat, by what it has seen. */
type Filter = (entry: RecordedEvent) => boolean;

interface Wanted {
  readonly most: number;
  readonly since: number;
  /** One that has seen nothing. */
  readonly filter: () => Filter;
  /** Gets what was read, in its order. */
  readonly take: (read: readonly RecordedEvent[]) => void;
}

interface Newest {
  /** Oldest first. */
  readonly newest: readonly RecordedEvent[];
  readonly isMore: boolean;
  /** Has seen what was read. */
  readonly isAsked: Filter;
}

/**
 * The newest events that are asked for. It reads from the end of the record backwards, each time twice as
 * far, until there are enough of them or `since` is passed.
 */
async function newestOf(record: EventRecord, wanted: Wanted): Promise<Newest> {
  const { most, since, filter, take } = wanted;
  for (let read: readonly RecordedEvent[] = [], step = PAGE; ; step *= 2) {
    const earlier = await record.before(read[0]?.seq, step);
    read = [...earlier, ...read];
    const isAsked = filter();
    const found = read.filter(({ event }) => event.at >= since).filter(isAsked);
    const isAll = earlier.length < step || earlier.every(({ event }) => event.at < since);
    if (found.length > most || isAll) {
      take(read);
      for (const entry of read) isAsked(entry);
      return { newest: found.slice(-most), isMore: found.length > most, isAsked };
    }
    if (read.length - found.length > MOST_IN_VAIN) return await fromBeginning(record, wanted);
  }
}

/** The same, forwards: only pages and what is asked for are held. */
async function fromBeginning(record: EventRecord, { most, since, filter, take }: Wanted): Promise<Newest> {
  const isAsked = filter();
  let newest: readonly RecordedEvent[] = [];
  for (let isMore = false, seq = 0; ; ) {
    const page = await record.after(seq, { limit: PAGE, since });
    take(page);
    const found = [...newest, ...page.filter(isAsked)];
    isMore ||= found.length > most;
    newest = found.slice(-most);
    seq = page.at(-1)?.seq ?? seq;
    if (page.length < PAGE) return { newest, isMore, isAsked };
  }
}

function filterOf({ chat, level, grep, until }: LogsOptions, now: number): Filter {
  const ofChat = new Set<string>();
  const end = until === undefined ? Number.POSITIVE_INFINITY : parseTime('--until', until, now);
  return ({ event }) => {
    const { messageId } = event;
    if (chat !== undefined && !names(event, chat) && !ofChat.has(messageId ?? '')) return false;
    if (chat !== undefined && messageId !== undefined) remember(ofChat, messageId);
    if (level === 'warn' && !isTrouble(event)) return false;
    if (event.at >= end) return false;
    return grep === undefined || JSON.stringify(event).includes(grep);
  };
}

/** By its channel, its session, or a whole part of a key: chat `1` is not chat `10`. */
function names(event: RunEvent, chat: string): boolean {
  const { channel, messageId, session } = event;
  // As `people list` names people.
  if (channel !== undefined && chat.startsWith(`${channel}:`) && names(event, chat.slice(channel.length + 1))) return true;
  const keys = [channel, messageId, session, 'lane' in event ? event.lane : undefined, 'chat' in event ? event.chat : undefined];
  return keys.some((key) => key === chat || key?.split(/[/:#]/).some((part) => part === chat || part === inKeys(chat)));
}

function remember(runs: Set<string>, run: string): void {
  runs.add(run);
  for (const oldest of runs) {
    if (runs.size <= MOST_RUNS) return;
    runs.delete(oldest);
  }
}

const TROUBLE: ReadonlySet<RunEvent['type']> = new Set([
  ...(['failed', 'model.failed', 'model.switched', 'tool.unknown', 'session.damaged', 'journal', 'intake.held', 'job'] as const),
  ...(['part.retry', 'part.unknown', 'part.dead', 'part.expired'] as const),
]);

/** What an operator looks for when something is wrong. */
function isTrouble(event: RunEvent): boolean {
  if (event.type === 'finished') return event.outcome.startsWith('failed:');
  if (event.type === 'channel') return event.state === 'down' || event.state === 'degraded';
  if (event.type === 'budget') return event.step === 'stopped';
  return TROUBLE.has(event.type);
}

/** One event with every fact, for a search in them. */
export function lineOf({ at, type, messageId, session: _session, channel, ...rest }: RunEvent): string {
  const facts = Object.entries(rest).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return printable([isoTime(at), type, channel ?? '-', messageId ?? '-', ...facts].join('  '));
}
