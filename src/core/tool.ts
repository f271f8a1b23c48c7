import type { Choice, OutboundFile } from './message.ts';
import type { Wanted } from './wait.ts';

export interface ToolContext {
  /** Absolute path of the session's own directory: the only place file tools may touch. */
  readonly workspace: string;
  readonly session: string;
  /** Who asked: the immutable sender id, qualified by channel. */
  readonly principal: string;
  /** The same on every attempt at the same call: a tool that can pass it on is safe to run again after a crash. */
  readonly idempotencyKey: string;
  /**
   * Queues a file for the answer of this turn; the file is copied at once. `path` is to be opened as it is given, never resolved or
   * looked at for its name: it may lead through an open descriptor (`/proc/self/fd/N`), which is what makes it safe.
   */
  readonly attach: (file: { path: string; name: string; caption?: string }) => Promise<OutboundFile>;
  /**
   * Shows choices under the answer of this turn, in place of those that were offered before in it. Returns the labels that the gateway
   * itself would answer to (`/new`, "cancel"): nothing is offered then. Empty = offered.
   */
  readonly offer: (choices: readonly Choice[]) => readonly string[];
  /** Puts an emoji under the message that is being answered. Rejects with the platform's reason. Absent: there are no reactions here. */
  readonly react?: (emoji: string, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
}

export interface ToolResult {
  readonly ok: boolean;
  /** What the model reads. A failure starts with `Error: `. */
  readonly output: string;
  /** Pictures of the workspace that the model is shown with the result, as paths relative to it. */
  readonly media?: readonly string[];
  /**
   * In place of a result: the run parks, and the value of this wait becomes the result. Only of a tool that
   * `waits`.
   */
  readonly wait?: Wanted;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly tags: readonly string[];
  /** Only offered where the channel of the conversation has it, so that the list of tools stays the same in one conversation. */
  readonly needs?: 'reactions';
  /** Safe to run again after a crash because it changes nothing, or nothing more than the first run did. */
  readonly readOnly: boolean;
  /** May answer with a wait. It has no effect of its own: after a crash before the park it runs again. */
  readonly waits?: true;
  /** Longest output in bytes before head and tail are kept around an omission mark (spec C4). */
  readonly outputBytes: number;
  /** Takes the parsed arguments object; validates it itself and answers invalid ones with a failed result. May throw: a failed result then. */
  run(args: unknown, context: ToolContext): Promise<ToolResult>;
}
