/** What a run is told: the history it is given, what its waits came to, and what goes on beside it. */
import { UNTRUSTED } from '../core/authority.ts';
import type { Journal } from '../core/journal.ts';
import type { RunRow } from '../core/run.ts';
import type { SessionMessage } from '../core/session.ts';
import type { ToolResult } from '../core/tool.ts';
import type { CallVerdict, RunNotes } from '../core/turn.ts';
import type { ParkedRun, StoredWait, WaitKind } from '../core/wait.ts';
import { inMark } from '../lib/marks.ts';
import { oneLine } from '../lib/one-line.ts';
import type { Earlier } from './earlier.ts';
import type { GroupAbout } from './group-about.ts';
import { isOfRun } from './order-lines.ts';
import { recentHistory } from './recent-history.ts';
import type { Transcripts } from './transcripts.ts';

/**
 * Longest quotation of what another request asked for, and of a line that was said meanwhile. UTF-16 units.
 */
const REQUEST_CHARS = 200;
const LINE_CHARS = 500;
/** Lines and requests that are quoted, the newest. */
const MOST_LINES = 20;
const MOST_REQUESTS = 5;
/**
 * Lines behind a summary with which it is still found. Mostly the next one is made long before; not so where
 * summaries fail or are made by hand alone, and turns of many calls leave a hundred lines.
 */
const MOST_BEHIND = 200;

export interface ToldOptions {
  readonly journal: Pick<Journal, 'waits'>;
  readonly transcripts: Pick<Transcripts, 'load'>;
  /** Newest messages of the session that a run is given; asked at each run. */
  readonly maxHistory: () => number;
  /** What stood in the chat before a run whose session has no history. */
  readonly earlier: Pick<Earlier, 'of'>;
  /** What the group of a run is about. */
  readonly about: Pick<GroupAbout, 'news'>;
}

export interface Told {
  readonly history: readonly SessionMessage[];
  /** Id of its newest line; empty = there is none. */
  readonly historyTo: string;
  /** Where its lines go, in place of its session. Absent = they go there. */
  readonly ownSession?: string;
  /** Stands above its own words; '' = nothing. */
  readonly opening: string;
  readonly settled: ReadonlyMap<string, ToolResult>;
  /** What people said to calls of it. */
  readonly verdicts: ReadonlyMap<string, CallVerdict>;
  readonly notes: RunNotes;
  /** Bits of what its input, its history and the requests that are quoted to it bring in. */
  readonly taint: number;
}

/** A run that waited is given the history that it had, then what was said since. Rejects as its ports do. */
export async function toldTo(row: RunRow, options: ToldOptions, signal: AbortSignal): Promise<Told> {
  const { key, session, historyTo } = row;
  const { waits } = options.journal;
  const maxHistory = options.maxHistory();
  const loaded = await linesFor(row, options.transcripts, maxHistory);
  // A dead letter that is replayed: what its first run left in the session must not be read as earlier
  // conversation.
  const lines = snapshot(loaded, row.message?.beside).filter((line) => !isOfRun(line, key));
  const ownSession = await sessionInstead(row, options);
  const { before, since } = ownSession === undefined ? splitAt(lines, historyTo) : NOTHING;
  const history = recentHistory(before, maxHistory);
  const settled = historyTo === undefined ? [] : await waits.of(row.seq);
  const others = (await waits.parked(session, MOST_REQUESTS + 1)).filter((other) => other.key !== key);
  const quoted = others.slice(-MOST_REQUESTS);
  const [about, said] = await Promise.all([
    options.about.news(row, history, signal),
    history.length === 0 ? options.earlier.of(row, signal) : '',
  ]);
  const opening = [about, said].filter((text) => text !== '').join('\n');
  const own = (row.taint ?? 0) | (opening === '' ? 0 : UNTRUSTED);
  const taint = [...history, ...since, ...quoted].reduce((sum, told) => sum | (told.taint ?? 0), own);
  return {
    ...{ history, taint, opening, historyTo: historyTo ?? history.at(-1)?.id ?? '' },
    ...(ownSession === undefined ? {} : { ownSession }),
    settled: new Map(settled.flatMap((wait) => (wait.value ? [[wait.callId, saidBy(wait, wait.value, row)]] : []))),
    verdicts: new Map(settled.flatMap(verdictOf)),
    notes: {
      ...(quoted.length > 0 ? { waiting: waitingText(quoted, others.length > quoted.length) } : {}),
      ...(since.length > 0 ? { since: sinceText(since) } : {}),
    },
  };
}

