/** What the proxy keeps of a call, what it is told to do wrong, and what it adds to a message of a person. */
import type { JsonObject, UploadedFile } from './wire.ts';

/** One REST call of the bot, accepted or not. */
export interface ProxyCall {
  /** `POST /channels/1/messages`. */
  readonly call: string;
  readonly body: JsonObject;
  readonly files: readonly UploadedFile[];
  readonly accepted: boolean;
  /** What the platform answered, or would have. */
  readonly answer?: JsonObject;
  /** Epoch ms. */
  readonly at: number;
}

/** What happens to the next `times` calls that `call` matches. The first fault that fits is played. */
export interface ProxyFault {
  /** Matched against `POST /channels/1/messages`. */
  readonly call: RegExp;
  /**
   * `answer`: instead of the platform. `drop`: done, and the connection breaks. `hang`: done, and nothing
   * comes back. `cut`: half an answer. `delay`: done, and answered after `delayMs`; `hold`: once `until` is.
   */
  readonly kind: 'answer' | 'drop' | 'hang' | 'cut' | 'delay' | 'hold';
  readonly delayMs?: number;
  readonly until?: Promise<unknown>;
  readonly status?: number;
  readonly body?: JsonObject | readonly JsonObject[] | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default 1. */
  readonly times?: number;
}

/** What a person's message has that the emulator does not know. */
export interface Overlay {
  readonly files?: readonly {
    readonly name: string;
    readonly bytes: Buffer;
    readonly mime?: string;
    readonly statedSize?: number;
  }[];
  /** Laid over the message. */
  readonly fields?: JsonObject;
}
