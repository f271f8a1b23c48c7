/**
 * Waiting: a run that waits is PARKED, a row on disk that holds nothing else (runs.md M2, M3). Each thing it
 * waits for is a `wait`; when the last one is settled the run is NEW again, first of its lane.
 */
import type { Address, Choice, Json, SentFor } from './message.ts';
import type { NewRun } from './new-run.ts';
import type { NewPart } from './outbox.ts';

export type WaitKind = 'run' | 'person' | 'timer' | 'signal';

/** Kinds that an answer ends, which can take days. A signal is that of a question about spending. */
export const OF_PEOPLE: readonly WaitKind[] = ['person', 'signal'];

/** What a wait comes to: it becomes the result of the call that waits. */
interface WaitValue {
  readonly ok: boolean;
  readonly output: string;
  readonly media?: readonly string[];
}

/** What people are asked. */
export interface Question {
  readonly text: string;
  /** approve: yes or no. choice: one of `choices`. text: the next words of the person in that chat. */
  readonly answer: 'approve' | 'choice' | 'text';
  readonly choices?: readonly Choice[];
  readonly to: 'owner' | Address;
  /**
   * Principals who may answer; empty = each person who may write in that chat. Of a question to the owner,
   * empty = the owner; who that is in a group, `Approvals` decides.
   */
  readonly by: readonly string[];
  /**
   * Of a question of no run: so many parked runs of one principal wait for its answer; one more is denied at
   * once. Absent = as many as ask.
   */
  readonly most?: number;
  /** What is approved, where it is too long for `text`: the command line shows it. */
  readonly whole?: string;
  /** SHA-256 of exactly what is approved. */
  readonly digest?: string;
  /** Absent = a yes holds for this once. */
  readonly grant?: SessionGrant;
  /**
   * Words are an answer only with the code of the question, or in reply to it; the next message of the person
   * is none. For answers that leave this machine.
   */
  readonly named?: true;
  /** Epoch ms. */
  readonly expiresAt: number;
  /** Epoch ms: then the question is put once more, unless it is over. Absent = it is not. */
  readonly remindAt?: number;
  /** Who is asked, as people are told: `Ada (telegram, 42)`. Absent = the owner, or who is in the chat. */
  readonly who?: string;
  /** Where the question leaves the chat of its run: on whose behalf it is asked. */
  readonly onBehalf?: OnBehalf;
  /** Kept for the part of the program that asks; no person is shown it. */
  readonly about?: Json;
}

export interface OnBehalf {
  /** The line above each piece of the question. */
  readonly head: string;
  /** Absent = it goes to the owner, which no daily number limits. */
  readonly sentFor?: SentFor;
  /** Bits that an answer brings in, beside those of its message. */
  readonly taint: number;
}

/**
 * What a yes for a session allows without a further question: until the session is begun anew, or a day has
 * passed.
 */
export interface SessionGrant {
  readonly principal: string;
  readonly session: string;
  readonly tool: string;
  /** The rule in words. */
  readonly rule: string;
  /** SHA-256 of the rule and of what the run had read: once it has read more, the yes fits no call. */
  readonly digest: string;
}

/** What a tool hands back in place of a result: what it asks for is written when the run parks. */
export type Wanted = Late &
  (
    | { readonly kind: 'run'; readonly about: NewRun }
    | { readonly kind: 'person'; readonly about: Question }
    /** `about`: what for, in words. */
    | { readonly kind: 'timer'; readonly about: string }
    /** `about`: the name of the signal. */
    | { readonly kind: 'signal'; readonly about: string }
  );

interface Late {
  /** Epoch ms; the wait then settles by itself with `late`. */
  readonly due?: number;
  /** Default: a failed result that says that nothing came in time. */
  readonly late?: WaitValue;
}

/** How a question stands in a chat. */
export interface Asked {
  /** What people type to answer it. */
  readonly code: string;
  /** `chatKey` of the chat it stands in. Absent: in none yet. */
  readonly chat?: string;
  readonly parts: readonly NewPart[];
}

/** A wait of one run, as its park writes it. */
export type NewWait = Wanted & {
  /** Of the tool call; `model/<n>` of a model call. */
  readonly callId: string;
  /** Of a question. */
  readonly asked?: Asked;
  /** Settled from the start: what was asked for is refused. */
  readonly value?: WaitValue;
};

/** The id of a wait is the same on every attempt. */
export function waitId(run: string, callId: string): string {
  return `${run}#${callId}`;
}

/** The id of the nth wait, from 1, of a call that waits again and again; `id`: that of its first. */
export function nthWait(id: string, n: number): string {
  return n === 1 ? id : `${id}~${n}`;
}

