/** Links between the ids of one human, and what is exported and erased of them. */
import type { Address, Json } from './message.ts';
import type { NewPart } from './outbox.ts';
import type { PersonRef } from './person.ts';
import type { SessionMessage } from './session.ts';

/** One id of a human who is known under several. */
export interface LinkedId extends PersonRef {
  /** The same for all ids of one human, and for no one else's. */
  readonly id: string;
  /** As the platform gave it when the link was made; may be empty. */
  readonly name: string;
  /** Epoch ms. */
  readonly linkedAt: number;
}

/** An end of a new link. */
export interface LinkEnd extends PersonRef {
  readonly name: string;
}

export type LinkWrite =
  /** All ids of both are one human from now on. Changes nothing where they are already. */
  | { readonly kind: 'link'; readonly of: readonly [LinkEnd, LinkEnd]; readonly by: string }
  /** This id is a human of its own again. The last two ids of a human part altogether. */
  | { readonly kind: 'unlink'; readonly who: PersonRef; readonly by: string }
  /** A code that links the account that types it. Takes the place of the earlier code of this person. */
  | { readonly kind: 'link-code'; readonly code: string; readonly offer: LinkOffer; readonly due: number }
  /** A wrong code was typed. */
  | { readonly kind: 'link-miss'; readonly who: PersonRef };

/** What is written with the answer to a command about one's own accounts. */
export type PersonalWrite = LinkWrite | { readonly kind: 'part'; readonly part: NewPart };

/** What a code of `/link` is bound to: the account that asked for it. */
export interface LinkOffer extends LinkEnd {
  readonly chat: Address;
}

/** Stands in place of words that were erased. */
export const ERASED = '[erased]';

/** The id of the wait that a code of `/link` is. */
export function linkWait(code: string): string {
  return `link/${code}`;
}

/** How the id of the question begins whether a person may be erased. */
export const FORGET = 'forget/';

/**
 * Begins the erasure of a person, all their linked ids included, in one commit: what they have going ends as
 * with a block, their jobs, pairings and links are gone, and what is stored of them is listed to be erased.
 * They are not let in nor kept out by it; a block stays. Where there is nothing of them, nothing is listed.
 */
export interface EraseWrite {
  readonly kind: 'erase';
  readonly who: PersonRef;
  readonly by: string;
  /** As of `Cancels`. */
  readonly stoppedMark?: string;
  /** Told to the person; sent before their chats are erased. */
  readonly parts?: readonly NewPart[];
}

/** A call of a tool, by its `callKey`, and the session whose workspace it worked in. */
export interface CallOf {
  readonly session: string;
  readonly call: string;
}

/** A session of theirs, and that of others in whose workspace its runs worked. */
export interface WorkedIn {
  readonly session: string;
  readonly workspace: string;
}

/** Words of theirs that a request of another quotes or tells, and the session of that one. */
export interface ToldText {
  readonly session: string;
  readonly text: string;
}

/** By table, the highest `seq`. */
export interface NewestRows {
  readonly outbox: number;
  readonly session_line: number;
  readonly event: number;
}

/** An erasure that was begun. What it speaks of is not erased before its row is gone. */
export interface Erasure {
  /** A keyed hash. */
  readonly key: string;
  readonly ids: readonly PersonRef[];
  /**
   * Names under which they wrote; of words that an earlier version stored, the author is known by name alone.
   */
  readonly names: readonly string[];
  /** `chatKey`s of their private chats. */
  readonly chats: readonly string[];
  /** Sessions of these chats and of their jobs, each with all that is within it. */
  readonly sessions: readonly string[];
  /** Newest run that is theirs; later ones belong to a stranger of the same id. */
  readonly until: number;
  /** The same of other tables. Absent (begun by an earlier version) = no row is a stranger's. */
  readonly newest?: NewestRows;
  /** Keys of runs of theirs. */
  readonly runs: readonly string[];
  /** Names of files in `outgoing/` that nothing needs any more. */
  readonly files: readonly string[];
  /** Calls of theirs that may have left files in a workspace, as far as only rows tell. Absent = none. */
  readonly calls?: readonly CallOf[];
  /** Files of shared workspaces that hold words of theirs and stay: see `MadeFiles.left`. Absent = none. */
  readonly left?: readonly string[];
  /** Files of shared workspaces that could not be searched: see `MadeFiles.unsearched`. Absent = none. */
  readonly unsearched?: readonly string[];
  /** Absent = none. */
  readonly worked?: readonly WorkedIn[];
  /** As far as rows told it. Absent = none. */
  readonly told?: readonly ToldText[];
  /** What they said to others, as far as rows told it that are gone. Absent = nothing. */
  readonly said?: readonly string[];
  /** `chatKey`s of the chats in which others may repeat that. Absent = none. */
  readonly groups?: readonly string[];
  readonly by: string;
  /** Epoch ms. */
  readonly at: number;
  /** `clean`: only free pages and the log of the database may hold something of them. */
  readonly stage: 'words' | 'clean';
  /** Sum of what was erased so far, by kind. */
  readonly counts: Readonly<Record<string, number>>;
}

/** What decides which stored words are theirs. */
export interface Theirs {
  /** See `principalOf`. */
  readonly principals: ReadonlySet<string>;
  /** Keys of their runs: lines of a run begin with its key. */
  readonly runs: ReadonlySet<string>;
  readonly names: readonly string[];
}

/**
 * What becomes of words, made from what they said, as far as rows tell. It must be quick: it is called in a
 * transaction.
 */
export type WordsRule = (said: readonly string[]) => {
  /** Undefined = it stays as it is. */
  readonly line: (line: SessionMessage) => SessionMessage | undefined;
  /**
   * A text of another, without what it repeats of theirs. `isOfPeople`: a person wrote it, and may use the
   * same shorter sentence by chance. Default: the agent did.
   */
  readonly text: (text: string, isOfPeople?: boolean) => string;
};

/**
 * Erasures that were begun, in the journal. Every step may be repeated. What changes an erasure rejects where
 * it was asked for again since: then all of it is to be done again, as it stands by then.
 */
export interface Erasures {
  open(): Promise<readonly Erasure[]>;
  /** Parts that tell the person and are not sent yet. */
  isTelling(erasure: Erasure): Promise<boolean>;
  /**
   * Takes their words out of all rows. Resolves to the erasure as it stands then; with that it may be done
   * again, for what turns of others wrote meanwhile.
   */
  eraseRows(erasure: Erasure, rule: WordsRule): Promise<Erasure>;
  /** Sessions in whose workspaces runs are under way, or wait to go on. */
  busy(): Promise<readonly string[]>;
  /** Lines of sessions that are in no file yet, those of each session in their order. */
  waiting(): Promise<readonly { readonly session: string; readonly lines: readonly SessionMessage[] }[]>;
  /** Names of files that parts name which are to be sent, and steps of runs. */
  outgoing(): Promise<ReadonlySet<string>>;
  /** Runs of the session that wait go on from the lines whose ids were changed (`withoutAuthors`). */
  hashHistory(erasure: Erasure, session: string): Promise<void>;
  /** Puts keyed hashes in place of their ids in ledger, dedup and audit, and notes the decision. */
  hashIds(erasure: Erasure, counts: Readonly<Record<string, number>>): Promise<void>;
  /**
   * Writes all pages anew, empties the log, and ends the erasure. False = another process holds the log:
   * again. Rejects where there is no room for it.
   */
  clean(erasure: Erasure): Promise<boolean>;
}

/** All rows about a person, as JSON, by table. */
export type PersonRows = Readonly<Record<string, readonly Json[]>>;
