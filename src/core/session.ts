/** The lines of a session file (spec C1) and the port that keeps them. */
import type { Json } from './message.ts';

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** The model's arguments as it wrote them: JSON text, which may be invalid. */
  readonly arguments: string;
  /**
   * Ids that the provider gave this call; two where it asked for the same thing twice in one answer. Absent:
   * it gave none.
   */
  readonly provider_ids?: readonly string[];
}

/**
 * What a provider gave with an answer and wants back unchanged: reasoning, thinking blocks, signatures,
 * encrypted items. Only the wire that made `data` reads it. It goes back to the same provider and model and
 * to no other.
 */
export interface ProviderState {
  readonly provider: string;
  readonly model: string;
  readonly data: Json;
}

/** How much a model thinks before it answers. `auto`: as the provider does by default. */
export type ThinkingLevel = 'off' | 'low' | 'medium' | 'high' | 'auto';

export interface SessionMessage {
  /** Unique in its session and stable across a crash: what makes appending idempotent. */
  readonly id: string;
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
  /** Paths in the session's workspace. */
  readonly media?: readonly string[];
  readonly tool_calls?: readonly ToolCall[];
  readonly tool_call_id?: string;
  /** For people; what the provider needs of it is in `provider_state`. */
  readonly reasoning_content?: string;
  readonly provider_state?: ProviderState;
  /**
   * Whose words it has (see `principalOf`), where the session is not theirs alone: of what a run was asked in
   * a group, by a job or by another run, and of what was written here on the wish of a person.
   */
  readonly by?: string;
  /**
   * Whose messages in a group were answered with this one (see `principalOf`), and the key of each, by which
   * the files are known that came with it. Absent = of no one else, or it is not known.
   */
  readonly joined?: readonly { readonly by: string; readonly run?: string }[];
  /** Bits of what the run had read that left this line (runs.md M4). Absent = 0. */
  readonly taint?: number;
  /** Key of the run beside which the run of this line ran. Absent = it ran in its turn. */
  readonly beside?: string;
  /** RFC 3339, UTC. */
  readonly timestamp: string;
  /**
   * Only in the journal, never in a file: the line is no message but a mark. What stands before it goes to
   * the archive, but for the newest `keep` messages; `gone` = the session and its archive are removed.
   */
  readonly cut?: { readonly keep: number; readonly gone?: true };
}

export interface SessionHeader {
  readonly schema_version: 1;
  readonly session_key: string;
  readonly parent_key?: string;
  readonly topic?: string;
  readonly summary?: string;
  /**
   * As earlier versions stored what `/think` and `/model` chose: read where the chat has no choice of its own
   * (`chats.ts`).
   */
  readonly thinking?: ThinkingLevel;
  readonly model?: string;
  /** Id of the mark in the journal by which the session was begun anew last. */
  readonly cut?: string;
  readonly created_at: string;
  readonly updated_at: string;
}

/** What people chose for one session under an earlier version. */
export type SessionChoices = Pick<SessionHeader, 'thinking' | 'model'>;

export interface Session {
  readonly header: SessionHeader;
  readonly messages: readonly SessionMessage[];
}

export interface SessionInfo {
  readonly key: string;
  readonly messages: number;
  /** The beginning of the first words of a person. Absent = there are none. */
  readonly title?: string;
  /** Time of the newest message, else of the file. RFC 3339. */
  readonly updatedAt: string;
  readonly bytes: number;
}

/** What a load had to mend; the caller reports it and goes on with the rest of the session. */
export interface SessionDamage {
  readonly key: string;
  /** 1-based line numbers that were moved to quarantine. */
  readonly lines: readonly number[];
  readonly quarantine: string;
}

/**
 * Keeps sessions. The journal decides when lines exist; the store only makes them readable files. Every
 * method may reject with a `GatehouseError` of code GH14xx. One writer per key at a time: the caller holds
 * the session's mutex.
 */
export interface SessionStore {
  /**
   * Absent session = undefined. Damaged lines are quarantined and reported through the store's `onDamage`,
   * never thrown. With `newest` the caller needs that many of the newest messages; a store may leave older
   * ones out, and the damage among them for a reader of the whole session.
   */
  load(key: string, newest?: number): Promise<Session | undefined>;
  /**
   * Appends and syncs to disk before it resolves. Lines whose `id` the session already holds are skipped, and
   * so are those of the call that a rotation has taken out since, so that the same call after a crash changes
   * nothing. Creates the session when absent.
   */
  append(key: string, lines: readonly SessionMessage[]): Promise<void>;
  /**
   * New session `target` with the newest `keep` messages of `source`, its choices and a parent link; never
   * begins with a tool result.
   */
  fork(source: string, target: string, keep: number): Promise<Session>;
  /**
   * Appends the present lines to `<name>.archive.jsonl`, then atomically replaces the session with
   * `messages`.
   */
  rewrite(key: string, messages: readonly SessionMessage[], header?: Partial<SessionHeader>): Promise<void>;
  /** What earlier beginnings of the session left, oldest first, each line once; of much, the newest. */
  archived(key: string): Promise<readonly SessionMessage[]>;
  /** Appends to the archive and syncs; lines that it holds are skipped. */
  archive(key: string, lines: readonly SessionMessage[]): Promise<void>;
  list(): Promise<readonly SessionInfo[]>;
  /**
   * Puts other lines in place of those that `rule` changes, in the session and in its archive; a kept summary
   * and what could not be read go, where any line changed. `rule` is called first, with all lines, oldest
   * first. The lines that it changes must keep their ids. Where none changes, what could not be read goes if
   * `isTheirs` says so of its text.
   */
  redact(key: string, rule: RedactRule, isTheirs?: (unreadable: string) => boolean): Promise<Redacted>;
  /** Removes session and archive. Absent = no-op. */
  remove(key: string): Promise<void>;
  /**
   * What is kept in memory of the session goes, because it is hardly used again. Its next use reads the file.
   */
  release(key: string): void;
}

/** Undefined of a line = it stays as it is. */
export type RedactRule = (lines: readonly SessionMessage[]) => Promise<(line: SessionMessage) => SessionMessage | undefined>;

export interface Redacted {
  readonly changed: number;
  /** Lines that were not changed. */
  readonly left: number;
}
