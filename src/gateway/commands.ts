import { type AbortAnswer, abortAnswer } from './abort-words.ts';

/** What a chat message asks of the gateway itself; anything else is the agent's. */
export type Command =
  /** Answered at once, even while a turn runs; also ends that turn and what waits behind it. */
  | ({ readonly kind: 'stop' } & AbortAnswer)
  /** Answered at once. */
  | { readonly kind: 'help'; readonly answer: string }
  /**
   * Takes its turn in the lane, because it changes the session: the newest `keep` messages stay. `reset`: its
   * choices go too.
   */
  | { readonly kind: 'new'; readonly keep: number; readonly reset?: true }
  /** Takes its turn in the lane too; without a value it only says what is in force. */
  | ChoiceCommand;

export interface ChoiceCommand {
  readonly kind: 'model' | 'think';
  readonly value?: string;
}

/** Messages that `/new` carries over (spec A6). */
const CARRIED_OVER = 10;

const HELP = [
  '/new – start afresh, keeping the last 10 messages (`/new --keep 0` keeps none)',
  '/reset – start afresh with nothing kept, and the model and thinking of the config',
  '/model [NAME] – which model answers here, and which there are; or choose one',
  '/think [off|low|medium|high|auto] – how much it thinks before it answers',
  '/stop – stop the answer being worked on, and what waits behind it (or say “stop”)',
  '/help – this list',
].join('\n');

/** Reads a command (spec A5, A6). An unknown `/word` is text for the agent. */
export function parseCommand(text: string): Command | undefined {
  const stop = abortAnswer(text);
  if (stop !== undefined) return { kind: 'stop', ...stop };
  const [word, ...rest] = text.trim().split(/\s+/);
  if (word === '/help' && rest.length === 0) return { kind: 'help', answer: HELP };
  if (word === '/reset' && rest.length === 0) return { kind: 'new', keep: 0, reset: true };
  if (word === '/model' || word === '/think') {
    const kind = word === '/model' ? 'model' : 'think';
    return { kind, ...(rest.length > 0 ? { value: rest.join(' ') } : {}) };
  }
  if (word !== '/new') return undefined;
  if (rest.length === 0) return { kind: 'new', keep: CARRIED_OVER };
  const keep = rest.length === 2 && rest[0] === '--keep' ? Number(rest[1]) : Number.NaN;
  return Number.isInteger(keep) && keep >= 0 && keep <= 1_000 ? { kind: 'new', keep } : undefined;
}
