/**
 * What a run is judged by that waits: who answers its question, and which model calls were on disk when it
 * was killed.
 */
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { errorText } from '../../core/errors.ts';
import type { Platform, SeenMessage } from '../../simulator/platforms/platform.ts';
import { ALLOWED_QUESTION } from './hands.ts';

/** A request that parks on three children, a person and a timer; see `SweepModel`. */
export const WAITING_QUESTION = 'waits 1';
/** A request that parks on three sub-agents and begins a fourth in the background. */
export const SUBAGENTS_QUESTION = 'subagents 1';
/** Each parks on three sub-agents: one of the first's fails, and the second is stopped by `/stop`. */
export const ENDED_QUESTIONS: readonly string[] = ['failing 2', 'stopped 3'];

/** What a request that waits is judged by. */
export interface Waiting {
  /** Rows that it ends as. */
  readonly rows: number;
  /** What arrived, without what differs from run to run. */
  readonly known: (seen: readonly SeenMessage[]) => readonly SeenMessage[];
  /** The person who writes `/stop` once their request waits. Absent = none does. */
  readonly stops?: number;
}

const withoutChance = (seen: readonly SeenMessage[]) => seen.map((one) => ({ ...one, text: withoutCodes(one.text) }));

const WAITING: Readonly<Record<string, Waiting>> = {
  // Its own, three children, and the answer of the person.
  [WAITING_QUESTION]: { rows: 5, known: withoutChance },
  // Its own, and the yes of the person.
  [ALLOWED_QUESTION]: { rows: 2, known: withoutChance },
  // Its own, three that it waits for, the one in the background, and the run that tells of that one.
  [SUBAGENTS_QUESTION]: { rows: 6, known: inAnyOrder },
  // Two of them, three of each that they wait for, and what stops the second.
  [ENDED_QUESTIONS[0] ?? '']: { rows: 9, known: inAnyOrder, stops: 1 },
};

/** For `RunSpec`. */
export function waitsOf(questions: readonly string[]): { readonly waits?: Waiting } {
  const waits = WAITING[questions.find((question) => WAITING[question]) ?? ''];
  return waits ? { waits } : {};
}

/**
 * The result from the background may come before the answer or behind it, and a kill may cost a line its last
 * edit.
 */
function inAnyOrder(seen: readonly SeenMessage[]): readonly SeenMessage[] {
  const known = seen.map((one) => ({ ...one, text: withoutProgress(one.text) }));
  return known.toSorted((a, b) => (a.text < b.text ? -1 : 1));
}

function withoutProgress(text: string): string {
  return text.replace(/^\d of 3 sub-agents done: .*$/, 'N of 3 sub-agents done').replaceAll(/\(id [^)]*\)/g, '(id)');
}

const KINDS = /\b(plain|tool|long|waits|hands|allowed|subagents|failing|stopped|report|refused|endless) (\d+)/;

/** The kind and the number of a question, in whatever a run is asked. */
export function questionIn(text: string): readonly [kind: string, n: string] | undefined {
  const [, kind, n] = KINDS.exec(text) ?? [];
  return kind === undefined || n === undefined ? undefined : [kind, n];
}

/** A code is new each time, time passes, and a write that was cut off may have left its file. */
function withoutCodes(text: string): string {
  return text
    .replaceAll(/\/(allow|deny) [A-Z2-9]{6}/g, '/$1 CODE')
    .replaceAll(/within \d+ (minutes|hours)/g, 'within N $1')
    .replaceAll(/as its \d+ files are now/g, 'as its N files are now');
}

/** The people of runs that wait: each says what is due once, and again what the platform lost. */
export class Answering {
  readonly #platform: Platform;
  readonly #stops: number | undefined;
  readonly #said = new Set<string>();

  constructor(platform: Platform, { stops }: Waiting) {
    this.#platform = platform;
    this.#stops = stops;
  }

  /** Looks once at the journal of a daemon that runs. */
  async look(dataDir: string): Promise<void> {
    const lost = new Set((await this.#platform.notOffered?.()) ?? []);
    const path = join(dataDir, 'journal.db');
    const due = textsIn(path, OPEN_AND_PUT).map((code): [person: number, text: string] => [0, `/allow ${code}`]);
    if (this.#stops !== undefined && textsIn(path, TO_STOP).length > 0) due.push([this.#stops, '/stop']);
    for (const [person, text] of due) {
      if (this.#said.has(text) && !lost.has(text)) continue;
      this.#said.add(text);
      await this.#platform.write(person, text);
    }
  }
}

/** No person answers what they were not asked yet; and a question that is over is not sent any more. */
const OPEN_AND_PUT = `SELECT code AS text FROM wait WHERE state = 'OPEN' AND code IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM outbox WHERE outbox.state IN ('PENDING', 'SENDING')
    AND (instr(outbox.key, wait.id || '#') > 0 OR instr(outbox.key, '#owner/ask/' || wait.code || '#') > 0))`;

/** A request that waits. */
const TO_STOP = `SELECT key AS text FROM run WHERE state = 'PARKED' AND input ->> '$.text' LIKE 'stopped %'`;

function textsIn(path: string, sql: string): readonly string[] {
  try {
    using db = new DatabaseSync(path, { readOnly: true, timeout: 1_000 });
    return db
      .prepare(sql)
      .all()
      .map(({ text }) => String(text));
  } catch {
    return []; // not made yet, or just being opened
  }
}

/** Of one run. */
const MOST_CALLS = 4;

/**
 * The model calls that were on disk when the daemon was killed, as `SweepModel` names them: none of them may
 * be made again. Read from a copy, which leaves the files as the kill left them.
 */
export async function recordedCalls(dataDir: string): Promise<ReadonlySet<string>> {
  const dir = await mkdtemp(join(tmpdir(), 'gatehouse-killed-'));
  try {
    for (const name of ['journal.db', 'journal.db-wal'])
      await copyFile(join(dataDir, name), join(dir, name)).catch(() => undefined);
    using db = new DatabaseSync(join(dir, 'journal.db'));
    const rows = db
      .prepare(
        `SELECT input ->> '$.text' AS text, state, (SELECT count(*) FROM step WHERE run_seq = run.seq AND kind = 'model') AS calls
         FROM run WHERE text NOT LIKE '/%'`,
      )
      .all();
    return new Set(
      rows.flatMap(({ text, state, calls }) =>
        // The steps of what is over are not kept.
        Array.from(
          { length: state === 'DONE' ? MOST_CALLS : Number(calls) },
          (_, n) => `${questionIn(String(text))?.join(' ')}:${n}`,
        ),
      ),
    );
  } catch (error) {
    // Killed before the journal was made, or before its tables were. Of any other journal nothing may be
    // taken for no calls: then none could be paid for again.
    if (/no such table: (run|step)$/.test(errorText(error))) return new Set();
    throw error;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
