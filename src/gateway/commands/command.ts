/** What a command of the chat is. `index.ts` has the table of all. */
import type { CommandEntry } from '../../core/command-entry.ts';
import type { InboundMessage } from '../../core/message.ts';
import type { ChatRow } from '../../core/run.ts';
import type { EndTexts } from '../../runs/end-texts.ts';
import type { Transcripts } from '../../runs/transcripts.ts';

/** What a chat message asks of the gateway itself; anything else is the agent's. */
export type Command =
  /** Answered at once, even while a turn runs; also ends that turn and what waits behind it. */
  | ({ readonly kind: 'stop' } & EndTexts)
  /** Answered at once. */
  | { readonly kind: 'help'; readonly answer: string }
  /** Answered at once: what it is about may be what the lane waits for. */
  | { readonly kind: 'why' }
  /**
   * Takes its turn in the lane, because it changes the session: the newest `keep` messages stay. `reset`: its
   * choices go too.
   */
  | { readonly kind: 'new'; readonly keep: number; readonly reset?: true }
  /** Takes its turn in the lane too; without a value it only says what is in force. */
  | ChoiceCommand;

export interface ChoiceCommand {
  readonly kind: 'model' | 'think';
  readonly value?: string;
}

/** A command that changes the session. */
export type TurnCommand = Exclude<Command, { readonly kind: 'stop' | 'help' | 'why' }>;

/** What commands in a lane work on. */
export interface CommandPorts {
  readonly transcripts: Pick<Transcripts, 'restart'>;
  /** What became of a message of one's own. */
  readonly why: (message: InboundMessage) => Promise<string>;
  readonly choice: { run(row: ChatRow, command: ChoiceCommand): Promise<string | undefined>; reset(row: ChatRow): Promise<void> };
}

/** One word with a slash: a file beside this one, and a line of the table in `index.ts`. */
export interface CommandSpec extends CommandEntry {
  /** Of the words behind the name; undefined = the message is text for the agent. */
  read(words: readonly string[]): Command | undefined;
}

/**
 * A command in its lane: does what it says and returns the answer; undefined where the sender may not use it
 * and was told so already. The caller holds the session's mutex.
 */
export type RunCommand<C extends TurnCommand> = (command: C, row: ChatRow, ports: CommandPorts) => Promise<string | undefined>;
