import { open, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { GatehouseError } from '../core/errors.ts';
import type { Clock } from '../core/ports.ts';
import type { ToolResult } from '../core/tool.ts';
import { createPrivateFile, Database, journalError, sqliteCode } from './database.ts';
import { COPIED_AT } from './served-jobs.ts';

const REASON = 'restored from a backup: it may have been dealt with since';
const WITHDRAWN: ToolResult = { ok: false, output: `Error: ${REASON}` };

/**
 * Writes one consistent, self-contained file while the journal is in use; an older backup of that name is
 * replaced at the end, in one step. What was in flight when the copy was made lies in it as dead letters,
 * because by the time it is restored the running daemon has long answered those messages and sent those
 * parts: nothing is sent a second time unless the operator says `dead replay` (F48). What waited then is in
 * flight, too, and its waits are over in the copy. Jobs are as they were: `skipServed` passes over what fell
 * due before the first start. To move a stopped installation, copy its files instead. Rejects with GH1302
 * where the copy is no sound database, since no daemon starts on such a one, and GH1301 where it cannot be
 * written; an older backup stays then.
 */
export async function backupJournal(source: string, target: string, clock: Clock): Promise<void> {
  if (resolve(target) === resolve(source)) throw new GatehouseError('GH1301', 'the journal cannot be backed up onto itself');
  const draft = `${target}.partial`;
  try {
    await rm(draft, { force: true });
    await copyDatabase(source, draft);
    settleInFlight(draft, clock.now());
    const damage = damageOf(draft);
    if (damage !== '') throw damagedError(source, damage);
    await syncFile(draft);
    await rename(draft, target);
    await syncFile(dirname(resolve(target)));
  } catch (error) {
    for (const suffix of ['', '-journal']) await rm(`${draft}${suffix}`, { force: true });
    throw backupError(source, target, error);
  }
}

/**
 * A consistent copy of a database of ours, in a new private file, while others write to it. Rejects with
 * SQLite's error.
 */
export async function copyDatabase(source: string, target: string): Promise<void> {
  await createPrivateFile(target);
  using from = new Database(source, { readOnly: true, busyMs: 5_000 });
  await from.copyTo(target);
}

/** What SQLite finds first in a file that no other process uses; '' = nothing. About 2 s for each GB. */
export function damageOf(path: string): string {
  using copy = new Database(path, { busyMs: 0 });
  const found = copy.get<{ quick_check: string }>('PRAGMA quick_check(1)')?.quick_check ?? 'ok';
  return found === 'ok' ? '' : (found.split('\n').find((line) => !line.startsWith('***')) ?? found);
}

/** CORRUPT and NOTADB. */
const DAMAGED = [11, 26];
/** FULL and READONLY; IOERR_WRITE, _FSYNC, _DIR_FSYNC and _TRUNCATE. The source is only read. */
const UNWRITABLE = [8, 13];
const IOERR_OF_WRITE = [778, 1034, 1290, 1546];

/** Whether `copyDatabase` failed because of its target. */
export function isOfTarget(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === undefined || UNWRITABLE.includes(code & 0xff) || IOERR_OF_WRITE.includes(code);
}

function backupError(source: string, target: string, error: unknown): GatehouseError {
  if (error instanceof GatehouseError) return error;
  const { message } = journalError(error);
  if (DAMAGED.includes((sqliteCode(error) ?? 0) & 0xff)) return damagedError(source, message, error);
  // Nothing of the live journal failed, so this must not look like GH1302 of the journal itself.
  return new GatehouseError('GH1301', `no backup was written to ${target}: ${message}`, {
    hint: 'check that its directory exists and has room',
    cause: error,
  });
}

function damagedError(source: string, found: string, cause?: unknown): GatehouseError {
  return new GatehouseError('GH1302', `${source} is damaged, and no backup of it was written: ${found}`, {
    hint: 'keep older backups, stop the daemon and check the disk; docs/upgrade.md says what then, under "A damaged journal"',
    cause,
  });
}

function settleInFlight(path: string, now: number): void {
  using copy = new Database(path, { busyMs: 0 });
  // A rollback journal leaves one file; opening it as a journal turns WAL on again.
  copy.exec('PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; BEGIN IMMEDIATE');
  copy.run(
    `UPDATE wait SET state = 'SETTLED', value = ?, by = 'restored', settled_at = ?
     WHERE state = 'OPEN' AND run IN (SELECT seq FROM run WHERE state = 'PARKED')`,
    JSON.stringify(WITHDRAWN),
    now,
  );
  copy.run(
    "UPDATE run SET state = 'DEAD', outcome = ?, finished_at = ?, boot_id = NULL WHERE state IN ('NEW', 'RUNNING', 'PARKED')",
    REASON,
    now,
  );
  copy.run(
    "UPDATE outbox SET state = 'DEAD', reason = ?, settled_at = ?, boot_id = NULL WHERE state IN ('PENDING', 'SENDING')",
    REASON,
    now,
  );
  copy.run(
    'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    COPIED_AT,
    now,
  );
  copy.exec('COMMIT');
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r');
  await file.sync();
  await file.close();
}
