// the answer of a turn in a chat -> with the model's thoughts above it, the cost of it below it, and its
//   new Markdown files
import { decodeAnswer } from '../agent/stored-steps.ts';
import type { UsageEntry } from '../core/ledger.ts';
import type { RunRow } from '../core/run.ts';
import type { SessionMessage, ToolCall } from '../core/session.ts';
import type { StepRecord } from '../core/step.ts';
import type { AttachedFile } from '../core/tool.ts';
import type { AgentResult } from '../core/turn.ts';
import { plainName } from '../lib/plain-name.ts';
import { shortCount } from '../lib/short-count.ts';
import { NEW_FILE } from '../tools/write-file.ts';

/** Spec A6, A7. */
const THOUGHT_CHARS = 1_000;
const MOST_FILES = 3;

export interface AnswerExtras {
  /** Whether a line below the answer says which model it took, and how much. */
  readonly annotates: (row: RunRow) => boolean;
  /** Whether the chat is shown what the model thought. */
  readonly showsThoughts: (row: RunRow) => Promise<boolean>;
  /** Attaches a file of the workspace; undefined where the run may not, or the file is gone or too large. */
  readonly attach: (row: RunRow, path: string, made: Made, signal: AbortSignal) => Promise<AttachedFile | undefined>;
}

/** How a file of the agent came about, for the policy. */
export interface Made {
  readonly taint: number;
  /** Ids of the model that the turn was given, and of those that answered in its place. */
  readonly models: readonly string[];
}

/** Which models answered a run; every one may have written a file. */
export class AnsweredBy {
  /** Ids, those of earlier attempts included. */
  readonly models = new Set<string>();
  /** The newest model call of this attempt; absent = it made none. */
  call: UsageEntry | undefined;

  /** `recorded`: the steps of earlier attempts. */
  constructor(recorded: readonly StepRecord[]) {
    for (const { kind, value } of recorded) {
      const answer = kind === 'model' ? decodeAnswer(value)?.answer : undefined;
      if (answer) this.models.add(idOf(answer));
    }
  }

  /** Of a step; absent where it was no call that is counted. */
  add(usage: UsageEntry | undefined): void {
    if (!usage) return;
    this.call = usage;
    this.models.add(idOf(usage));
  }
}

export interface Spent {
  readonly answered: AnsweredBy;
  /** Id of the model that the turn was given; what is said of the model where none was called. */
  readonly model: string;
  /** Since the message was taken up, without what it waited. */
  readonly ms: number;
}

/** What only the chat is shown: the session keeps what the model said. Rejects as its ports do. */
export async function withExtras(
  result: AgentResult,
  row: RunRow,
  { extras, spent, signal }: { readonly extras: AnswerExtras; readonly spent: Spent; readonly signal: AbortSignal },
): Promise<AgentResult> {
  const { outcome } = result;
  // A job may turn out to have nothing to say, and a program reads what the API is answered.
  if (outcome.kind !== 'answered' || row.source.kind !== 'chat') return result;
  const thought = (await extras.showsThoughts(row)) ? thoughtText(result.lines) : '';
  const line = extras.annotates(row) ? annotation(result, spent) : '';
  const files = await newFiles(result, row, { extras, models: [spent.model, ...spent.answered.models], signal });
  return {
    ...result,
    outcome: { ...outcome, text: `${thought}${outcome.text}${line}` },
    files: [...result.files, ...files],
  };
}

/** As a quotation above the answer. */
function thoughtText(lines: readonly SessionMessage[]): string {
  const { reasoning_content: thought = '' } = lines.findLast(({ role }) => role === 'assistant') ?? {};
  const chars = [...thought.trim()];
  if (chars.length === 0) return '';
  const shown = chars.length > THOUGHT_CHARS ? `${chars.slice(0, THOUGHT_CHARS - 1).join('')}…` : chars.join('');
  return `${`💭 ${shown}`
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n')}\n\n`;
}

function idOf({ provider, model }: Pick<UsageEntry, 'provider' | 'model'>): string {
  return `${provider}/${model}`;
}

function annotation({ usage }: AgentResult, spent: Spent): string {
  const tokens = `${shortCount(usage.tokensIn)} in · ${shortCount(usage.tokensOut)} out`;
  const { call } = spent.answered;
  return `\n\n_${plainName(call ? idOf(call) : spent.model)} · ${tokens} · ${Math.round(spent.ms / 1_000)}s_`;
}

async function newFiles(
  { lines, files, taint }: AgentResult,
  row: RunRow,
  { extras, models, signal }: Pick<Made, 'models'> & { readonly extras: AnswerExtras; readonly signal: AbortSignal },
): Promise<readonly AttachedFile[]> {
  const known = new Set(files.map(({ file }) => file.name));
  const made: AttachedFile[] = [];
  for (const path of newMarkdown(lines)) {
    if (made.length >= MOST_FILES) break;
    // It was attached by the agent.
    if (known.has(path.slice(path.lastIndexOf('/') + 1))) continue;
    const file = await extras.attach(row, path, { taint, models }, signal);
    if (file) made.push(file);
  }
  return made;
}

/** Paths of the Markdown files that this turn wrote and that were not there before. */
function newMarkdown(lines: readonly SessionMessage[]): ReadonlySet<string> {
  const results = new Map(lines.flatMap(({ tool_call_id: id, content }) => (id === undefined ? [] : [[id, content] as const])));
  const calls = lines.flatMap(({ tool_calls: some = [] }) => some);
  const written = calls.filter(({ id, name }) => {
    const output = results.get(id) ?? '';
    return name === 'write_file' && output.startsWith('Wrote ') && output.endsWith(NEW_FILE);
  });
  return new Set(written.map(pathOf).filter((path) => /\.md$/i.test(path)));
}

function pathOf({ arguments: text }: ToolCall): string {
  try {
    const args: unknown = JSON.parse(text);
    const path = typeof args === 'object' && args !== null && 'path' in args ? args.path : '';
    return typeof path === 'string' ? path : '';
  } catch {
    return '';
  }
}
