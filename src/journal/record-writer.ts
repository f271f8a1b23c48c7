/**
 * What writes the record: in the transaction of the fact an event speaks of, or with one that is made anyhow.
 */
import type { RunEvent } from '../core/events.ts';
import { COMMITTED_EVENTS } from '../core/record.ts';
import type { Rider } from './commit-queue.ts';
import type { Database } from './database.ts';
import { toRows } from './event-rows.ts';
import { RefusalRows } from './refusal-rows.ts';
import type { Refusal } from './store.ts';

/** Pieces of answers, words of tools, and what the commit of the fact writes itself. */
const PASSED_OVER: ReadonlySet<string> = new Set([...COMMITTED_EVENTS, 'model.text', 'tool.progress']);
/** Events that wait for a commit while the disk is full. The oldest are given up. */
const MOST_PENDING = 10_000;

/**
 * Gathers the events of one transaction, so that those of one run are one row: a row costs more than what is
 * in it.
 */
export class RecordWriter implements Rider {
  readonly #db: Database;
  /** Of the transaction under way. */
  #written: RunEvent[] = [];
  #refused: Refusal[] = [];
  /** They ride on the next commit that speaks of their run, or on any once they are due. */
  #pending: RunEvent[] = [];
  #taken: RunEvent[] = [];
  #due = false;
  readonly #refusals = new RefusalRows();

  constructor(db: Database) {
    this.#db = db;
  }

  /** Rides on a commit. Returns whether it has to be seen to that there is one. */
  note(event: RunEvent): boolean {
    if (PASSED_OVER.has(event.type)) return false;
    if (this.#pending.length >= MOST_PENDING) this.#pending.shift();
    this.#pending.push(event);
    return true;
  }

  /** The next commit takes all that wait. Returns whether any does. */
  due(): boolean {
    this.#due = this.#pending.length > 0;
    return this.#due;
  }

  write(event: RunEvent): void {
    this.#written.push(event);
  }

  refuse(refusal: Refusal): void {
    this.#refused.push(refusal);
  }

  begin(): () => void {
    const [written, refused] = [this.#written.length, this.#refused.length];
    return () => {
      this.#written.length = written;
      this.#refused.length = refused;
    };
  }

  flush(): void {
    this.#take();
    const singles = this.#refused.length > 0 ? this.#refusals.write(this.#db, this.#refused) : [];
    const refused = singles.flatMap(({ at, run, channel, chat, reason }): RunEvent[] => [
      { at, messageId: run, channel, type: 'received' },
      { at, messageId: run, channel, type: 'dropped', reason, chat },
    ]);
    const events = [...this.#taken, ...this.#written, ...refused];
    this.#written = [];
    this.#refused = [];
    if (events.length === 0) return;
    for (const [run, own] of Map.groupBy(events, ({ messageId }) => messageId)) {
      const rows = run === undefined ? own.flatMap((event) => toRows([event])) : toRows(own);
      for (const { at, session, channel, type, data } of rows)
        this.#db.run(INSERT, at, run ?? null, session, channel, type, data);
    }
  }

  committed(): void {
    this.#taken = [];
  }

  /** Nothing of the transaction is on disk. */
  failed(): void {
    this.#written = [];
    this.#refused = [];
    this.#refusals.forget();
    this.#pending = [...this.#taken, ...this.#pending].slice(-MOST_PENDING);
    // They have waited for one commit: they ride on the next, whatever it speaks of.
    this.#due ||= this.#taken.length > 0;
    this.#taken = [];
  }

  #take(): void {
    if (this.#pending.length === 0) return;
    if (this.#due) {
      this.#taken = this.#pending;
      this.#pending = [];
      this.#due = false;
      return;
    }
    if (this.#written.length === 0) return;
    const runs = new Set(this.#written.map(({ messageId }) => messageId));
    const [waits, rides] = [[] as RunEvent[], [] as RunEvent[]];
    for (const event of this.#pending) (runs.has(event.messageId) ? rides : waits).push(event);
    this.#pending = waits;
    this.#taken = rides;
  }
}

const INSERT = 'INSERT INTO event (at, run, session, channel, type, data) VALUES (?, ?, ?, ?, ?, ?)';
