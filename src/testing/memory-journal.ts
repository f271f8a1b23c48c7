/** The outbox half of the journal port, in memory: for tests of delivery. The rest of the port throws. */
import { GatehouseError } from '../core/errors.ts';
import { isLaneOf } from '../core/ids.ts';
import type { Journal, Recovery } from '../core/journal.ts';
import type { OutboundPart } from '../core/message.ts';
import type { NewPart, OutboxRow, Settlement, StoredPart } from '../core/outbox.ts';
import type { Clock } from '../core/ports.ts';

interface StoredRow extends StoredPart {
  readonly reason?: string;
}

type Write = 'sending' | 'settle' | 'enqueue' | 'pending' | 'part';

export class MemoryJournal implements Journal {
  readonly bootId: string;
  /** In order of their rows; survives `crash`. */
  readonly rows: Map<number, StoredRow>;
  readonly #clock: Clock;
  #failing = new Map<Write, number>();
  #killed = false;

  constructor(clock: Clock, rows = new Map<number, StoredRow>(), boot = 1) {
    this.#clock = clock;
    this.rows = rows;
    this.bootId = `boot-${boot}`;
  }

  /** The next `times` calls of that method reject as on a full disk, and change nothing. */
  failNext(write: Write, times: number): void {
    this.#failing.set(write, times);
  }