function saidBy(
  { kind, by }: Pick<StoredWait, 'kind' | 'by'>,
  value: ToolResult,
  { authority: { principal } }: RunRow,
): ToolResult {
  // Other ends have no person and no colon: `due`, `lost`.
  return kind === 'person' && value.ok && by?.includes(':') && by !== principal ? { ...value, by } : value;
}

/** A run beside another one has the history from before that one's question. */
function snapshot(lines: readonly SessionMessage[], beside: string | undefined): readonly SessionMessage[] {
  const from = beside === undefined ? -1 : lines.findIndex((line) => isOfRun(line, beside) || line.beside === beside);
  return from < 0 ? lines : lines.slice(0, from);
}

function verdictOf({ id, callId, question, value }: StoredWait): readonly (readonly [string, CallVerdict])[] {
  if (question?.answer !== 'approve' || !value) return [];
  const isAllowed = value.ok && value.output === 'allow';
  const digest = question.digest === undefined ? {} : { digest: question.digest };
  return [[callId, { wait: id, isAllowed, ...digest, text: value.output }]];
}

/**
 * Those that are shown and one more, which tells whether there are older ones: see `recentHistory`. At least
 * so many that a summary with `MOST_BEHIND` lines behind it is among them.
 */
async function linesFor(
  { session, historyTo }: RunRow,
  transcripts: ToldOptions['transcripts'],
  maxHistory: number,
): Promise<readonly SessionMessage[]> {
  const newest = (most: number) => transcripts.load(session, Math.max(most, MOST_BEHIND) + 1);
  if (historyTo === undefined) return await newest(maxHistory);
  const lines = await newest(2 * maxHistory);
  const has = historyTo === '' || lines.some(({ id }) => id === historyTo);
  // More may have been said since than these, so only the whole session tells whether it was begun anew.
  return has ? lines : await transcripts.load(session);
}

interface Split {
  readonly before: readonly SessionMessage[];
  readonly since: readonly SessionMessage[];
}

const NOTHING: Split = { before: [], since: [] };

/**
 * Of a run that tells a conversation what a sub-agent came to: the session of that sub-agent where the
 * conversation was begun anew meanwhile, or is gone. A run of before then that waits has left no lines yet.
 */
async function sessionInstead(row: RunRow, { journal, transcripts }: ToldOptions): Promise<string | undefined> {
  const tells = row.message ? undefined : row.prompt.tells;
  if (!tells) return undefined;
  const { since, asker, session } = tells;
  const [oldest] = await transcripts.load(row.session);
  if (oldest && Date.parse(oldest.timestamp) <= since) return undefined;
  const parked = await journal.waits.parked(row.session);
  return parked.some(({ key }) => key === asker) ? undefined : session;
}

/** A line that is gone, because the session was begun anew: then all there is was said since. */
function splitAt(lines: readonly SessionMessage[], historyTo: string | undefined): Split {
  if (historyTo === undefined) return { before: lines, since: [] };
  const end = lines.findIndex(({ id }) => id === historyTo) + 1;
  return { before: lines.slice(0, end), since: lines.slice(end) };
}

const WAITS_FOR: Readonly<Record<WaitKind, string>> = {
  person: 'the answer of a person',
  run: 'work that it began',
  timer: 'a time',
  signal: 'a decision',
};

/** What a parked run waits for, in words. */
export function waitsForText(kinds: readonly WaitKind[]): string {
  return kinds.map((kind) => WAITS_FOR[kind]).join(' and ');
}

function waitingText(quoted: readonly ParkedRun[], areMore: boolean): string {
  const lines = quoted.map(({ text, kinds }) => {
    return `An earlier request waits for ${waitsForText(kinds)}: “${inMark(text, REQUEST_CHARS)}”`;
  });
  const more = areMore ? ['More requests wait.'] : [];
  return [...lines, ...more, 'What waits is answered by itself later; do not do it here.'].join('\n');
}

function sinceText(since: readonly SessionMessage[]): string {
  const said = since.filter(({ role, content }) => (role === 'user' || role === 'assistant') && content.trim() !== '');
  const lines = said.slice(-MOST_LINES).map(({ role, content }) => `${role}: ${oneLine(content, LINE_CHARS)}`);
  return ['While this request waited, the conversation went on:', ...lines].join('\n');
}
