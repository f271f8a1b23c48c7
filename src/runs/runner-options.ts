/** What the runner is built from. */
import type { ModelAccess } from '../core/ask-model.ts';
import type { Authority } from '../core/authority.ts';
import type { Channel } from '../core/channel.ts';
import type { Emit } from '../core/events.ts';
import type { Hooks } from '../core/hooks.ts';
import type { Journal } from '../core/journal.ts';
import type { Transcriber } from '../core/media-models.ts';
import type { Address, AnswerTarget, Choice } from '../core/message.ts';
import type { ModelCallContext } from '../core/model.ts';
import type { NewPart } from '../core/outbox.ts';
import type { Policy } from '../core/policy.ts';
import type { ClaimDisk, Clock } from '../core/ports.ts';
import type { RemainsOf, RunRow } from '../core/run.ts';
import type { Tool } from '../core/tool.ts';
import type { AgentResult } from '../core/turn.ts';
import type { Delivery } from '../delivery/deliver.ts';
import type { UploadBook } from '../media/fetch-file.ts';
import type { RunQuestions } from '../operator/run-questions.ts';
import type { AnswerExtras } from './answer-extras.ts';
import type { Choices } from './choices.ts';
import type { Compaction } from './compaction.ts';
import type { Earlier } from './earlier.ts';
import type { End } from './ended.ts';
import type { GroupAbout } from './group-about.ts';
import type { Profiles } from './profile.ts';
import type { Transcripts } from './transcripts.ts';

export interface RunnerOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly emit: Emit;
  /** Parts were committed: delivery may look. */
  readonly onParts: (parts: readonly NewPart[]) => void;
  /** Shows what the run has to say; what it says meanwhile it reads from the events. */
  readonly answers: Pick<Delivery, 'answer'>;
  readonly transcripts: Transcripts;
  /** Told of each turn of a conversation once it is committed. */
  readonly compaction: Pick<Compaction, 'after' | 'idle'>;
  readonly choices: Pick<Choices, 'of'>;
  /** Called before a file of the workspace grows by so many bytes. Absent = no limit. */
  readonly claimDisk?: ClaimDisk;
  /** Whether messages of ours can be changed on this channel. */
  readonly edits: (channel: string) => boolean;
  readonly earlier: Pick<Earlier, 'of'>;
  /** As `ToldOptions.about`. */
  readonly about: Pick<GroupAbout, 'news'>;
  /**
   * What needs no agent, such as a command, once `ready` resolved. Undefined = the agent runs. Rejects with
   * the signal's reason.
   */
  readonly instead: (row: RunRow, ready: Promise<unknown>, signal: AbortSignal) => Promise<End | undefined>;
  /** Made anew for each attempt; the same for every attempt at a run. `held` ends with the attempt. */
  readonly tools: (row: RunRow, taint: number, held: AsyncDisposableStack) => readonly Tool[];
  /** Asks on the account of a run, for the summaries of its working messages. */
  readonly models: (row: RunRow) => ModelAccess;
  /** Decides which of them a run is offered, and which calls run. */
  readonly policy: Policy;
  /** Whether a yes that is written on this channel is surely its person's. */
  readonly mayApprove: (channel: string) => boolean;
  /** Programs of the operator that are asked and told about it. */
  readonly hooks: Hooks;
  /** Asks what a run wants to know of people. */
  readonly questions: Pick<RunQuestions, 'place'>;
  /** Absent: recordings are files and nothing more. */
  readonly transcriber?: ((context: ModelCallContext) => Transcriber) | undefined;
  /** As `FindChannel`, by instance name. */
  readonly channel: (name: string, signal: AbortSignal) => Promise<Channel | undefined>;
  readonly limits: Profiles;
  /** Newest messages of the session that a turn is given; asked at each turn. */
  readonly maxHistory: () => number;
  readonly system: () => string;
  /** What a chat is shown with an answer. */
  readonly extras: AnswerExtras;
  /** Called when the run of a turn is over, whatever became of it. */
  readonly onEnded?: (row: RunRow) => void;
  /** Called when a turn was answered, on disk, with how long it took. ms. */
  readonly onAnswered?: (row: RunRow, ms: number) => void;
  /** What a turn leaves that fails within the gateway. */
  readonly remains: RemainsOf;
  /** As `FetchFileOptions.uploads`. */
  readonly uploads?: UploadBook;
  /** Each session has its own workspace below. */
  readonly dataDir: string;
  /** Shows that there is work on it until disposed. */
  readonly typing: (place: AnswerTarget) => Disposable;
  /** False where nothing but the answer may be written: a program reads it. */
  readonly tellsDelays: (channel: string) => boolean;
  /**
   * The chat that this person prefers for what cannot be told in that one. Undefined = none is set, or it is
   * that one.
   */
  readonly elsewhere: (who: Authority, not: Address) => Address | undefined;
  /** Whether a channel of this name has this account now: nothing is sent to chats of another one. */
  readonly isThere: (to: Pick<Address, 'channel' | 'account'>) => boolean;
  readonly parts: (
    target: AnswerTarget,
    text: string,
    files: AgentResult['files'],
    choices?: readonly Choice[],
  ) => readonly NewPart[];
}
