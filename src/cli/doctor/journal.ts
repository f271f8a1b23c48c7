import { access, constants, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isGatehouseError } from '../../core/errors.ts';
import { journalError } from '../../journal/database.ts';
import { refuseEmptied } from '../../journal/emptied.ts';
import { LATEST_EVENT_AT } from '../../journal/record.ts';
import { counted } from '../../lib/counted.ts';
import { isErrno } from '../../lib/errno.ts';
import { withJournal } from '../read-journal.ts';
import { bad, type Check, ok, skip, warn } from './check.ts';

/** A larger one takes longer to read than a person waits for it. */
const READ_WHOLE = 256 * 2 ** 20;
/** Clocks of other machines, from which platforms take their times, are a little off. ms. */
const CLOCK_OFF_MS = 5 * 60_000;

/** Reads the whole file, without a lock. What SQLite says of it; undefined where it is sound. */
async function quickCheck(path: string): Promise<string | undefined> {
  const said = await ask(path, 'PRAGMA quick_check(1)');
  return said === 'ok' ? undefined : String(said);
}

/** The one value that a statement returns. */
async function ask(path: string, sql: string): Promise<unknown> {
  const { DatabaseSync } = await import('node:sqlite');
  const db = new DatabaseSync(path, { readOnly: true, timeout: 1_000 });
  try {
    return Object.values(db.prepare(sql).get() ?? {})[0];
  } finally {
    db.close();
  }
}

export const journalCheck: Check = {
  id: 'journal',
  title: 'The journal is a sound database (up to 256 MB of it are read).',
  async run({ dataDir }) {
    const path = join(dataDir, 'journal.db');
    for (const suffix of ['', '-wal', '-shm']) await mustBeOurs(path + suffix);
    try {
      const { size } = await stat(path);
      await refuseEmptied(path);
      const megabytes = `${Math.ceil(size / 2 ** 20)} MB`;
      if (size > READ_WHOLE) return skip(`${megabytes} are too much to read now`);
      const problem = await quickCheck(path);
      return problem === undefined ? ok(megabytes) : damaged(problem);
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return skip('there is none yet');
      if (isGatehouseError(error)) return bad(error.message, error.hint);
      // A full disk, or another process that holds the file: a backup in its place would lose what is sound.
      const { code, message, hint } = journalError(error);
      return code === 'GH1301' ? bad(message, hint) : damaged(error instanceof Error ? error.message : String(error));
    }
  },
};

/**
 * SQLite says of a file that it may not open what it says of one that is damaged. Rejects with the system's
 * error.
 */
async function mustBeOurs(path: string): Promise<void> {
  await access(path, constants.R_OK | constants.W_OK).catch((error: unknown) => {
    if (!isErrno(error, 'ENOENT', 'ENOTDIR')) throw error;
  });
}

/** Of a journal that is not there, or that the check `journal` tells of. */
function unread(): undefined {
  return undefined;
}

function damaged(problem: string) {
  return bad(`the journal is damaged: ${problem}`, 'stop the daemon, and restore a backup as docs/upgrade.md says');
}

export const clockCheck: Check = {
  id: 'clock',
  title: 'The clock of this machine is not behind what the journal has recorded.',
  async run({ context, daemon, dataDir }) {
    if (daemon.kind === 'up' && daemon.status.clockMovedMs !== undefined)
      return warn('the clock was set while the daemon ran', 'timedatectl status, then restart the daemon');
    const newest = await ask(join(dataDir, 'journal.db'), LATEST_EVENT_AT).catch(unread);
    if (typeof newest !== 'number') return skip('nothing is recorded yet');
    const ahead = newest - context.deps.clock.now();
    if (ahead < CLOCK_OFF_MS) return ok('it goes on from what is recorded');
    const minutes = Math.round(ahead / 60_000);
    return bad(`the clock is ${minutes} minutes behind the newest record`, 'set the clock: timedatectl set-ntp true');
  },
};

export const letters: Check = {
  id: 'dead-letters',
  title: 'No message or answer was given up.',
  async run({ context }) {
    const counts = await withJournal(context, async ({ journal }) => await journal.counts());
    if (!counts) return skip('there is no journal yet');
    const given = counts.inbox.DEAD + counts.outbox.DEAD;
    const doubt = counts.outbox.UNKNOWN;
    if (given + doubt === 0) return ok('none');
    const parts = [
      ...(given > 0 ? [`${counted(given, 'message')} given up`] : []),
      ...(doubt > 0 ? [`${counted(doubt, 'answer')} of which it is not known whether they arrived`] : []),
    ];
    return warn(parts.join(', '), 'gatehouse dead list');
  },
};

export const questionsOpen: Check = {
  id: 'questions',
  title: 'No question waits for your answer.',
  async run({ context }) {
    const open = await withJournal(context, async ({ journal }) => await journal.waits.questions());
    if (!open) return skip('there is no journal yet');
    if (open.length === 0) return ok('none');
    return warn(`${counted(open.length, 'question')} ${open.length === 1 ? 'waits' : 'wait'}`, 'gatehouse questions list');
  },
};
