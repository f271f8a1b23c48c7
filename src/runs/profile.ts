/** Which limits hold for which run, as data (runs.md M1). */
import type { Profile, Prompt } from '../core/new-run.ts';
import type { RunRow } from '../core/run.ts';
import type { RunLimits } from '../core/turn.ts';

/** What the operator may set. Absent = the figure of the table. Times in ms. */
export interface ConfiguredLimits {
  /** Of the session profile, as is the next one. */
  readonly maxIterations?: number;
  readonly sessionTimeoutMs?: number;
  /** Of every profile, as are the rest: they speak of tools and models, not of the kind of work. */
  readonly toolTimeoutMs?: number;
  readonly maxTokens?: number;
  readonly maxOutputTokens?: number;
  /** Of tasks. */
  readonly task?: Partial<Pick<RunLimits, 'maxIterations' | 'wallClockMs' | 'stepMs' | 'callsRun' | 'maxTokens'>>;
}

type Figures = Pick<
  RunLimits,
  | 'maxIterations'
  | 'softIterations'
  | 'wallClockMs'
  | 'stepMs'
  | 'maxToolCalls'
  | 'callsRun'
  | 'toolsAtOnce'
  | 'endsWithText'
  | 'compaction'
>;

/** Longest time that one tool call may take, whatever the config says (spec C4). */
const TOOL_TIMEOUT_CEILING_MS = 1_800_000;
const TOOL_TIMEOUT_MS = 600_000;

const HALF_AN_HOUR_MS = 1_800_000;

/**
 * What a conversation may do in one answer (spec C4, F2 and B1), and a node of a pipeline, which is the same
 * agent.
 */
const CONVERSATION = { wallClockMs: HALF_AN_HOUR_MS, maxToolCalls: 64, toolsAtOnce: 8 };
/**
 * What a task may do (P9 to P12): it is told to come to an end before it is ended, and no step of it may
 * hang. It reads much, so its older messages become a summary early (P14).
 */
const TASK = {
  ...{ wallClockMs: HALF_AN_HOUR_MS, maxToolCalls: 64, callsRun: 5, toolsAtOnce: 5 },
  endsWithText: true,
  compaction: { from: 13, keep: 8 },
} as const;

const FIGURES: Readonly<Record<Profile, Figures>> = {
  session: { ...CONVERSATION, maxIterations: 50, softIterations: 40 },
  task: { ...TASK, maxIterations: 10, softIterations: 8, stepMs: 300_000 },
  subagent: { ...TASK, maxIterations: 15, softIterations: 12, stepMs: 600_000 },
  node: { ...CONVERSATION, maxIterations: 30 },
};

/** How results of tools are shortened: a task reads much and says little (P13). */
export const RESULT_SHAPES: Readonly<Record<Profile, 'session' | 'task'>> = {
  session: 'session',
  task: 'task',
  subagent: 'task',
  node: 'session',
};

/** Model calls of one message of `gatehouse chat`, where the config sets none: a person sits and waits. */
export const CHAT_ITERATIONS = 20;

/** Of the model calls that a run may make: from then on its model is told to come to an end (R9, R10). */
const SOFT = 0.8;

function callsOf(maxIterations: number): Pick<Figures, 'maxIterations'> & { readonly softIterations: number } {
  return { maxIterations, softIterations: Math.max(1, Math.floor(maxIterations * SOFT)) };
}

/** The limits of one run: what was asked for narrows its profile. */
export function limitsFor(limits: RunLimits, asked: Prompt['limits'] = {}): RunLimits {
  const { maxIterations = 0, maxTokens = 0, contextWindow = 0 } = asked;
  const tokens = [limits.maxTokens, maxTokens].filter((most) => most > 0);
  const most = {
    ...{ ...limits, maxTokens: tokens.length === 0 ? 0 : Math.min(...tokens) },
    ...(contextWindow > 0 ? { contextWindow } : {}),
  };
  if (maxIterations <= 0 || maxIterations >= limits.maxIterations) return most;
  return { ...most, ...callsOf(maxIterations) };
}

/** The limits of this run. A message sets none. */
export function limitsOfRun(row: RunRow, limits: Profiles): RunLimits {
  return limitsFor(limits[row.profile], row.message ? undefined : row.prompt.limits);
}

export type Profiles = Readonly<Record<Profile, RunLimits>>;

/** The limits of every profile. What the config sets for conversations holds for `session` alone. */
export function profiles(configured: ConfiguredLimits = {}): Profiles {
  const { maxIterations, sessionTimeoutMs, toolTimeoutMs = TOOL_TIMEOUT_MS, maxTokens = 0, maxOutputTokens } = configured;
  const common = {
    ...{ maxTokens, toolTimeoutMs: Math.min(toolTimeoutMs, TOOL_TIMEOUT_CEILING_MS) },
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
  };
  const { session, subagent, node } = FIGURES;
  const task = withTask(configured.task);
  const { maxIterations: calls, wallClockMs } = session;
  return {
    session: { ...session, ...common, ...callsOf(maxIterations ?? calls), wallClockMs: sessionTimeoutMs ?? wallClockMs },
    task: { ...common, ...task },
    subagent: { ...subagent, ...common },
    node: { ...node, ...common },
  };
}

function withTask({ maxIterations, ...task }: NonNullable<ConfiguredLimits['task']> = {}): Figures & Partial<RunLimits> {
  const { callsRun = TASK.callsRun } = task;
  const figures = { ...FIGURES.task, ...task, toolsAtOnce: Math.min(callsRun, CONVERSATION.toolsAtOnce) };
  if (maxIterations === undefined) return figures;
  return { ...figures, ...callsOf(maxIterations) };
}
