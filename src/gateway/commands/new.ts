import { sessionOfArchive } from '../../core/ids.ts';
import { newestKept } from '../../runs/cuts.ts';
import type { CommandSpec, NewCommand, Prompted, PromptPorts, RunCommand } from './command.ts';
import { type Conversation, GROUP_REFUSAL } from './conversation.ts';

/** Messages that `/new` carries over (spec A6). */
const CARRIED_OVER = 10;
const MOST_KEPT = 1_000;

export const newCommand: CommandSpec = {
  name: 'new',
  args: '[TOPIC]',
  summary: 'start afresh, keeping the last 10 messages (`/new --keep 0` keeps none); with a name, go to a topic of its own',
  read(words) {
    if (words.length === 0) return { kind: 'new', keep: CARRIED_OVER };
    if (words[0] !== '--keep') return { kind: 'topic', name: words.join(' ') };
    const keep = words.length === 2 ? Number(words[1]) : Number.NaN;
    return Number.isInteger(keep) && keep >= 0 && keep <= MOST_KEPT ? { kind: 'new', keep } : undefined;
  },
};

export const resetCommand: CommandSpec = {
  name: 'reset',
  summary: 'start afresh with nothing kept, and the model, thinking and queue mode of the config',
  read: (words) => (words.length === 0 ? { kind: 'new', keep: 0, reset: true } : undefined),
};

/**
 * What runs or waits in the conversation goes on and ends in what it was; its answer comes, and says so. The
 * count is that of now: a turn that ends in the same instant may add to it.
 */
export async function startAfresh(
  command: NewCommand,
  { message, session, topic }: Conversation,
  { transcripts, answer, mayChange }: PromptPorts,
): Promise<Prompted> {
  if (!mayChange(message)) return { outcome: 'not-permitted', parts: answer(message, GROUP_REFUSAL) };
  const kept = newestKept(await transcripts.load(session), command.keep).length;
  return {
    outcome: 'new',
    parts: answer(message, afreshText(kept)),
    restart: { topic, keep: command.keep },
    ...(command.reset ? { settings: { model: null, thinking: null, queue: null } } : {}),
  };
}

/** A message that waited and was edited to the command. The caller holds the session's mutex. */
export const startAfreshInLane: RunCommand<NewCommand> = async (command, row, { transcripts, choice, mayChange }) => {
  if (!mayChange(row.message)) return GROUP_REFUSAL;
  const kept = await transcripts.restart(sessionOfArchive(row.session), command.keep);
  if (command.reset) await choice.reset(row);
  return afreshText(kept);
};

function afreshText(kept: number): string {
  return kept === 0 ? 'Started afresh. Nothing was carried over.' : `Started afresh. ${kept} messages were carried over.`;
}
