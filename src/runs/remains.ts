// row and recorded steps -> what its session keeps of a turn that ended without its agent
import { interrupted } from '../agent/interrupted.ts';
import { principalOf } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import type { Clock } from '../core/ports.ts';
import type { Remains, RemainsOf, RunRow } from '../core/run.ts';
import type { SessionMessage } from '../core/session.ts';
import type { StepRecord } from '../core/step.ts';
import { wordsOf } from './prepare.ts';

export interface RemainsOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** Whether the gateway itself answers to these words: nothing of that is conversation. */
  readonly isCommand: (text: string) => boolean;
}

const NOTHING: Remains = { lines: [], tools: [] };

/**
 * For the journal, which writes the lines in the transaction that ends the row. A row whose turn never began
 * leaves nothing, and neither does what was overheard before it was known to be for the agent.
 */
export function remainsOf({ clock, isCommand }: RemainsOptions): RemainsOf {
  return (row: RunRow, steps: readonly StepRecord[]): Remains => {
    const { message } = row;
    const isOurs = message !== undefined && (message.overheard || isCommand(message.text));
    if (steps.length === 0 && (row.generation === 0 || isOurs)) return NOTHING;
    const asked = message ? { content: wordsOf(message), media: [] } : { content: row.prompt.text, media: row.prompt.media };
    const { input = asked, lines, tools } = interrupted(row.key, steps, clock.now());
    const taint = steps.reduce((sum, step) => sum | (step.taint ?? 0), row.taint ?? 0);
    const marks = { ...(taint === 0 ? {} : { taint }), ...(message?.beside === undefined ? {} : { beside: message.beside }) };
    return { lines: [inputLine(row, input), ...lines].map((line) => ({ ...line, ...marks })), tools };
  };
}

type InputOf = Pick<RunRow, 'key' | 'acceptedAt' | 'authority'> & {
  readonly message?: Pick<InboundMessage, 'isGroup' | 'queued'> | undefined;
};

/** The line of what a run was asked, below what it is told first (`opening`). */
export function inputLine(
  { key, acceptedAt, ...row }: InputOf,
  { opening = '', content, media }: { readonly opening?: string; readonly content: string; readonly media: readonly string[] },
): SessionMessage {
  return {
    id: `${key}:in`,
    role: 'user',
    content: opening === '' || content === '' ? opening + content : `${opening}\n${content}`,
    ...(media.length > 0 ? { media } : {}),
    // In a private chat all is theirs, which its name says.
    ...(row.message && !row.message.isGroup ? {} : { by: row.authority.principal, ...joinedWith(row) }),
    timestamp: new Date(acceptedAt).toISOString(),
  };
}

/** Files of others lie beside those of the person. */
function joinedWith({ message, authority }: Pick<InputOf, 'message' | 'authority'>): Pick<SessionMessage, 'joined'> {
  const joined = (message?.queued ?? []).map((one) => ({ by: principalOf(one), run: one.id }));
  return joined.some(({ by }) => by !== authority.principal) ? { joined } : {};
}
