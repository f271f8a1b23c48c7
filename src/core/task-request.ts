import type { Authority } from './authority.ts';
import type { Address, InboundMessage } from './message.ts';

/** What a person, a model or a program asks for. */
export interface TaskRequest {
  readonly text: string;
  /** Default: the beginning of the text. */
  readonly title?: string;
  /** See `Prompt.from`. */
  readonly from?: InboundMessage;
  /** Who asked, in one word: `chat`, `tool`, `cli`, or a program by its name. */
  readonly client: string;
  /** The same key of the same client and person is the same task. */
  readonly key: string;
  readonly authority: Authority;
  readonly taint?: number;
  /** The conversation it was asked for in: it works in the directory of this session. Absent = in its own. */
  readonly session?: string;
  /** Where what it comes to goes. Absent = it is kept, and no chat is told. */
  readonly replyTo?: Address;
  /** Default: that of the config. */
  readonly keepDays?: number;
  /** Tokens in and out; absent = unlimited. */
  readonly maxTokens?: number;
  /** Model calls. Default: that of the config. */
  readonly maxIterations?: number;
}

/** What makes tasks, as those see it that only begin them. Rejects as `Tasks.add`. */
export interface TaskMaker {
  /** A request that was made before is that task. */
  add(request: TaskRequest): Promise<{ readonly number: number; readonly title: string }>;
}
