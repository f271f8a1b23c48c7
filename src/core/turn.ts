/** What one run of the agent takes and gives, whatever began it. */
import type { ModelAccess } from './ask-model.ts';
import type { Authority } from './authority.ts';
import type { ChannelHealth } from './channel.ts';
import type { Emit } from './events.ts';
import type { Hooks } from './hooks.ts';
import type { UsageEntry } from './ledger.ts';
import type { Address, Choice } from './message.ts';
import type { Model, ModelFailure, Usage } from './model.ts';
import type { Policy } from './policy.ts';
import type { Clock } from './ports.ts';
import type { SessionMessage, ThinkingLevel } from './session.ts';
import type { StepRecord } from './step.ts';
import type { AttachedFile, Tool, ToolResult } from './tool.ts';
import type { NewWait, SessionGrant } from './wait.ts';

/** From `from` messages on all but the newest `keep` give way to a summary. */
export interface CompactionRule {
  readonly from: number;
  readonly keep: number;
}

/** One object for all run profiles (decision D7): `src/runs/profile.ts` has the figures. Times in ms. */
export interface RunLimits {
  /** Model calls. */
  readonly maxIterations: number;
  /** From this model call on the model is told to come to an end. Absent = it is not. */
  readonly softIterations?: number;
  /** Tokens in + out over the whole run, with those of its sub-agents; 0 = unlimited. */
  readonly maxTokens: number;
  readonly wallClockMs: number;
  /** One model call with the tools it asks for. Absent = what `wallClockMs` leaves. */
  readonly stepMs?: number;
  readonly toolTimeoutMs: number;
  /** Tool calls of one model answer that are run; the model is told how many were not. */
  readonly maxToolCalls: number;
  /** So many of these run; the others get a result that says that they were skipped. Absent = all run. */
  readonly callsRun?: number;
  /**
   * A run that a limit ended answers with its last words, else with what its tools said. Absent = with what
   * the limit is, and what was done so far.
   */
  readonly endsWithText?: true;
  /** Tool calls of one answer that run at the same time. */
  readonly toolsAtOnce: number;
  /** Of the messages that the model is shown. Absent = they are only trimmed to its window. */
  readonly compaction?: CompactionRule;
  /** Of one model call; absent = what the model allows. */
  readonly maxOutputTokens?: number;
  /** Tokens that one model call takes, where the window of its model is larger. Absent = that window. */
  readonly contextWindow?: number;
}

/** Steps of one run on disk: what makes a crash cost at most one model call and never a second tool run. */
export interface StepLog {
  /** What earlier attempts recorded, in order; replayed before anything new is done. */
  readonly recorded: readonly StepRecord[];
  /**
   * Resolves once durable; while the disk is full it waits, because what was paid for must not be bought
   * again. Rejects with the run's abort reason when the claim was fenced. Steps become durable in the order
   * they are recorded, and before whatever is written after them: the answer that ends a run is recorded and
   * not waited for, because the caller commits the run's result next. The caller sees to it that this holds
   * also where the record fails at first.
   */
  record(step: StepRecord, usage?: UsageEntry): Promise<void>;
  /**
   * All notes of the run that are on disk; undefined = none came since this was asked last, or since
   * `recorded` was read. Absent: none can come.
   */
  readonly notes?: () => Promise<readonly StepRecord[] | undefined>;
}

/** What decides about the tools of a run. */
export interface ToolAccess {
  readonly policy: Policy;
  readonly authority: Authority;
  /** Bits of what its input, its history and what is told it beside them bring in. */
  readonly taint: number;
  /** The private chat in which its person may say yes. Absent = the owner is asked. */
  readonly asks?: Address;
  /** Who asks, or for whom else it may be: a sentence for people. Absent = the agent, for the principal. */
  readonly asker?: string;
  /** Id of a yes for the session that holds now. */
  readonly granted: (wanted: SessionGrant) => Promise<string | undefined>;
  /** What people said to calls that wait for a yes, by the call id of the wait. */
  readonly verdicts: ReadonlyMap<string, CallVerdict>;
}

export interface CallVerdict {
  /** Id of the wait. */
  readonly wait: string;
  readonly isAllowed: boolean;
  /** Of what was asked. */
  readonly digest?: string;
  /** `allow`, `deny`, or why no person answered. */
  readonly text: string;
}

