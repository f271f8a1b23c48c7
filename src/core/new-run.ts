/** A run before the journal gave it a row: what began it, and what it is to do. */
import type { Authority } from './authority.ts';
import type { Address } from './message.ts';

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
}
