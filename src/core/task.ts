/**
 * Tasks: runs that a person asked for by name (runs.md M1). What one comes to is kept for a while, and goes
 * to where it was asked for.
 */
import type { Authority } from './authority.ts';
import type { Address, ChatRef } from './message.ts';
import type { NewRun, Profile } from './new-run.ts';
import type { RecordedEvent } from './record.ts';
import type { TaskRequest } from './task-request.ts';
import type { ToolResult } from './tool.ts';

/** What a task is now, in the words of the view `task`. */
export type TaskStatus = 'pending' | 'running' | 'waiting_input' | 'waiting_subagents' | 'completed' | 'failed' | 'cancelled';

export const OPEN_STATUSES: readonly TaskStatus[] = ['pending', 'running', 'waiting_input', 'waiting_subagents'];

export interface Task {
  /** What people call it by; never given out twice. */
  readonly number: number;
  /** Key of its run. */
  readonly key: string;
  readonly title: string;
  readonly status: TaskStatus;
  /** 0 to 100; 100 when it is over and did not fail. */
  readonly progress: number;
  /** `task`, or `subagent` for what another run began. */
  readonly profile: Profile;
  /** What it was asked. */
  readonly text: string;
  readonly principal: string;
  readonly session: string;
  /** Session in whose directory it works. */
  readonly workspace: string;
  readonly replyTo?: Address;
  /** Number of the run that began it. */
  readonly parent?: number;
  /** Epoch ms, as the next two. */
  readonly createdAt: number;
  readonly finishedAt?: number;
  /** When it is forgotten. Absent = it is not over, or is kept as every run. */
  readonly keepUntil?: number;
  /** How long it ran before it last waited or ended, without the time it waited. */
  readonly ranMs: number;
  /** As of `TurnResult`. Absent = it is not over. */
  readonly outcome?: string;
  readonly result?: ToolResult;
}

export interface TaskQuery {
  /** Only theirs. */
  readonly principal?: string;
  /** Only those whose answer goes to this chat. */
  readonly chat?: ChatRef;
  /** Only those that are not over. */
  readonly isOpen?: boolean;
  /** The newest. */
  readonly limit: number;
}

/** Reads of tasks; they are written as rows of a commit. */
export interface TaskRows {
  /** Newest first. */
  list(query: TaskQuery): Promise<readonly Task[]>;
  /** By number or key; also a run that a task began. */
  get(numberOrKey: number | string): Promise<Task | undefined>;
  /** What it began, oldest first. */
  children(number: number): Promise<readonly Task[]>;
  /** How many are not over: of this person, or of all. */
  countOpen(principal?: string): Promise<number>;
  /**
   * What the run had read that sent the message with this id of the platform, in the chat of this `chatKey`;
   * 0 = there is none. Messages are forgotten after days; answers to messages of people also behind 5,000
   * newer messages.
   */
  taintTold(chat: string, platformId: string): Promise<number>;
}

/**
 * The tasks, for people and programs. An owner sees and changes all of them, others their own. `words` is the
 * number or the key. Every method rejects with a sentence for the person who asked: GH1710 it is not allowed,
 * GH1711 the request cannot be, GH1003 there is no such task.
 */
export interface Tasks {
  /** The run of this request, checked and not written yet: for a commit that does more than this. */
  plan(request: TaskRequest): Promise<NewRun>;
  /** Made at once; a request that was made before is that task. */
  add(request: TaskRequest): Promise<Task>;
  list(who: Authority, query: TaskQuery): Promise<readonly Task[]>;
  show(who: Authority, words: string): Promise<{ readonly task: Task; readonly children: readonly Task[] }>;
  /** With all that it began. One that is over stays as it is, and is the answer. */
  cancel(who: Authority, words: string): Promise<Task>;
  /** That this one may be resumed, and nothing is written: for a commit that does more than this. */
  planResume(who: Authority, words: string): Promise<Task>;
  /** Goes on with a failed one from its recorded steps. Rejects with GH1711 where it did not fail. */
  resume(who: Authority, words: string): Promise<Task>;
  /**
   * What is recorded of it and of what it began, from the beginning on. Rejects with the reason of the
   * signal.
   */
  follow(who: Authority, words: string, how: FollowHow): AsyncIterable<RecordedEvent>;
}

export interface FollowHow {
  /** False = only what is recorded by now. Default true: until it is over. */
  readonly waits?: boolean;
  readonly signal: AbortSignal;
}
