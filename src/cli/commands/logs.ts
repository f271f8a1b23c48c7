import type { RunEvent } from '../../core/events.ts';
import type { EventRecord, RecordedEvent } from '../../core/record.ts';
import { printable } from '../../lib/printable.ts';
import type { Command, CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { isoTime } from '../format-time.ts';
import { withJournal } from '../read-journal.ts';
import { parsePeriod } from './usage-period.ts';

export interface LogsOptions {
  readonly follow?: boolean;
  /** A session, a channel, or a part of a run's key. */
  readonly chat?: string;
  readonly level: 'info' | 'warn';
  readonly since: string;
  readonly grep?: string;
}

const PAGE = 1_000;
const FOLLOW_MS = 500;
/** What an operator looks for when something is wrong. */
const TROUBLE =
  /^(?:failed|model\.failed|model\.switched|tool\.unknown|part\.(?:retry|unknown|dead|expired)|session\.damaged|job|journal)$/;

/** The record as lines; with `--json` each event is one document on a line of its own. */
export const logs: Command<LogsOptions> = async (context, options) => {
  const found = await withJournal(context, async ({ journal }) => {
    await print(context, journal.record, options);
    return true;
  });
  if (!found) context.out.say('nothing is recorded yet');
  return EXIT.ok;
};

async function print(context: CommandContext, record: EventRecord, options: LogsOptions): Promise<void> {
  const { deps, out } = context;
  const { since } = parsePeriod({ since: options.since }, deps.clock.now());
  let seq = 0;
  for (;;) {
    const page = await record.after(seq, { limit: PAGE, since });
    for (const entry of page) if (isAsked(entry, options)) out.raw(`${out.json ? JSON.stringify(entry) : lineOf(entry.event)}\n`);
    seq = page.at(-1)?.seq ?? seq;
    if (page.length === PAGE) continue;
    if (!options.follow) return;
    await deps.clock.sleep(FOLLOW_MS);
  }
}

function isAsked({ event }: RecordedEvent, { chat, level, grep }: LogsOptions): boolean {
  if (level === 'warn' && !TROUBLE.test(event.type)) return false;
  const { session, channel, messageId = '' } = event;
  if (chat !== undefined && session !== chat && channel !== chat && !messageId.includes(chat)) return false;
  return grep === undefined || JSON.stringify(event).includes(grep);
}

function lineOf({ at, type, messageId, session: _session, channel, ...rest }: RunEvent): string {
  const facts = Object.entries(rest).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return printable([isoTime(at), type, channel ?? '-', messageId ?? '-', ...facts].join('  '));
}