export interface AgentRun {
  /** Key of the run, the same on every attempt: ids of lines, tool calls and usage rows derive from it. */
  readonly runId: string;
  readonly system: string;
  readonly history: readonly SessionMessage[];
  /** The new user message, already in its final form (media noted in the text). */
  readonly input: SessionMessage;
  /** What the person is told below the answer: stored with the first answer. Absent: nothing. */
  readonly notice?: string;
  readonly tools: readonly Tool[];
  readonly access: ToolAccess;
  /** Absent = there are none. */
  readonly hooks?: Hooks;
  readonly model: Model;
  /** Makes the summaries of `limits.compaction`. Absent = what would become one is left out. */
  readonly summaries?: ModelAccess;
  /**
   * Windows that models turned out to have, in tokens by model id: read and written, shared by all runs.
   * Absent: nothing is kept.
   */
  readonly windows?: Map<string, number>;
  readonly limits: RunLimits;
  /** How much the model thinks; absent = `auto`. */
  readonly thinking?: ThinkingLevel;
  readonly steps: StepLog;
  /** Directory of the tools, and of the pictures that the model is shown. */
  readonly workspace: string;
  readonly session: string;
  readonly channel: string;
  readonly principal: string;
  /**
   * It is offered only the tools that it began with: one that is gone since is an error result, and one that
   * came later is none of its.
   */
  readonly keepsTools?: true;
  /** Key of this run when a job fired it: its calls count towards `job_usd`. Absent: no job did. */
  readonly job?: string;
  readonly queuedMs: number;
  /** What the waits of a run came to that was parked, by call id. Absent: it was not. */
  readonly settled?: ReadonlyMap<string, ToolResult>;
  /** What the model is told beside the conversation; nothing of it is kept. */
  readonly notes?: RunNotes;
  /**
   * Tokens that the sub-agents of the run have used, and those that they may still use: they count for
   * `limits.maxTokens`. Absent = there is no such limit, or there are none.
   */
  readonly usedBelow?: () => Promise<number>;
  /** How long the run ran before it was parked, which counts for its time limit. ms, default 0. */
  readonly ranMs?: number;
  readonly emit: Emit;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The first model call waits for it; until then nothing of the run leaves the process. Absent: no wait. */
  readonly ready?: Promise<unknown>;
}

export interface RunNotes {
  /** Earlier requests of the conversation that wait for something. */
  readonly waiting?: string;
  /** What was said while this run waited. */
  readonly since?: string;
}

export type AgentOutcome =
  /** The model ended its turn. */
  | { readonly kind: 'answered'; readonly text: string }
  /** A limit ended it; `text` names the limit and what was done so far. */
  | { readonly kind: 'limit'; readonly limit: 'iterations' | 'tokens' | 'time' | 'step' | 'loop'; readonly text: string }
  | { readonly kind: 'failed'; readonly failure: ModelFailure }
  /**
   * It waits: nothing of it goes to the chat but what its waits ask. Run again when they are over, with
   * `settled`.
   */
  | { readonly kind: 'parked'; readonly waits: readonly NewWait[] }
  /** `signal` fired: /stop, shutdown, fencing. Nothing of this run goes to the chat. */
  | { readonly kind: 'aborted' };

export interface AgentResult {
  readonly outcome: AgentOutcome;
  /**
   * Files of the tool calls that succeeded, in the order of the calls; those of earlier attempts included.
   */
  readonly files: readonly AttachedFile[];
  /** What the last tool call that offered choices offered; earlier attempts included. Empty when none did. */
  readonly choices: readonly Choice[];
  /**
   * The input and everything after it, ready for the session file, with complete tool pairs. Empty where the
   * run waits, because it is not over, and after an abort: the transaction that ends the run then makes the
   * lines of the recorded steps.
   */
  readonly lines: readonly SessionMessage[];
  readonly usage: Usage;
  /** Bits of all that it has read by its end. */
  readonly taint: number;
  /** How many notes it has read. */
  readonly notes: number;
  readonly iterations: number;
}

/** A channel as the operator sees it. */
export interface ChannelStatus {
  readonly name: string;
  readonly type: string;
  readonly account: string;
  readonly state: ChannelHealth;
  /** Epoch ms of the last change of state. */
  readonly since: number;
  readonly detail?: string;
  readonly inboundClass: string;
  readonly sendClass: string;
  /**
   * Epoch ms of the last message in and of the last answer that was sent; absent = none since the daemon
   * started.
   */
  readonly lastMessageAt?: number;
  readonly lastSentAt?: number;
}
