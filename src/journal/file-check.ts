import { type ChildProcess, spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { errorText } from '../core/errors.ts';
import { Database, journalError } from './database.ts';

const LOWEST_PRIORITY = 19;

export type FileState =
  | { readonly kind: 'sound' }
  | { readonly kind: 'damaged'; readonly detail: string }
  /** Nothing was found out. */
  | { readonly kind: 'failed'; readonly detail: string };

/**
 * What SQLite finds first in the tables and their indexes, e.g. `Tree 5 page 12: free space corruption`; '' =
 * nothing. Throws as SQLite does.
 */
function findDamage(db: Database): string {
  const tables = db.all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
  // One table at a time: a read of the whole file would keep the log from being emptied meanwhile.
  for (const { name } of tables) {
    const [found] = db.all<{ quick_check: string }>(`PRAGMA quick_check('${name.replaceAll("'", "''")}')`);
    if (found && found.quick_check !== 'ok') return found.quick_check.split('\n')[0] ?? '';
  }
  return '';
}

/**
 * Checks a file in a process of its own. SQLite checks a table in one go, a minute long where it is large and
 * not in memory: here that would stand in the way of every message, and a thread could not be ended in the
 * middle.
 */
export class FileCheck implements Disposable {
  readonly state: Promise<FileState>;
  readonly #child: ChildProcess;

  constructor(path: string) {
    const program = `(await import(${JSON.stringify(import.meta.url)})).checkHere(${JSON.stringify(path)})`;
    this.#child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'ignore'] });
    this.state = stateFrom(this.#child);
  }

  /** Ends the check at once. `state` is `failed` then. */
  [Symbol.dispose](): void {
    this.#child.kill('SIGKILL');
  }
}

async function stateFrom(child: ChildProcess): Promise<FileState> {
  const failure = new Promise<FileState>((resolve) => {
    child.once('error', (error) => resolve({ kind: 'failed', detail: errorText(error) }));
  });
  const printed = child.stdout ? text(child.stdout) : Promise.resolve('');
  const said = printed.then((line): FileState => {
    if (line === 'sound') return { kind: 'sound' };
    const damage = /^damaged (.+)/s.exec(line)?.[1];
    return damage ? { kind: 'damaged', detail: damage } : { kind: 'failed', detail: 'the process that checks it ended early' };
  });
  return await Promise.race([failure, said]);
}

/** @public The work of the other process, which imports this file: prints the result and ends. */
export function checkHere(path: string): void {
  setPriority(LOWEST_PRIORITY);
  using db = new Database(path, { readOnly: true, busyMs: 5_000 });
  let damage: string;
  try {
    damage = findDamage(db);
  } catch (error) {
    if (journalError(error).code !== 'GH1302') throw error;
    damage = errorText(error);
  }
  process.stdout.write(damage === '' ? 'sound' : `damaged ${damage}`);
}
