import { open, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { GatehouseError } from '../core/errors.ts';
import type { Clock } from '../core/ports.ts';
import type { ToolResult } from '../core/tool.ts';
import { createPrivateFile, Database, journalError } from './database.ts';
import { COPIED_AT } from './served-jobs.ts';

const REASON = 'restored from a backup: it may have been dealt with since';
const WITHDRAWN: ToolResult = { ok: false, output: `Error: ${REASON}` };

/**
 * Writes one consistent, self-contained file while the journal is in use; an older backup of that name is
 * replaced at the end, in one step. What was in flight when the copy was made lies in it as dead letters,
 * because by the time it is restored the running daemon has long answered those messages and sent those
 * parts: nothing is sent a second time unless the operator says `dead replay` (F48). What waited then is in
 * flight, too, and its waits are over in the copy. Jobs are as they were: `skipServed` passes over what fell
 * due before the first start. To move a stopped installation, copy its files instead.
 */
export async function backupJournal(source: string, target: string, clock: Clock): Promise<void> {
  if (resolve(target) === resolve(source)) throw new GatehouseError('GH1301', 'the journal cannot be backed up onto itself');
  const draft = `${target}.partial`;
  try {
    await rm(draft, { force: true });
    await copyDatabase(source, draft);
    settleInFlight(draft, clock.now());
    await syncFile(draft);
    await rename(draft, target);
    await syncFile(dirname(resolve(target)));
  } catch (error) {
    await rm(draft, { force: true });
    throw backupError(target, error);
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

/** Nothing of the live journal failed, so this must not look like GH1302 of the journal itself. */
function backupError(target: string, error: unknown): GatehouseError {
  const { message } = journalError(error);
  return new GatehouseError('GH1301', `no backup was written to ${target}: ${message}`, {
    hint: 'check that its directory exists and has room',
    cause: error,
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
