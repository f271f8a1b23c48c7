/** What a command of the chat is. `index.ts` has the table of all. */

import type { ChatSettings, Chats, TopicChange } from '../../core/chats.ts';
import type { CommandEntry } from '../../core/command-entry.ts';
import type { Restart } from '../../core/conversation.ts';
import type { Choice, InboundMessage } from '../../core/message.ts';
import type { RunChange } from '../../core/new-run.ts';
import type { NewPart } from '../../core/outbox.ts';
import type { Cancels, ChatRow } from '../../core/run.ts';
import type { SlotStatus } from '../../core/status.ts';
import type { Tasks } from '../../core/task.ts';
import type { ToolSettings } from '../../core/tool-settings.ts';
import type { RoutingMode } from '../../llm/routing/adaptive-router.ts';
import type { Standing } from '../../operator/authority.ts';
import type { Compaction } from '../../runs/compaction.ts';
import type { EndTexts } from '../../runs/end-texts.ts';
import type { QueueBook } from '../../runs/queue-rules.ts';
import type { Transcripts } from '../../runs/transcripts.ts';

/** What a chat message asks of the gateway itself; anything else is the agent's. */
export type Command =
  /** Answered at once, even while a turn runs; also ends that turn and what waits behind it. */
  | ({ readonly kind: 'stop' } & EndTexts)
  /** Answered at once. */
  | { readonly kind: 'help'; readonly answer: string }
  /** Answered at once: what it is about may be what the lane waits for. */
  | { readonly kind: 'why' }
  | PersonalCommand
  /** Answered at once: the newest `keep` messages stay. `reset`: the choices of the chat go too. */
  | { readonly kind: 'new'; readonly keep: number; readonly reset?: true }
  /** Answered at once, all of these. */
  | TopicCommand
  | TaskCommand
  | StatusCommand
  | AdaptiveCommand
  | ConfigCommand
  | { readonly kind: 'thinking'; readonly isOn?: boolean }
  /** Takes its turn in the lane, because it changes the session. */
  | { readonly kind: 'compact' }
  /** Without a value it only says what is in force. */
  | { readonly kind: 'queue'; readonly value?: string }
  /** Takes its turn in the lane too; without a value it only says what is in force. */
  | ChoiceCommand;

/** Answered at once, and written with the answer: what a person decides about their own accounts. */
export interface PersonalCommand {
  readonly kind: 'personal';
  readonly what: 'link' | 'unlink' | 'forget';
  readonly code?: string;
}

export interface StatusCommand {
  readonly kind: 'status';
  /** Absent = what goes on. */
  readonly what?: string;
  readonly words?: string;
}

export interface AdaptiveCommand {
  readonly kind: 'adaptive';
  readonly mode?: RoutingMode;
  readonly isRanking?: true;
}

export interface ConfigCommand {
  readonly kind: 'config';
  /** `web_search.count`, or a tool alone. */
  readonly about?: string;
  readonly value?: string;
  readonly isReset?: true;
}

export type TopicCommand =
  /** `name` as a person wrote it. */
  | { readonly kind: 'topic'; readonly name: string }
  /** Without a name, the chat itself. */
  | { readonly kind: 'switch'; readonly name?: string }
  /** A button of the picker. */
  | { readonly kind: 'pick'; readonly value: string }
  | { readonly kind: 'sessions' }
  | { readonly kind: 'back' }
  | { readonly kind: 'delete'; readonly name: string };

/** Answered at once, with what it changes in the same commit. */
export type TaskCommand =
  | { readonly kind: 'task'; readonly text: string; readonly act?: undefined }
  | { readonly kind: 'tasks'; readonly act: 'list' | 'show' | 'cancel' | 'resume'; readonly number?: string };

export interface ChoiceCommand {
  readonly kind: 'model' | 'think';
  readonly value?: string;
}

/** What begins the conversation anew. */
export type NewCommand = Extract<Command, { readonly kind: 'new' }>;

