import type { AuditEntry } from '../../core/people.ts';
import { counted } from '../../lib/counted.ts';
import { printable } from '../../lib/printable.ts';
import type { Command, CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { isoTime } from '../format-time.ts';
import { formatTable } from '../output.ts';
import { withJournal } from '../read-journal.ts';
import { parseSince } from './usage-period.ts';

export interface AuditOptions {
  readonly since?: string;
  readonly verify?: boolean;
}

/** Who decided what about whom, oldest first: ids only. */
export const peopleAudit: Command<AuditOptions> = async (context, options) => {
  if (options.verify) return await verify(context);
  const { deps, out } = context;
  const since = parseSince(options.since ?? '30d', deps.clock.now());
  const entries = (await withJournal(context, ({ people }) => people.audit({ since }))) ?? [];
  out.document({ audit: entries.map((entry) => ({ ...entry, at: isoTime(entry.at) })) });
  if (entries.length === 0) {
    out.data(`nothing was decided since ${isoTime(since)} (all: --since 2020-01-01)`);
    return EXIT.ok;
  }
  const rows = entries.map((entry) =>
    [String(entry.seq), isoTime(entry.at), entry.kind, entry.subject, entry.by, dataText(entry)].map(printable),
  );
  out.data(formatTable([['N', 'WHEN', 'WHAT', 'ABOUT', 'BY', 'DETAILS'], ...rows]));
  return EXIT.ok;
};

/** Counts of 0 say nothing. */
function dataText({ data }: AuditEntry): string {
  const told = Object.entries(data).filter(([, value]) => value !== 0);
  return told.map(([key, value]) => `${key} ${Array.isArray(value) ? value.join(' ') : String(value)}`).join(', ');
}

async function verify(context: CommandContext): Promise<number> {
  const { out } = context;
  const state = await withJournal(context, ({ people }) => people.verifyAudit());
  if (!state) {
    const message = 'there is no journal in this data directory, so nothing was checked';
    out.fail({ code: 'GH1003', message, hint: "name the daemon's directory with `--data-dir`" });
    return EXIT.failed;
  }
  if (state.kind === 'broken') {
    const message = `entry ${state.seq} of the record of decisions is broken: ${state.why}`;
    const hint = 'someone wrote to journal.db, or a disk failed: compare it with a backup; docs/people.md says how';
    out.fail({ code: 'GH1304', message, hint }, { entry: state.seq });
    return EXIT.failed;
  }
  const { entries, head } = state;
  out.document({ entries, head });
  out.data(`${out.mark('ok')} ${counted(entries, 'decision')}, none changed${head === '' ? '' : `; the newest is ${head}`}`);
  return EXIT.ok;
}
