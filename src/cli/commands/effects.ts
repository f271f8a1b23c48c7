import { printable } from '../../lib/printable.ts';
import type { Command } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { isoTime } from '../format-time.ts';
import { formatTable } from '../output.ts';
import { withJournal } from '../read-journal.ts';
import { parseSince } from './usage-period.ts';

export interface EffectsOptions {
  readonly since?: string;
}

/**
 * Calls of tools that can change files of a session, or what other people and systems see, and those that
 * needed a yes. Arguments are not kept.
 */
export const effects: Command<EffectsOptions> = async (context, options) => {
  const { deps, out } = context;
  const since = parseSince(options.since ?? '1d', deps.clock.now());
  const found = (await withJournal(context, ({ journal }) => journal.record.effects(since))) ?? [];
  out.document({ effects: found.map((entry) => ({ ...entry, state: stateOf(entry) })) });
  if (found.length === 0) {
    out.data('no tool that can change something was called');
    return EXIT.ok;
  }
  const rows = found.map((entry) =>
    [
      ...[isoTime(entry.startedAt), entry.effect, entry.tool, stateOf(entry)],
      ...[entry.principal ?? '-', entry.allowedBy ?? '-', entry.run ?? '-'],
    ].map(printable),
  );
  out.data(formatTable([['WHEN', 'EFFECT', 'TOOL', 'STATE', 'ASKED BY', 'ALLOWED BY', 'RUN'], ...rows]));
  return EXIT.ok;
};

/** `open`: under way, or its process ended before it was known whether it took effect. */
function stateOf({ endedAt }: { readonly endedAt?: number }): 'done' | 'open' {
  return endedAt === undefined ? 'open' : 'done';
}