/** A command that takes its turn in the lane: of `new` only what a waiting message was edited to. */
export type TurnCommand = ChoiceCommand | NewCommand | { readonly kind: 'compact' };

/** A command that is answered when it is received, also while a turn runs. */
export type PromptCommand = Exclude<Command, ChoiceCommand | { readonly kind: 'stop' | 'help' | 'why' | 'compact' | 'personal' }>;

/** What answers one, and what the commit of the answer changes. */
export interface Prompted {
  readonly outcome: string;
  readonly parts: readonly NewPart[];
  readonly topic?: TopicChange;
  readonly restart?: Restart;
  readonly settings?: ChatSettings;
  /** These three as of `Admission`. */
  readonly cancels?: Cancels;
  readonly writes?: readonly RunChange[];
  readonly partsAfter?: (number: (run: string) => number) => readonly NewPart[];
}

/** What such commands work on. */
export interface PromptPorts {
  readonly chats: Pick<Chats, 'of'>;
  readonly transcripts: Pick<Transcripts, 'load' | 'title'>;
  /** How many buttons a message of the channel can have. 0 = none. */
  readonly buttons: (channel: string) => number;
  readonly answer: (message: InboundMessage, text: string, choices?: readonly Choice[]) => readonly NewPart[];
  /** Whether this person may change the conversation: in a group, the owner and its admins. */
  readonly mayChange: (message: InboundMessage) => boolean;
  /** Whether it is surely the owner who wrote it. */
  readonly isOwner: (message: InboundMessage) => boolean;
  /** Whether the operator lets thoughts be shown. */
  readonly mayShowThinking: () => boolean;
  /** Whether the channel shows what goes on. */
  readonly statusLine: (channel: string) => boolean;
  /** Runs of the lane that run or wait for their turn, and of the session that wait for something. */
  readonly work: (lane: string, session: string) => Promise<{ readonly active: number; readonly parked: number }>;
  /** Which model answers there, a sentence. */
  readonly modelLine: (message: InboundMessage, session: string) => Promise<string>;
  /** Undefined: there is none. */
  readonly router: () => { mode: RoutingMode; snapshot(): readonly SlotStatus[] } | undefined;
  readonly toolSettings: ToolSettings;
  readonly tasks: Pick<Tasks, 'plan' | 'planResume' | 'list' | 'show'>;
  /** For whom the message speaks, and what it brings in. */
  readonly standing: (message: InboundMessage) => Promise<Standing>;
  /** Which queue mode holds. */
  readonly queue: Pick<QueueBook, 'of' | 'configured' | 'chosen'>;
}

/** Where a message stands: the lane and the session of its chat or thread, without a topic. */
export interface PlaceOfMessage {
  readonly lane: string;
  readonly session: string;
}

/** What commands in a lane work on. */
export interface CommandPorts {
  readonly transcripts: Pick<Transcripts, 'restart'>;
  readonly compaction: Pick<Compaction, 'now'>;
  /** See `PromptPorts`. */
  readonly mayChange: (message: InboundMessage) => boolean;
  /** What became of a message of one's own. */
  readonly why: (message: InboundMessage) => Promise<string>;
  readonly choice: { run(row: ChatRow, command: ChoiceCommand): Promise<string | undefined>; reset(row: ChatRow): Promise<void> };
}

/** One word with a slash: a file beside this one, and a line of the table in `index.ts`. */
export interface CommandSpec extends CommandEntry {
  /** Shorter words for the same. */
  readonly aliases?: readonly string[];
  /**
   * Of the words behind the name; undefined = the message is text for the agent. `rest`: all of them as they
   * stand there.
   */
  read(words: readonly string[], rest: string): Command | undefined;
}

/**
 * A command in its lane: does what it says and returns the answer; undefined where the sender may not use it
 * and was told so already. The caller holds the session's mutex. What waits ends with the signal's reason.
 */
export type RunCommand<C extends TurnCommand> = (
  command: C,
  row: ChatRow,
  ports: CommandPorts,
  signal: AbortSignal,
) => Promise<string | undefined>;
