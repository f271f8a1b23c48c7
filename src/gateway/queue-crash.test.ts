// Random schedules of queue modes on a journal on disk, with a crash between any two commits.
import { expect, test } from 'vitest';
import type { Journal } from '../core/journal.ts';
import { QUEUE_MODES, type QueueMode } from '../core/queueing.ts';
import type { Admission, RunRow } from '../core/run.ts';
import { openJournal } from '../journal/open.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { isFullLoad } from '../testing/full-load.ts';
import { LANE, message, SESSION } from '../testing/journal-rows.ts';
import { duringOf, planTurn } from './queue-mode.ts';

const SCHEDULES = isFullLoad() ? 60 : 4;
const OPS = 40;
const BOUNDS = { maxAttempts: 10_000, maxAgeMs: 1e12 };
const PEOPLE = ['ann', 'ann', 'ben'];

/** What a turn in this process knows; gone with a crash. */
interface Turn {
  readonly row: RunRow;
  seen: number;
}

function numbers(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

class Schedule {
  readonly #mode: QueueMode;
  readonly #pick: (below: number) => number;
  readonly #open: () => Promise<Journal>;
  #journal: Journal;
  #turns = new Map<string, Turn>();
  #said = 0;
  #step = 0;
  /** Words of each answer, in order. */
  readonly answers: string[][] = [];
  readonly #parked = new Set<string>();

  constructor(mode: QueueMode, pick: (below: number) => number, journal: Journal, open: () => Promise<Journal>) {
    this.#mode = mode;
    this.#pick = pick;
    this.#journal = journal;
    this.#open = open;
  }

  async play(): Promise<void> {
    for (let n = 0; n < OPS; n += 1) {
      await [this.#say, this.#say, this.#start, this.#start, this.#look, this.#finish, this.#park, this.#settle][
        this.#pick(8)
      ]?.call(this);
      if (this.#pick(5) === 0) await this.#crash();
    }
    // The rest of the day is quiet.
    for (let quiet = 0; quiet < 3; ) {
      const before = this.answers.length;
      await this.#settle();
      await this.#start();
      await this.#look();
      await this.#finish();
      const { inbox } = await this.#journal.counts();
      quiet = inbox.NEW + inbox.RUNNING + inbox.PARKED === 0 && before === this.answers.length ? quiet + 1 : 0;
    }
  }

  async fates(): Promise<ReadonlyMap<string, string>> {
    const fates = new Map<string, string>();
    for (let n = 1; n <= this.#said; n += 1) {
      const about = await this.#journal.record.about(message(n).id);
      fates.set(`w${n}`, about?.run?.outcome?.replace(/:.*/, '') ?? 'lost');
    }
    return fates;
  }

  async #say(): Promise<void> {
    this.#said += 1;
    const senderId = PEOPLE[this.#pick(PEOPLE.length)] ?? '';
    const said = message(this.#said, { senderId, text: `w${this.#said}`, isGroup: true });
    const during = duringOf({ mode: this.#mode, debounceMs: 0 }, senderId === 'ben', () => []);
    const admission: Admission = { kind: 'admit', message: said, lane: LANE, session: SESSION, ...(during ? { during } : {}) };
    const [accepted] = await this.#journal.accept([admission]);
    if (accepted?.kind === 'new') for (const { row } of accepted.interrupted ?? []) this.#turns.delete(row.lane);
  }

  async #start(): Promise<void> {
    const { lanes } = await this.#journal.work();
    const lane =
      lanes.filter((one) => !this.#turns.has(one))[this.#pick(Math.max(1, lanes.length))] ??
      lanes.find((one) => !this.#turns.has(one));
    if (lane === undefined) return;
    const rows = await this.#journal.waiting(lane, 200);
    const [first] = rows;
    if (!first) return;
    const plan = lane === LANE ? planTurn({ mode: this.#mode, debounceMs: 0 }, rows) : undefined;
    const row = await this.#journal.claim(plan?.lead ?? first.seq, undefined, plan);
    if (row) this.#turns.set(lane, { row, seen: await this.#seenBy(row) });
  }

  async #seenBy({ seq }: RunRow): Promise<number> {
    const steps = await this.#journal.steps(seq);
    return Math.max(0, ...steps.map(({ value }) => Number((value as { notes?: number } | undefined)?.notes ?? 0)));
  }

  /** A model call that reads what was said meanwhile. */
  async #look(): Promise<void> {
    const turn = this.#one();
    if (!turn) return;
    const told = await this.#notes(turn.row);
    this.#step += 1;
    const value = { notes: told.length };
    if (await this.#journal.step(turn.row.seq, turn.row.generation, { n: this.#step, kind: 'model', state: 'DONE', value }))
      turn.seen = told.length;
  }

  async #finish(): Promise<void> {
    const turn = this.#one();
    if (!turn) return;
    const { row, seen } = turn;
    const { seq, generation } = row;
    const told = (await this.#notes(row)).slice(0, seen);
    const done = await this.#journal.finish({
      seq,
      generation,
      state: 'DONE',
      outcome: 'answered',
      lines: [],
      parts: [],
      notes: seen,
    });
    this.#turns.delete(row.lane);
    if (done) this.answers.push([row.message?.text ?? '', ...(row.message?.queued ?? []).map(({ text }) => text), ...told]);
  }

  async #park(): Promise<void> {
    const turn = this.#one();
    if (!turn) return;
    const { row, seen: notes } = turn;
    const about = `signal of ${row.seq} ${this.#step}`;
    const waits = [{ callId: about, kind: 'signal', about }] as const;
    const { seq, generation } = row;
    const end = { state: 'PARKED', outcome: 'parked', waits, historyTo: '', notes } as const;
    if (await this.#journal.commit([], { seq, generation, end })) this.#parked.add(about);
    this.#turns.delete(row.lane);
  }

  async #settle(): Promise<void> {
    const [wait] = this.#parked;
    if (wait === undefined) return;
    this.#parked.delete(wait);
    await this.#journal.commit([{ kind: 'settle', settled: { wait, value: { ok: true, output: '' }, by: 'test' } }]);
  }

  async #crash(): Promise<void> {
    this.#turns = new Map();
    this.#journal = await this.#open();
    await this.#journal.recover(BOUNDS, () => []);
  }

  async #notes({ seq }: RunRow): Promise<readonly string[]> {
    const steps = await this.#journal.steps(seq);
    return steps.flatMap(({ kind, value }) => {
      const { text } = (value ?? {}) as { text?: string };
      return kind === 'note' && text !== undefined ? [text.replace(/^.*(w\d+)$/s, '$1')] : [];
    });
  }

  #one(): Turn | undefined {
    const turns = [...this.#turns.values()];
    return turns[this.#pick(Math.max(1, turns.length))];
  }
}

/**
 * What may become of a message in each mode; `answered` is every one in whose words an answer was given,
 * once.
 */
const FATES: Readonly<Record<QueueMode, readonly string[]>> = {
  followup: ['answered'],
  collect: ['answered', 'merged'],
  steer: ['answered', 'steered', 'superseded'],
  interrupt: ['answered', 'superseded', 'interrupted'],
  speculative: ['answered', 'busy'],
};
const ANSWERED = ['answered', 'merged', 'steered'];

test.each(QUEUE_MODES)(
  `%s: ${SCHEDULES} random schedules with crashes between commits: every message comes to one end, and is in one answer`,
  async (mode) => {
    for (let seed = 1; seed <= SCHEDULES; seed += 1) {
      await using dir = await tempDir();
      const clock = new FakeClock();
      const opened: AsyncDisposable[] = [];
      const open = async (): Promise<Journal> => {
        const next = await openJournal({ dir: dir.path, clock, remains: () => ({ lines: [], tools: [] }) });
        opened.push(next);
        return next.journal;
      };
      const schedule = new Schedule(mode, numbers(seed), await open(), open);
      await schedule.play();
      const fates = await schedule.fates();
      const answered = schedule.answers.flat().toSorted();
      const expected = [...fates].filter(([, fate]) => ANSWERED.includes(fate)).map(([words]) => words);
      expect([seed, answered]).toEqual([seed, expected.toSorted()]);
      expect([seed, [...fates.values()].filter((fate) => !FATES[mode].includes(fate))]).toEqual([seed, []]);
      for (const one of opened) await one[Symbol.asyncDispose]();
    }
  },
);
