/** What the platform pushes, before it is read. */
import type { JsonObject } from '../../kit/json.ts';

/** The three kinds of payload that concern us; all others are acknowledged and forgotten. */
export interface SlackPayload {
  readonly kind: 'event' | 'action' | 'command';
  readonly body: JsonObject;
  /** Of a shortcut: what had to be asked of the platform before it could be read. */
  readonly shortcut?: ShortcutPlace;
  /** The workspace of its person, where the platform was asked and said that our organisation has it. */
  readonly sisterTeam?: string;
}

/** A shortcut names no conversation of the app, and people by their ids alone. */
export interface ShortcutPlace {
  /** The direct conversation with the person who chose it; absent where the platform refused to open it. */
  readonly directId?: string;
  /** The author of the message that it is about; absent where there is none. */
  readonly authorName?: string;
}
