import { newestKept } from '../../runs/cuts.ts';
import type { CommandSpec, Prompted, PromptPorts } from './command.ts';
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
  summary: 'start afresh with nothing kept, and the model and thinking of the config',
  read: (words) => (words.length === 0 ? { kind: 'new', keep: 0, reset: true } : undefined),
};

/**
 * What runs or waits in the conversation goes on and ends in what it was; its answer comes, and says so. The
 * count is that of now: a turn that ends in the same instant may add to it.
 */
export async function startAfresh(
  command: { readonly keep: number; readonly reset?: true },
  { message, session, topic }: Conversation,
  { transcripts, answer, mayChange }: PromptPorts,
): Promise<Prompted> {
  if (!mayChange(message)) return { outcome: 'not-permitted', parts: answer(message, GROUP_REFUSAL) };
  const kept = newestKept(await transcripts.load(session), command.keep).length;
  const text = kept === 0 ? 'Started afresh. Nothing was carried over.' : `Started afresh. ${kept} messages were carried over.`;
  return {
    outcome: 'new',
    parts: answer(message, text),
    restart: { topic, keep: command.keep },
    ...(command.reset ? { settings: { model: null, thinking: null } } : {}),
  };
}
