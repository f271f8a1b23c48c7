import type { CommandSpec, RunCommand } from './command.ts';

/** Messages that `/new` carries over (spec A6). */
const CARRIED_OVER = 10;
const MOST_KEPT = 1_000;

export const newCommand: CommandSpec = {
  name: 'new',
  summary: 'start afresh, keeping the last 10 messages (`/new --keep 0` keeps none)',
  read(words) {
    if (words.length === 0) return { kind: 'new', keep: CARRIED_OVER };
    const keep = words.length === 2 && words[0] === '--keep' ? Number(words[1]) : Number.NaN;
    return Number.isInteger(keep) && keep >= 0 && keep <= MOST_KEPT ? { kind: 'new', keep } : undefined;
  },
};

export const resetCommand: CommandSpec = {
  name: 'reset',
  summary: 'start afresh with nothing kept, and the model and thinking of the config',
  read: (words) => (words.length === 0 ? { kind: 'new', keep: 0, reset: true } : undefined),
};

export const startAfresh: RunCommand<{ kind: 'new'; keep: number; reset?: true }> = async (
  command,
  row,
  { transcripts, choice },
) => {
  const kept = await transcripts.restart(row.session, command.keep);
  if (command.reset) await choice.reset(row);
  return kept === 0 ? 'Started afresh. Nothing was carried over.' : `Started afresh. ${kept} messages were carried over.`;
};
