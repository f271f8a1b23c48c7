/**
 * What a run is judged by that waits: who answers its question, and which model calls were on disk when it
 * was killed.
 */
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Platform } from '../../simulator/platforms/platform.ts';

/** A request that parks on three children, a person and a timer; see `SweepModel`. */
export const WAITING_QUESTION = 'waits 1';
/** Rows that such a request ends as: its own, three children, and the answer of the person. */
export const WAITING_ROWS = 5;

/** For `RunSpec`. */
export function waitsOf(questions: readonly string[]): { readonly waits?: true } {
  return questions.includes(WAITING_QUESTION) ? { waits: true } : {};
}

/** A code is new each time, and time passes. */
export function withoutCodes(text: string): string {
  return text.replaceAll(/\/(allow|deny) [A-Z2-9]{6}/g, '/$1 CODE').replaceAll(/within \d+ minutes/g, 'within N minutes');
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

function openCodes(path: string): readonly string[] {
  try {
    using db = new DatabaseSync(path, { readOnly: true, timeout: 1_000 });
    const rows = db.prepare("SELECT code FROM wait WHERE state = 'OPEN' AND code IS NOT NULL").all();
    return rows.map((row) => String(row['code']));
  } catch {
    return []; // not made yet, or just being opened
  }
}

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
        Array.from({ length: state === 'DONE' ? 2 : Number(calls) }, (_, n) => `${text}:${n}`),
      ),
    );
  } catch {
    return new Set(); // killed before there was a journal
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
