/**
 * What a run is judged by that waits: who answers its question, and which model calls were on disk when it
 * was killed.
 */
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Platform, SeenMessage } from '../../simulator/platforms/platform.ts';
import { ALLOWED_QUESTION } from './hands.ts';

/** A request that parks on three children, a person and a timer; see `SweepModel`. */
export const WAITING_QUESTION = 'waits 1';
/** A request that parks on three sub-agents and begins a fourth in the background. */
export const SUBAGENTS_QUESTION = 'subagents 1';

/** What a request that waits is judged by. */
export interface Waiting {
  /** Rows that it ends as. */
  readonly rows: number;
  /** What arrived, without what differs from run to run. */
  readonly known: (seen: readonly SeenMessage[]) => readonly SeenMessage[];
}

const withoutChance = (seen: readonly SeenMessage[]) => seen.map((one) => ({ ...one, text: withoutCodes(one.text) }));

const WAITING: Readonly<Record<string, Waiting>> = {
  // Its own, three children, and the answer of the person.
  [WAITING_QUESTION]: { rows: 5, known: withoutChance },
  // Its own, and the yes of the person.
  [ALLOWED_QUESTION]: { rows: 2, known: withoutChance },
  // Its own, three that it waits for, the one in the background, and the run that tells of that one.
  [SUBAGENTS_QUESTION]: { rows: 6, known: inAnyOrder },
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

/** The kind and the number of a question, in whatever a run is asked. */
export function questionIn(text: string): readonly [kind: string, n: string] | undefined {
  const [, kind, n] = /\b(plain|tool|long|waits|hands|allowed|subagents|report) (\d+)/.exec(text) ?? [];
  return kind === undefined || n === undefined ? undefined : [kind, n];
}

/** A code is new each time, time passes, and a write that was cut off may have left its file. */
function withoutCodes(text: string): string {
  return text
    .replaceAll(/\/(allow|deny) [A-Z2-9]{6}/g, '/$1 CODE')
    .replaceAll(/within \d+ (minutes|hours)/g, 'within N $1')
    .replaceAll(/as its \d+ files are now/g, 'as its N files are now');
}

/** The person whom a run asks: answers each question once, and again what the platform lost. */
export class Answering {
  readonly #platform: Platform;
  readonly #said = new Set<string>();

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  /** Looks once at the journal of a daemon that runs. */
  async look(dataDir: string): Promise<void> {
    const lost = new Set((await this.#platform.notOffered?.()) ?? []);
    for (const code of openCodes(join(dataDir, 'journal.db'))) {
      const text = `/allow ${code}`;
      if (this.#said.has(text) && !lost.has(text)) continue;
      this.#said.add(text);
      await this.#platform.write(0, text);
    }
  }
}

/** No person answers what they were not asked yet; and a question that is over is not sent any more. */
const OPEN_AND_PUT = `SELECT code FROM wait WHERE state = 'OPEN' AND code IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM outbox WHERE outbox.state IN ('PENDING', 'SENDING')
    AND (instr(outbox.key, wait.id || '#') > 0 OR instr(outbox.key, '#owner/ask/' || wait.code || '#') > 0))`;

function openCodes(path: string): readonly string[] {
  try {
    using db = new DatabaseSync(path, { readOnly: true, timeout: 1_000 });
    const rows = db.prepare(OPEN_AND_PUT).all();
    return rows.map((row) => String(row['code']));
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
  } catch {
    return new Set(); // killed before there was a journal
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
