/** How a run writes beside its answer: to chats, and to people by mail. */
import type { Choice, NewMail, OutboundFile } from './message.ts';

/** A chat as the model names it. Without both it is the chat of the run. */
export interface ChatName {
  /** Instance name. Absent = the channel of the run. */
  readonly channel?: string | undefined;
  /**
   * Id of the chat, or of the person in it, or their name. Absent with a channel that is not that of the run:
   * the chat there of the person who asks.
   */
  readonly chatId?: string | undefined;
}

/** `reason`: for the model and for people, a clause without a full stop. */
export interface NotWritten {
  readonly kind: 'refused';
  readonly reason: string;
}

/** What was handed over is on disk, and is sent as answers are. */
export interface Written {
  readonly kind: 'written';
  /** Whom it reaches, for the model. */
  readonly title: string;
}

/** Bound to a run and to the person who asked for it. Rejects as the journal does. */
export interface Messages {
  /** Whether this is the chat of the run. */
  isHome(chat: ChatName): boolean;
  /**
   * Whom words to this chat would reach, and below which line; or why they may not be written. Changes
   * nothing.
   */
  find(chat: ChatName): Promise<{ readonly kind: 'found'; readonly title: string; readonly head: string } | NotWritten>;
  /** In one commit. The same key is the same message, whatever became of it: it is not written again. */
  write(words: Words, key: string, signal: AbortSignal): Promise<Written | NotWritten>;
  /** As `AnswerScope.isReserved`. */
  isReserved(words: string): boolean;
}

export interface Words {
  readonly chat: ChatName;
  /** Markdown of any length. */
  readonly text: string;
  readonly choices: readonly Choice[];
  /** Bits of what the run had read. Default 0. */
  readonly taint?: number;
}

export interface Letter extends Omit<NewMail, 'files'> {
  /** Instance name. Absent = the channel of the run where that writes mail, else the first that does. */
  readonly channel?: string | undefined;
  /** Markdown. */
  readonly text: string;
}

/** A file that a mail may carry: `path` as of `AnswerScope.attach`. */
export interface LetterFile {
  readonly path: string;
  readonly name: string;
}

/** Bound to a run as `Messages`. Addresses are bare and checked. */
export interface Mailer {
  /**
   * From which address it would go and how much it may carry, or why it may not be written. Changes nothing.
   */
  find(
    letter: Omit<Letter, 'subject'>,
  ): Promise<{ readonly kind: 'found'; readonly from: string; readonly fileBytes: number } | NotWritten>;
  /** The address of the person of this name, or why there is none. Changes nothing. */
  addressOf(name: string): Promise<{ readonly kind: 'found'; readonly address: string } | NotWritten>;
  /** As `AnswerScope.attach`, within what the mail may carry. */
  attach(letter: Pick<Letter, 'channel'>, file: LetterFile, signal: AbortSignal): Promise<OutboundFile>;
  /** Whether a mail with this key was written before, by whichever attempt. */
  isWritten(key: string): Promise<boolean>;
  /** As `Messages.write`. */
  write(letter: Letter, files: readonly OutboundFile[], key: string, signal: AbortSignal): Promise<Written | NotWritten>;
}