  /** The process dies here: this journal never resolves again, the one returned sees what was committed. */
  crash(): MemoryJournal {
    this.#killed = true;
    return new MemoryJournal(this.#clock, new Map(this.rows), Number(this.bootId.slice(5)) + 1);
  }

  /** State and whatever settled it, by part key. */
  row(key: string): StoredRow | undefined {
    return [...this.rows.values()].find((row) => row.part.key === key);
  }

  async enqueue(parts: readonly NewPart[]): Promise<void> {
    await this.#commit('enqueue');
    for (const part of parts) {
      if (this.row(part.part.key)) continue;
      const seq = this.rows.size + 1;
      this.rows.set(seq, {
        ...part,
        seq,
        createdAt: this.#clock.now(),
        state: 'PENDING',
        attempts: 0,
        notBefore: 0,
        plain: false,
      });
      this.#markReplaced(part.part.supersedes, part.part.key);
    }
  }

  async sentFor(reader: string, since: number): Promise<number> {
    await this.#commit('part');
    const fits = ({ part, createdAt }: StoredRow) =>
      part.ordinal === 0 && createdAt > since && part.sentFor?.readers.includes(reader) === true;
    return [...this.rows.values()].filter(fits).length;
  }

  async relayed(chat: string): Promise<readonly Pick<StoredPart, 'part' | 'platformId'>[]> {
    await this.#commit('part');
    const fits = ({ part, lane, doubtSince }: StoredRow) =>
      part.sentFor !== undefined && doubtSince !== undefined && isLaneOf(lane, chat);
    return [...this.rows.values()].filter(fits);
  }

  async part(key: string): Promise<StoredPart | undefined> {
    await this.#commit('part');
    return this.row(key);
  }

  async pending(lane: string, limit: number): Promise<readonly OutboxRow[]> {
    await this.#commit('pending');
    return [...this.rows.values()].filter((row) => row.lane === lane && row.state === 'PENDING').slice(0, limit);
  }

  async sending(seq: number): Promise<boolean> {
    await this.#commit('sending');
    const row = this.rows.get(seq);
    if (row?.state !== 'PENDING') return false;
    this.rows.set(seq, { ...row, state: 'SENDING', attempts: row.attempts + 1, doubtSince: row.doubtSince ?? this.#clock.now() });
    return true;
  }

  async settle(seq: number, settlement: Settlement): Promise<void> {
    await this.#commit('settle');
    const row = this.rows.get(seq);
    if (!row) throw new Error(`no outbox row ${seq}`);
    const isOpen = row.state === 'PENDING' || row.state === 'SENDING';
    if (!isOpen && !(row.state === 'UNKNOWN' && settlement.kind === 'sent')) return;
    this.rows.set(seq, settled(row, settlement));
    if (settlement.kind === 'sent') this.#markReplaced(settlement.replaces, row.part.key);
  }

  async recover(): Promise<Recovery> {
    const rows = [...this.rows.values()];
    const waiting = rows.filter((row) => row.state === 'PENDING').toReversed();
    const lanes = new Map(waiting.map(({ lane, expiresAt }) => [lane, { lane, expiresAt }]));
    const sending = rows.filter((row) => row.state === 'SENDING');
    const outboxLanes = [...lanes.values()].toReversed();
    return { resumed: 0, buried: 0, expired: 0, unheard: [], left: [], sending, lanes: [], outboxLanes };
  }

  readonly chats: Journal['chats'] = { of: outboxOnly, firstAccount: outboxOnly, find: outboxOnly, named: outboxOnly };
  readonly dead: Journal['dead'] = { list: outboxOnly, show: outboxOnly, replay: outboxOnly, drop: outboxOnly };
  readonly jobs: Journal['jobs'] = {
    ...{ list: outboxOnly, get: outboxOnly, due: outboxOnly, earliest: outboxOnly, fired: outboxOnly, counts: outboxOnly },
  };
  readonly children: Journal['children'] = { counts: outboxOnly, tokens: outboxOnly };
  readonly goneTopics: Journal['goneTopics'] = { unused: outboxOnly, isGone: outboxOnly, removed: outboxOnly };
  readonly prompted: Journal['prompted'] = { of: outboxOnly };
  readonly processes: Journal['processes'] = { left: outboxOnly };
  readonly record: Journal['record'] = {
    effects: outboxOnly,
    note: () => undefined,
    of: outboxOnly,
    after: outboxOnly,
    before: outboxOnly,
    latestAt: outboxOnly,
    about: outboxOnly,
    asked: outboxOnly,
  };
  readonly tasks: Journal['tasks'] = {
    ...{ list: outboxOnly, get: outboxOnly, children: outboxOnly, countOpen: outboxOnly, taintTold: outboxOnly },
  };
  readonly wakeup: Journal['wakeup'] = { notify: outboxOnly, listen: outboxOnly };
  readonly waits: Journal['waits'] = {
    ...{ of: outboxOnly, find: outboxOnly, byCode: outboxOnly, questions: outboxOnly, parked: outboxOnly },
    ...{
      granted: outboxOnly,
      waiting: outboxOnly,
      heldHistory: outboxOnly,
      isBesideUnderWay: outboxOnly,
      unfinished: outboxOnly,
      earliest: outboxOnly,
      due: outboxOnly,
    },
  };
  readonly commit = outboxOnly;
  readonly accept = outboxOnly;
  readonly room = outboxOnly;
  readonly load = outboxOnly;
  readonly cursor = outboxOnly;
  readonly waiting = outboxOnly;
  readonly claim = outboxOnly;
  readonly release = outboxOnly;
  readonly cancelled = outboxOnly;
  readonly steps = outboxOnly;
  readonly step = outboxOnly;
  readonly finish = outboxOnly;
  readonly sessionOf = outboxOnly;
  readonly unflushed = outboxOnly;
  readonly flushed = outboxOnly;
  readonly counts = outboxOnly;
  readonly filesInUse = outboxOnly;
  readonly work = outboxOnly;
  readonly usage = outboxOnly;
  readonly spend = outboxOnly;
  readonly spending = outboxOnly;
  readonly onOutsideChange = outboxOnly;

  async [Symbol.asyncDispose](): Promise<void> {
    this.#killed = true;
  }

  #markReplaced(key: string | undefined, by: string): void {
    const old = key === undefined ? undefined : this.row(key);
    if (old) this.rows.set(old.seq, { ...old, replacedBy: by });
  }

  /** One turn of the event loop, as a commit takes; never ends once the process is dead. */
  async #commit(write: Write): Promise<void> {
    if (this.#killed) return new Promise(() => undefined);
    await Promise.resolve();
    const left = this.#failing.get(write) ?? 0;
    if (left === 0) return;
    this.#failing.set(write, left - 1);
    throw new GatehouseError('GH1301', `the journal cannot be written (${write})`);
  }
}

function settled(row: StoredRow, settlement: Settlement): StoredRow {
  switch (settlement.kind) {
    case 'sent':
      return { ...row, state: 'SENT', platformId: settlement.platformId };
    case 'retry': {
      const { doubtSince: _, ...rest } = row;
      return {
        ...rest,
        ...(settlement.doubtSince === undefined ? {} : { doubtSince: settlement.doubtSince }),
        state: 'PENDING',
        attempts: Math.max(0, row.attempts - (settlement.uncounted ? 1 : 0)),
        notBefore: settlement.notBefore,
        plain: settlement.plain || row.plain,
        ...(settlement.asNew && { part: withoutEdits(row.part), attempts: 0 }),
      };
    }
    case 'unknown':
      return { ...row, state: 'UNKNOWN', reason: settlement.reason };
    case 'dead':
      return { ...row, state: 'DEAD', reason: settlement.reason };
    case 'expired':
      return { ...row, state: 'EXPIRED' };
  }
}

function withoutEdits({ edits: _, ...part }: OutboundPart): OutboundPart {
  return part;
}

function outboxOnly(): never {
  throw new Error('the memory journal keeps the outbox only');
}
