/** A run before the journal gave it a row: what began it, and what it is to do. */
import type { Authority } from './authority.ts';
import type { Address, InboundMessage } from './message.ts';

/** What began a run. Together with `key` it says why something happens at all. */
export type Source =
  | { readonly kind: 'chat' }
  | { readonly kind: 'job'; readonly job: string; readonly due: number }
  | { readonly kind: 'run'; readonly parent: string; readonly callId: string }
  | { readonly kind: 'api'; readonly client: string };

/** What a run without a message is asked to do. */
export interface Prompt {
  readonly text: string;
  /** Paths relative to the workspace. */
  readonly media: readonly string[];
  /** RFC 3339. */
  readonly at: string;
  /** The run of this job before it failed and said so: a failure of this one is not told again. */
  readonly failsQuietly?: true;
  /** Never more than the profile and the model allow; 0 or absent = what they allow. */
  readonly limits?: { readonly maxIterations?: number; readonly maxTokens?: number; readonly contextWindow?: number };
  /**
   * The message that asked for it, with the words that remain: it is prepared as any message when the run
   * begins, its files are fetched then, and `text` is only what people are shown.
   */
  readonly from?: InboundMessage;
  /** As the config has it. Absent, or not there any more = the one that the chat or the config chose. */
  readonly model?: string;
  /** What was asked for, without what `text` says around it; for people. Absent = `text`. */
  readonly task?: string;
  /** Of a run that another run began. */
  readonly child?: ChildFacts;
  /** Of a run that tells a conversation what a sub-agent came to. */
  readonly tells?: Tells;
}

/** What a run is to the tree that it belongs to. */
export interface ChildFacts {
  /** What people are told that it is called. */
  readonly label: string;
  /** The chat of the root, which is asked and told on its behalf. Absent = there is none. */
  readonly chat?: Address;
  /** Key of the root where a job fired it: what the child spends counts towards `job_usd`. */
  readonly job?: string;
  /** It has sessions of its own with MCP servers, which end with it. */
  readonly ownMcp?: true;
  /** No run waits for it: at its end this conversation is told. */
  readonly report?: Report;
}

/** The conversation that is told what a sub-agent in the background came to. */
export interface Report {
  readonly lane: string;
  readonly session: string;
  readonly replyTo?: Address;
  /** Of the run that began the sub-agent. */
  readonly authority: Authority;
  /** When the run that began it was accepted. Epoch ms. */
  readonly since: number;
  /**
   * Tokens that the run which began it may use with all that it leads to, the run that tells the result
   * included. Absent = there is no limit.
   */
  readonly maxTokens?: number;
}

export interface Tells {
  /** As `Report.since`: a conversation without a line of before then was begun anew, or is gone. */
  readonly since: number;
  /** Key of the run that began the sub-agent. */
  readonly asker: string;
  /** The session of the sub-agent, where this run belongs to in that case. */
  readonly session: string;
  /** What people are told where this run itself fails. */
  readonly excerpt: string;
}

/** Which limits hold for a run: see `src/runs/profile.ts`. */
export type Profile = 'session' | 'task' | 'subagent' | 'node';

/** A run that no message began, before the journal gave it a row. */
export interface NewRun {
  /**
   * The same cause is the same key, see `ids.ts`: `job/<id>/<due>`, `<parent's key>#<call>`,
   * `api/<client>/<the client's key>`.
   */
  readonly key: string;
  readonly source: Exclude<Source, { readonly kind: 'chat' }>;
  readonly profile: Profile;
  /** Order and mutual exclusion: at most one RUNNING row a lane. */
  readonly lane: string;
  readonly session: string;
  /** Session in whose directory the tools work. Absent = its own. */
  readonly workspace?: string;
  readonly prompt: Prompt;
  /**
   * Where the answer goes. Absent = to no chat: it stands in the session, or goes to the run that waits for
   * it.
   */
  readonly replyTo?: Address;
  readonly authority: Authority;
  /** Bits of what its input brings in (runs.md M4). Default 0. */
  readonly taint?: number;
  /** Of a task: what it is called, and how long its row is kept once it is over. */
  readonly record?: RunTitle;
}

/** What a commit does with a run that no claim of it covers. */
export type RunChange =
  /** The same key is the same run: offered again, by any caller, it writes nothing. */
  | { readonly kind: 'run'; readonly run: NewRun }
  /**
   * Runs the dead task of this key again from its recorded steps, with a fresh age and no attempts. Changes
   * nothing where it is not dead.
   */
  | { readonly kind: 'resume'; readonly run: string };

export interface RunTitle {
  readonly title: string;
  readonly keepDays: number;
}
