// change of a session -> the running daemon, as a run; without one -> the files, under the directory's lock
import { randomBytes } from 'node:crypto';
import { openJsonlStore } from '../../sessions/jsonl-store.ts';
import { GatehouseError } from '../core/errors.ts';
import { changeRun, type SessionChange } from '../core/session-change.ts';
import { lockDataDir } from '../journal/lock.ts';
import { givingToOwner } from '../lib/give-to-owner.ts';
import { changeSession } from '../runs/session-changes.ts';
import { Transcripts } from '../runs/transcripts.ts';
import { OPERATOR } from '../schedule/file.ts';
import { type CommandContext, dataDirOf } from './context.ts';
import { askDaemon } from './daemon-status.ts';
import type { OpenJournal } from './deps.ts';
import { openOrMake, withJournal } from './read-journal.ts';

/** How long the daemon is waited for. It also does later what it was asked for, once the turn is over. */
const WAIT_MS = 20_000;
const LOOK_EVERY_MS = 100;

/** `text`: what was done, in words; absent = the daemon does it once the turn of the session is over. */
export type Changed = { readonly ok: true; readonly text?: string } | { readonly ok: false; readonly text: string };

/**
 * One result for each change, in order. Rejects with GH1201 where something else has the data directory, and
 * where the daemon is of another version, which would not understand.
 */
export async function changeSessions(context: CommandContext, changes: readonly SessionChange[]): Promise<readonly Changed[]> {
  const daemon = await askDaemon(dataDirOf(context));
  if (daemon.kind === 'down') return await changeFiles(context, changes);
  if (daemon.status.version !== context.deps.version)
    throw new GatehouseError('GH1201', `gatehouse ${daemon.status.version} runs on this data directory`, {
      hint: `restart it: this command is of version ${context.deps.version}`,
    });
  const done = await withJournal(context, ({ journal }) => askFor(context, changes, journal));
  return done ?? (await changeFiles(context, changes));
}

async function askFor(
  { deps: { clock } }: CommandContext,
  changes: readonly SessionChange[],
  journal: OpenJournal['journal'],
): Promise<readonly Changed[]> {
  const runs = changes.map((change) =>
    changeRun(change, { id: randomBytes(8).toString('hex'), authority: OPERATOR, now: clock.now() }),
  );
  await journal.commit(runs.map((run) => ({ kind: 'run', run })));
  const until = clock.monotonic() + WAIT_MS;
  const results: Changed[] = [];
  for (const { key } of runs) {
    let run = await journal.prompted.of(key);
    for (; run?.outcome === undefined && clock.monotonic() < until; run = await journal.prompted.of(key))
      await clock.sleep(LOOK_EVERY_MS, new AbortController().signal);
    const text = run?.result?.output ?? run?.outcome;
    if (run?.outcome === undefined || text === undefined) results.push({ ok: true });
    else results.push({ ok: run.result?.ok === true, text: text.replace(/^Error: /, '') });
  }
  return results;
}

async function changeFiles(context: CommandContext, changes: readonly SessionChange[]): Promise<readonly Changed[]> {
  const { clock } = context.deps;
  const dir = dataDirOf(context);
  await using _lock = await lockDataDir(dir, clock);
  await using _given = givingToOwner(dir, 'users');
  await using opened = await openOrMake(context);
  const errors: unknown[] = [];
  const store = openJsonlStore({
    dir,
    clock,
    onDamage: ({ quarantine }) => context.out.say(`damaged lines are in ${quarantine}`),
  });
  await using transcripts = new Transcripts({ journal: opened.journal, store, clock, onError: (error) => errors.push(error) });
  const results: Changed[] = [];
  for (const change of changes) results.push({ ok: true, text: await changeSession(change, transcripts) });
  return results;
}
