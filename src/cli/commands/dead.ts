import type { DeadLetter } from '../../core/dead-letters.ts';
import { printable, printableBlock } from '../../lib/printable.ts';
import type { Command } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { formatRelative, isoTime } from '../format-time.ts';
import { formatTable, type Output } from '../output.ts';
import { withJournal } from '../read-journal.ts';

/** Messages and answers that were given up. Content is shown by `show` only. */
export const deadList: Command<unknown> = async (context) => {
  const { deps, out } = context;
  const letters = (await withJournal(context, ({ journal }) => journal.dead.list())) ?? [];
  out.document({ letters: letters.map(summaryOf) });
  if (letters.length === 0) {
    out.data('no dead letters');
    return EXIT.ok;
  }
  const now = deps.clock.now();
  const rows = letters.map((letter) =>
    [
      letter.id,
      formatRelative(letter.at, now),
      letter.channel,
      letter.chatId,
      letter.sender,
      letter.reason,
      String(letter.attempts),
    ].map(printable),
  );
  out.data(formatTable([['ID', 'WHEN', 'CHANNEL', 'CHAT', 'SENDER', 'REASON', 'TRIES'], ...rows]));
  out.say('→ gatehouse dead show ID');
  return EXIT.ok;
};

export const deadShow: Command<{ readonly id: string }> = async (context, { id }) => {
  const { deps, out } = context;
  const letter = await withJournal(context, ({ journal }) => journal.dead.show(id));
  if (!letter) return noSuch(out, [id]);
  out.document({ letter: { ...summaryOf(letter), payload: letter.payload } });
  const facts: [string, string][] = [
    ['id', letter.id],
    ['when', `${isoTime(letter.at)} (${formatRelative(letter.at, deps.clock.now())})`],
    ['channel', letter.channel],
    ['chat', letter.chatId],
    ['sender', letter.sender],
    ['reason', letter.reason],
    ['tries', String(letter.attempts)],
  ];
  out.data(formatTable(facts.map((row) => row.map(printable))));
  out.data(printableBlock(JSON.stringify(letter.payload, null, 2)));
  out.say(`→ gatehouse dead replay ${printable(letter.id)}`);
  return EXIT.ok;
};

export interface DeadChangeOptions {
  readonly ids: readonly string[];
  readonly dryRun?: boolean;
}

/** Tries them again from the start, with all attempts. A running daemon takes them up by itself. */
export const deadReplay: Command<DeadChangeOptions> = (context, options) => change(context, options, 'replay');

/** Removes them with their content, for good. */
export const deadDrop: Command<DeadChangeOptions> = (context, options) => change(context, options, 'drop');

type Context = Parameters<Command<unknown>>[0];

async function change(context: Context, { ids, dryRun = false }: DeadChangeOptions, verb: 'replay' | 'drop'): Promise<number> {
  const { out } = context;
  const done: string[] = [];
  const missing: string[] = [];
  const found = await withJournal(context, async ({ journal }) => {
    for (const id of ids) {
      const changed = dryRun ? (await journal.dead.show(id)) !== undefined : await journal.dead[verb](id);
      (changed ? done : missing).push(id);
    }
    return true;
  });
  if (!found) missing.push(...ids);
  const past = verb === 'replay' ? 'queued again' : 'dropped';
  for (const id of done) out.data(`${out.mark('ok')} ${printable(id)} ${dryRun ? `would be ${past}` : past}`);
  if (missing.length > 0) return noSuch(out, missing, { ids: done, dryRun });
  out.document({ ids: done, dryRun });
  return EXIT.ok;
}

function noSuch(out: Output, ids: readonly string[], more: Readonly<Record<string, unknown>> = {}): number {
  out.fail({ code: 'GH1003', message: `no dead letter ${ids.join(', ')}`, hint: 'see `gatehouse dead list`' }, more);
  return EXIT.failed;
}

function summaryOf({ id, at, channel, chatId, sender, reason, attempts }: DeadLetter): Record<string, unknown> {
  return { id, at: isoTime(at), channel, chatId, sender, reason, attempts };
}