/**
 * The end of a wait. `wait`: its id, or the name of a signal, which ends all waits for that signal. A
 * question of no run is the signal of its own id.
 */
export interface Settled {
  readonly wait: string;
  readonly value: WaitValue;
  /** Who or what settled it: a principal, `cli`, `due`, the key of a run. */
  readonly by: string;
  /** Bits of what the value brings in, which the run that waited takes over. Default 0. */
  readonly taint?: number;
  /** A yes for what `Question.grant` says. */
  readonly forSession?: true;
}

/** A wait as it lies in the journal. */
export interface StoredWait {
  readonly id: string;
  /** `seq` of the run; 0 = of none. */
  readonly run: number;
  readonly callId: string;
  readonly kind: WaitKind;
  /** Of a person: what is asked. */
  readonly question?: Question;
  /** Key of the child, reason, or name of the signal. */
  readonly about?: string;
  readonly chat?: string;
  readonly code?: string;
  readonly isOpen: boolean;
  readonly value?: WaitValue;
  readonly by?: string;
  readonly createdAt: number;
  readonly due?: number;
  /** What it comes to at `due`. */
  readonly late?: WaitValue;
}

/** A parked run, as people and models are told of it. */
export interface ParkedRun {
  readonly key: string;
  /** What it was asked. */
  readonly text: string;
  readonly kinds: readonly WaitKind[];
  /** Bits of what it was given to read; absent = 0. Who quotes `text` takes them over. */
  readonly taint?: number;
}

/** The answer to a question: its wait is over in the transaction of the message that says so. */
export interface Settles {
  readonly settled: Settled;
  /**
   * In place of `parts` when the wait was over already. Called inside the transaction: it must be quick.
   */
  readonly over: (wait: StoredWait) => readonly NewPart[];
}

/** Runs of a session that are not over. */
export type Unfinished = Readonly<Record<'NEW' | 'RUNNING' | 'PARKED', number>>;

/** Reading waits. None waits for the disk, see `journal.ts`: what is done because of one must be a write. */
export interface Waits {
  /** Of one run, in the order they were made. */
  of(run: number): Promise<readonly StoredWait[]>;
  find(id: string): Promise<StoredWait | undefined>;
  /** Id of a yes that holds for the session now. */
  granted(wanted: SessionGrant): Promise<string | undefined>;
  /** A question by its code, the open one first, else the newest. */
  byCode(code: string): Promise<StoredWait | undefined>;
  /** Open questions, oldest first; with `chat` those that stand there. */
  questions(chat?: string): Promise<readonly StoredWait[]>;
  /** The newest parked runs of a session, oldest first; without `newest` all of them. */
  parked(session: string, newest?: number): Promise<readonly ParkedRun[]>;
  /** How many runs of this session are not over, by their state. */
  unfinished(session: string): Promise<Unfinished>;
  /**
   * Ids of the newest line of the history of each run of this session that was parked and is not over: it
   * goes on with that history.
   */
  heldHistory(session: string): Promise<readonly string[]>;
  /**
   * Whether a run beside another one of this session is under way that never waited: which lines it goes on
   * with is noted once it waits.
   */
  isBesideUnderWay(session: string): Promise<boolean>;
  /** The earliest `due` of all open waits. */
  earliest(): Promise<number | undefined>;
  /** Open waits whose `due` has come, at most `limit`. */
  due(now: number, limit: number): Promise<readonly StoredWait[]>;
}

/** The id of the timer that puts a question once more. It belongs to no run. */
export function reminderId(wait: string): string {
  return `${wait}~reminder`;
}

/**
 * The id under which a question to the owner is posted. By the code: it is new each time, and so must the key
 * of the text be.
 */
export function postId(code: string): string {
  return `ask/${code}`;
}

/** What has a date: one ticker fires all of them (runs.md M10). */
export interface Dated {
  /** Epoch ms. Undefined = nothing has a date. */
  earliest(): Promise<number | undefined>;
  /** Does what is due at `now`; what it could not write it does the next time. */
  fire(now: number): Promise<void>;
}

/** What a question for words, or a choice, comes to where its person does not want to answer. */
export const DECLINED: WaitValue = { ok: false, output: 'Error: the person declined to answer' };

/** What a question comes to that could be put into no chat. */
export const LOST: WaitValue = { ok: false, output: 'Error: the question reached no person' };

/** What a wait comes to that nothing ended in time. */
export function lateResult({ late }: { readonly late?: WaitValue }): WaitValue {
  return late ?? { ok: false, output: 'Error: no answer came in time' };
}
