import { printable } from '../../lib/printable.ts';
import { type Gate, whyOf } from '../../runs/why.ts';
import type { Command } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { isoTime } from '../format-time.ts';
import { formatTable } from '../output.ts';
import { withJournal } from '../read-journal.ts';

export interface AboutOptions {
  /** As `EventRecord.about` takes it. */
  readonly id: string;
}

const MARKS: Readonly<Record<Gate['state'], 'ok' | 'warn' | 'bad'>> = { passed: 'ok', waits: 'warn', failed: 'bad' };

/** Why a message was answered, or was not: gate by gate. */
export const why: Command<AboutOptions> = async (context, { id }) => {
  const { deps, out } = context;
  const about = await withJournal(context, ({ journal }) => journal.record.about(id));
  if (!about) {
    out.fail({ code: 'GH1003', message: `nothing is known of ${id}`, hint: 'name a message id, the id of a chat, or `last`' });
    return EXIT.failed;
  }
  const { verdict, configKey, gates } = whyOf(about, deps.clock.now());
  const at = about.events[0]?.event.at ?? about.run?.acceptedAt;
  out.document({
    id: about.key,
    ...(at === undefined ? {} : { at: isoTime(at) }),
    ...(about.run ? { state: about.run.state } : {}),
    verdict,
    configKey: configKey ?? null,
    gates,
  });
  out.data(`${printable(about.key)}${at === undefined ? '' : `  ${isoTime(at)}`}`);
  out.data(formatTable(gates.map(({ gate, state, text }) => [`${out.mark(MARKS[state])} ${gate}`, printable(text)])));
  out.data(printable(verdict));
  if (configKey !== undefined) out.say(`→ the config decides it: ${configKey}`);
  return EXIT.ok;
};
