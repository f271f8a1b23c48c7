/** What the Bot API server of the tests keeps of a send, and what it is told to do wrong. */
import type { JsonObject, Uploaded } from './wire.ts';

/** One message the server accepted from the bot. */
export interface TelegramSend {
  readonly seq: number;
  /** Epoch ms. */
  readonly at: number;
  readonly method: string;
  readonly chatId: string;
  /** Of a forum; `dm:` and the number of a person's topic in the direct messages of a channel. */
  readonly threadId?: string;
  readonly messageId: number;
  /** As people see it: markup parsed. */
  readonly text: string;
  readonly parseMode?: string;
  readonly replyTo?: number;
  readonly file?: Uploaded;
  /** Formats of the text beyond those that the platform shows. */
  readonly ignoredEntities?: number;
  /** Accepted, but the reply was withheld by a `hang` or `drop` fault. */
  readonly replyLost?: boolean;
}

export interface TelegramButton {
  readonly text: string;
  readonly callback_data: string;
}

/** One accepted change of a message's text. */
export interface TelegramEdit {
  /** Epoch ms. */
  readonly at: number;
  readonly messageId: number;
  readonly text: string;
}

/** What happens to the next `times` calls (default 1) of `method` (default `*`: any). First match wins. */
export interface TelegramFault {
  readonly method?: string;
  /** Only calls for this chat. */
  readonly chatId?: string;
  readonly times?: number;
  /**
   * `error` answers with `status`; `hang` accepts and never answers; `drop` accepts and breaks the
   * connection; `cut` breaks it before accepting; `delay` waits `delayMs`, `hold` for `until`, then both
   * go on as usual.
   */
  readonly kind: 'error' | 'hang' | 'drop' | 'cut' | 'delay' | 'hold';
  readonly status?: number;
  readonly description?: string;
  readonly parameters?: JsonObject;
  readonly delayMs?: number;
  readonly until?: Promise<unknown>;
}
