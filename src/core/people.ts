/** Who was kept out, by whom, and what was decided about people. In the journal's file. */
import type { Erasures, LinkedId, PersonRows } from './erasure.ts';
import type { Json } from './message.ts';
import type { PersonRef } from './person.ts';

export type { PersonRef } from './person.ts';

/** A person who is refused whatever the config says. */
export interface Block extends PersonRef {
  readonly by: string;
  /** Epoch ms. */
  readonly at: number;
  /** The operator's own words. */
  readonly reason?: string;
}

/**
 * Takes everything away from a person in one commit: their waiting and parked runs are cancelled, the running
 * one is fenced, their jobs are disabled, questions that only they could answer or cause are withdrawn, what
 * was approved for or by them is gone, and so are links to their other ids and what waits to be sent to their
 * private chats. `revoked`: they are turned away like a request that was denied, unless the config lists
 * them. `blocked`: they are refused whatever the config says.
 */
export interface ShutOut {
  readonly kind: 'shut-out';
  readonly who: PersonRef;
  readonly as: 'revoked' | 'blocked';
  readonly by: string;
  /** Of a block. */
  readonly reason?: string;
  /** As of `Cancels`. */
  readonly stoppedMark?: string;
}

/** What the record of decisions says about one of them. Ids only: no names, and no words of a message. */
export interface NewAuditEntry {
  /**
   * `pair.approved`, `pair.denied`, `person.revoked`, `person.blocked`, `person.unblocked`, `person.linked`,
   * `person.unlinked`, `person.erased`, `audit.redacted`,
   * `question.allowed`, `question.denied`, `config.applied`, `job.added`, `job.changed`, `job.removed`,
   * `mcp.approved`, `mcp.forgotten`, `mcp.logged-in`, `mcp.logged-out`, `plugin.approved`, `plugin.enabled`,
   * `plugin.disabled`, `plugin.removed`.
   */
  readonly kind: string;
  /** Who or what it is about: a principal, the id of a question or of a job, `config`. */
  readonly subject: string;
  /** Who decided: a principal, `cli`, `file` for the config file. */
  readonly by: string;
  readonly data?: Readonly<Record<string, Json>>;
}

export interface AuditEntry extends Required<NewAuditEntry> {
  /** From 1, without a gap. */
  readonly seq: number;
  readonly at: number;
  /** SHA-256 of the entry and the hash before it, hexadecimal. */
  readonly hash: string;
}

/** What checking the chain of hashes came to. */
export type AuditState =
  /** `head`: hash of the newest entry; empty = there is none. */
  | { readonly kind: 'whole'; readonly entries: number; readonly head: string }
  | { readonly kind: 'broken'; readonly seq: number; readonly why: string };

/** Reads; what is decided is written as rows of a commit (`Write`), and of requests by `PairingStore`. */
export interface People {
  blocks(): Promise<readonly Block[]>;
  /** When a message in a private chat of theirs was let in last, by principal. Looks through all chats. */
  seen(): Promise<ReadonlyMap<string, number>>;
  /** Oldest first. `after`: only entries behind the one of this number; `since`: epoch ms. */
  audit(query: { readonly after?: number; readonly since?: number; readonly subject?: string }): Promise<readonly AuditEntry[]>;
  verifyAudit(): Promise<AuditState>;
  /** All ids that are linked, by human. */
  links(): Promise<readonly LinkedId[]>;
  /** The ids of the human that this one is of, itself first. */
  idsOf(who: PersonRef): Promise<readonly PersonRef[]>;
  /** Whether this person may try a code of `/link` now: wrong ones are counted. */
  mayTryLink(who: PersonRef): Promise<boolean>;
  readonly erasures: Erasures;
  /** Every row that has words or an id of these. Reads the whole journal. */
  rows(ids: readonly PersonRef[]): Promise<PersonRows>;
}
