import type { RunEvent } from '../../core/events.ts';
import type { RunAbout } from '../../core/record.ts';
import { printable } from '../../lib/printable.ts';
import { type Command, dataDirOf } from '../context.ts';
import { askDaemon } from '../daemon-status.ts';
import { EXIT } from '../exit-codes.ts';
import { formatDuration, isoTime } from '../format-time.ts';
import { formatTable } from '../output.ts';
import { nothingOf, withJournal } from '../read-journal.ts';
import type { AboutOptions } from './why.ts';

/** Columns of the drawing. */
const WIDTH = 40;

/** One line of the waterfall. */
interface Span {
  readonly name: string;
  /** Since the first event. ms */
  readonly from: number;
  readonly ms: number;
}

/** The way of one message as a waterfall: what took how long. */
export const trace: Command<AboutOptions> = async (context, { id }) => {
  const { deps, out } = context;
  const about = await withJournal(context, ({ journal }) => journal.record.about(id));
  if (!about || about.events.length === 0) {
    out.fail(nothingOf(about?.key ?? id, dataDirOf(context), `no event of ${id} is kept`));
    return EXIT.failed;
  }
  const events = about.events.map(({ event }) => event);
  const start = events[0]?.at ?? 0;
  const spans = events.map((event) => spanOf(event, start));
  const end = Math.max(1, ...spans.map(({ from, ms }) => from + ms));
  out.document({ id: about.key, startedAt: isoTime(start), tookMs: end, events });
  out.data(`${printable(about.key)}  ${isoTime(start)}  ${end} ms`);
  out.data(
    formatTable(
      spans.map((span) => [`${span.from} ms`, printable(span.name), bar(span, end), span.ms > 0 ? `${span.ms} ms` : '']),
    ),
  );
  const since = callSince(about);
  if (since !== undefined && (await askDaemon(dataDirOf(context))).kind === 'up')
    out.data(`model call under way for ${formatDuration(deps.clock.now() - since)}`);
  return EXIT.ok;
};

/**
 * When the model call began that has not ended, epoch ms; undefined = there is none. After a kill the record
 * still says so until the next start: only while a daemon runs, it is under way.
 */
function callSince({ run, events }: RunAbout): number | undefined {
  if (run?.state !== 'RUNNING') return undefined;
  const last = events.findLast(({ event: { type } }) => type === 'started' || type.startsWith('model.'))?.event;
  if (last === undefined || last.type === 'started' || last.type === 'model.done' || last.type === 'model.failed')
    return undefined;
  return events.findLast(({ event }) => event.type === 'model.started')?.event.at;
}

/** An event that says how long something took is told at its end. */
function spanOf(event: RunEvent, start: number): Span {
  const ms = 'ms' in event && event.type !== 'finished' && event.type !== 'part.sent' ? Math.round(event.ms) : 0;
  return { name: nameOf(event), from: Math.max(0, event.at - start - ms), ms };
}

function nameOf(event: RunEvent): string {
  switch (event.type) {
    case 'model.started':
    case 'model.done':
      return `${event.type} ${event.model}`;
    case 'model.failed':
      return `${event.type} ${event.model} ${event.code}`;
    case 'tool.started':
    case 'tool.done':
    case 'tool.unknown':
    case 'tool.asked':
    case 'tool.denied':
      return `${event.type} ${event.tool}`;
    case 'guard.found':
      return `${event.type} ${[event.tool ?? event.from, ...event.labels].join(' ')}`;
    case 'dropped':
    case 'part.retry':
    case 'part.unknown':
    case 'part.dead':
    case 'part.expired':
      return `${event.type} ${event.reason}`;
    case 'finished':
      return `${event.type} ${event.outcome}`;
    case 'failed':
      return `${event.type} ${event.code}`;
    default:
      return event.type;
  }
}

function bar({ from, ms }: Span, end: number): string {
  const at = Math.min(WIDTH - 1, Math.floor((from / end) * WIDTH));
  const length = Math.max(1, Math.round((ms / end) * WIDTH));
  return `${' '.repeat(at)}${(ms > 0 ? '█' : '·').repeat(Math.min(length, WIDTH - at))}`;
}
