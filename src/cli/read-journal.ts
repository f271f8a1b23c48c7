import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { GatehouseError } from '../core/errors.ts';
import type { JournalOptions } from '../journal/open.ts';
import { isErrno } from '../lib/errno.ts';
import { type CommandContext, dataDirOf } from './context.ts';
import { askDaemon } from './daemon-status.ts';
import type { OpenJournal } from './deps.ts';
import type { Failure } from './output.ts';

/** Hint where an ID names no message or run (GH1003). */
const NAME_A_RUN =
  'name a key as `gatehouse logs` shows it, in-NUMBER as `gatehouse dead list` shows it, the id of a chat, or `last`';

/** What to say of an ID of which nothing is recorded: of `last`, that there is no message at all. */
export function nothingOf(id: string, dataDir: string, message: string): Failure {
  if (id !== 'last') return { code: 'GH1003', message, hint: NAME_A_RUN };
  return {
    ...{ code: 'GH1003', message: `no message is recorded in ${dataDir}` },
    hint: 'write to the agent, then ask again; the directory of another daemon is named with `--data-dir`',
  };
}

/** `remains`: of a command that ends runs. */
export type OpenOptions = Pick<JournalOptions, 'remains'>;

/**
 * Runs `use` on the journal of the data directory, or of another one; undefined when there is none. A command
 * that looks must not create a data directory as a side effect: the file is looked for before it is opened.
 * Rejects with GH1201 where a daemon of an earlier version runs on an older file: brought up to date, that
 * version could not start on it again.
 */
export async function withJournal<T>(
  context: CommandContext,
  use: (open: OpenJournal) => Promise<T>,
  { dir = dataDirOf(context), ...options }: OpenOptions & { readonly dir?: string } = {},
): Promise<T | undefined> {
  if (!(await exists(join(dir, 'journal.db')))) return undefined;
  const daemon = await askDaemon(dir);
  const open = await context.deps.openJournal({
    ...{ dir, clock: context.deps.clock, checks: false, ...options },
    onUpgrade: ({ from, to, copy }) => {
      if (daemon.kind === 'up')
        throw new GatehouseError(
          'GH1201',
          `gatehouse ${daemon.status.version} runs on this journal, which this version would bring from version ${from} to ${to}`,
          { hint: 'stop it and start this version, or ask with the one that runs' },
        );
      context.out.say(`bringing the journal from version ${from} to ${to}; as it was it stays in ${copy}`);
    },
    onProgress: ({ step, n, of, tookMs }) => context.out.say(`  ${n} of ${of}: ${step} (${Math.round(tookMs / 1_000)} s)`),
  });
  await using _journal = open.journal;
  return await use(open);
}

/** What a command that changes the journal says where there is none. */
export function noJournal(context: CommandContext): GatehouseError {
  return new GatehouseError('GH1003', `there is no journal in ${dataDirOf(context)}, so nothing was changed`, {
    hint: "name the daemon's directory with `--data-dir`",
  });
}

/**
 * The journal, made where there is none: for what may be decided before the daemon ran for the first time.
 */
export async function openOrMake(context: CommandContext, options: OpenOptions = {}): Promise<OpenJournal & AsyncDisposable> {
  // Brings an older file up to date where that may be done.
  await withJournal(context, async () => undefined);
  const { openJournal, clock } = context.deps;
  const opened = await openJournal({ dir: dataDirOf(context), clock, checks: false, ...options });
  return { ...opened, [Symbol.asyncDispose]: () => opened.journal[Symbol.asyncDispose]() };
}

/** Rejects with the system's error where this user may not look. */
export async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if (isErrno(error, 'EACCES', 'EPERM')) throw error;
    return false;
  }
}
