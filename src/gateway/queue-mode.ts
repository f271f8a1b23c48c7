// rows waiting in a lane + queue mode -> what to run: which row leads, which are merged, which superseded
import { principalOf } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import type { During, QueueMode, Taking } from '../core/queueing.ts';
import type { ChatRow, RunRow } from '../core/run.ts';
import { noteOf } from '../runs/prepare.ts';
import { commandOf } from './commands/index.ts';

/**
 * Spec A4: a turn in these modes begins so long after its message, so that the newest of a burst is known.
 * ms.
 */
export const SETTLE_MS = 500;
/** A burst that does not end is begun after so many times the pause it should end with. */
const LONGEST_BURST = 10;
/** Rows of a lane that are looked at. */
export const MOST_JOINED = 200;
/** Overflow turns of a session at once (spec A4). */
const MOST_BESIDE = 5;

/** What holds for the messages of one chat. */
export interface QueueRules {
  readonly mode: QueueMode;
  /** Messages of one person that follow each other within this time are one request. 0 = off. ms. */
  readonly debounceMs: number;
  /** Whether the config has rules for the author alone: tools, a model, money. Absent: for no person. */
  readonly hasOwnRules?: (message: InboundMessage) => boolean;
}

export interface Plan extends Taking {
  /** The row whose turn begins. */
  readonly lead: number;
}

/**
 * `rows` wait in one lane, oldest first, and the first of them is next. A command, a correction, a voice note
 * that may not be for the agent, and a row that began already run alone and in their place: nothing behind
 * them is taken before them. A person's message never takes the place of another person's.
 */
export function planTurn({ mode, debounceMs, hasOwnRules }: QueueRules, rows: readonly RunRow[]): Plan | undefined {
  const [first, ...behind] = rows;
  if (!first) return undefined;
  const alone = { lead: first.seq, merged: [], superseded: [] };
  if (!isJoinable(first)) return alone;
  const barrier = behind.findIndex((row) => !isJoinable(row) || row.session !== first.session);
  const others = (barrier < 0 ? behind : behind.slice(0, barrier)).filter(isJoinable);
  if (mode === 'collect') return { ...alone, merged: seqs(whileTrue(others, (row) => mayJoin(row, first, hasOwnRules))) };
  const own = others.filter((row) => isSamePerson(row, first));
  const newest = own.at(-1);
  if (mode === 'steer' || mode === 'interrupt')
    return newest ? { lead: newest.seq, merged: [], superseded: seqs([first, ...own.slice(0, -1)]) } : alone;
  return debounceMs > 0 ? { ...alone, merged: seqs(burstBehind(first, others, debounceMs)) } : alone;
}

/** What one person wrote in one go: what waits behind a long turn for other reasons was not (spec A4). */
function burstBehind(first: ChatRow, others: readonly ChatRow[], debounceMs: number): readonly ChatRow[] {
  let previous = first;
  return whileTrue(others, (row) => {
    const follows = isSamePerson(row, first) && row.acceptedAt - previous.acceptedAt <= debounceMs;
    previous = row;
    return follows;
  });
}

/** Said of a message that comes while as many are worked on as may be. */
const BUSY_TEXT = `I am working on ${MOST_BESIDE + 1} of your messages already, so I left this one alone. Send it again when one of them is answered.`;

/** What a message does to work of its lane. */
export function duringOf(
  { mode, debounceMs }: QueueRules,
  isOwner: boolean,
  answer: (message: InboundMessage, text: string) => readonly NewPart[],
): During | undefined {
  if (mode === 'interrupt') return { kind: 'interrupt', ofOthers: isOwner };
  if (mode === 'steer') return { kind: 'steer', note: noteOf };
  if (mode !== 'speculative') return undefined;
  const full = (one: InboundMessage) => answer(one, BUSY_TEXT);
  return { kind: 'overflow', most: MOST_BESIDE, gathers: debounceMs > 0, follows: (main) => !!commandOf(main), full };
}

/**
 * How long the turn still has to wait for more of a burst. `arrivedAt`: of its first and of its newest
 * message.
 */
export function settleMs(
  { mode, debounceMs }: QueueRules,
  arrivedAt: { readonly first: number; readonly newest: number },
  now: number,
): number {
  const settled = mode === 'steer' || mode === 'interrupt' ? arrivedAt.first + SETTLE_MS : now;
  const burst = Math.min(arrivedAt.newest + debounceMs, arrivedAt.first + LONGEST_BURST * debounceMs);
  return Math.max(0, settled - now, debounceMs > 0 ? burst - now : 0);
}

function isJoinable(row: RunRow): row is ChatRow {
  const { message, generation } = row;
  return message?.kind === 'message' && generation === 0 && !message.overheard && commandOf(message) === undefined;
}

function isSamePerson(row: ChatRow, other: ChatRow): boolean {
  return principalOf(row.message) === principalOf(other.message);
}

/** A run has the rights, the model and the money of its first author: what is joined must have the same. */
function mayJoin(row: ChatRow, first: ChatRow, isApart: QueueRules['hasOwnRules'] = () => false): boolean {
  const rights = ({ authority: { role, mode, policies, home } }: RunRow) => JSON.stringify([role, mode, policies, home]);
  return rights(row) === rights(first) && (isSamePerson(row, first) || !(isApart(row.message) || isApart(first.message)));
}

function whileTrue(rows: readonly ChatRow[], holds: (row: ChatRow) => boolean): readonly ChatRow[] {
  const end = rows.findIndex((row) => !holds(row));
  return end < 0 ? rows : rows.slice(0, end);
}

function seqs(rows: readonly RunRow[]): readonly number[] {
  return rows.map(({ seq }) => seq);
}
