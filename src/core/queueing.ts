/** Queue modes: what becomes of messages that arrive while their lane is at work (spec A4). */
import type { InboundMessage } from './message.ts';
import type { NewPart } from './outbox.ts';

export const QUEUE_MODES = ['followup', 'collect', 'steer', 'interrupt', 'speculative'] as const;
export type QueueMode = (typeof QUEUE_MODES)[number];

/** What people and the config may write for a mode. */
export const QUEUE_WORDS = [...QUEUE_MODES, 'spec'] as const;

/** The mode of a word; undefined = it names none. */
export function queueModeOf(word: string): QueueMode | undefined {
  return word === 'spec' ? 'speculative' : QUEUE_MODES.find((mode) => mode === word);
}

/**
 * What a message does to the work of its lane, decided in the transaction that accepts it. Where there is
 * nothing that it applies to, the message waits for its turn as any other.
 */
export type During =
  /** The running run of the same person is told these words in place of a turn of their own. */
  | { readonly kind: 'steer'; readonly note: (message: InboundMessage) => string }
  /** Ends the running run as `interrupted`. `ofOthers`: also that of another person. */
  | { readonly kind: 'interrupt'; readonly ofOthers: boolean }
  /**
   * Runs beside the running run, in a lane of its own, while at most `most` do. `full`: what is said beyond
   * that. `gathers`: beside one that has not begun it waits, to be one request with it. `follows`: whether it
   * is meant to come after this one, beside which nothing runs.
   */
  | {
      readonly kind: 'overflow';
      readonly most: number;
      readonly gathers: boolean;
      readonly follows: (main: InboundMessage) => boolean;
      readonly full: (message: InboundMessage) => readonly NewPart[];
    };

/**
 * Rows that end with the claim of another one of their lane. Those that began or ended meanwhile are left
 * alone.
 */
export interface Taking {
  /** Their words become part of the claimed row's input. */
  readonly merged: readonly number[];
  /** A newer message of their sender takes their place. */
  readonly superseded: readonly number[];
}

/** Of a run that is told to another one, or that another one took up: `steered:<key>`, `merged:<key>`. */
export const STEERED = 'steered:';
export const MERGED = 'merged:';
export const SUPERSEDED = 'superseded';
/** A person's newer message ended it. */
export const INTERRUPTED = 'interrupted';
/** As many run beside each other as may; the chat was told so. */
export const BUSY = 'busy';
