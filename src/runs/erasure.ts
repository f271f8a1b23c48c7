// an erasure that was begun in the journal -> rows -> sessions, one after the other -> files -> ids -> free
// pages
//   A kill anywhere leaves the row of the erasure, and the next start or call does all of it again.
import { existsSync } from 'node:fs';
import { readdir, readFile, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { encodeName, splitKey, userDirectory, userWorkspaces } from '../../sessions/file-name.ts';
import { callsOf } from '../core/call-key.ts';
import type { Erasure, Erasures, Theirs } from '../core/erasure.ts';
import { archivedSession, principalOf, sessionOfArchive } from '../core/ids.ts';
import type { Clock } from '../core/ports.ts';
import type { SessionMessage, SessionStore } from '../core/session.ts';
import { writeFileAtomic } from '../lib/atomic-file.ts';
import { isErrno, orNone } from '../lib/errno.ts';
import { removeTree } from '../lib/remove-tree.ts';
import { eraseFilesOfCalls } from './call-files.ts';
import { eraseRule, isNamedBy, knownFrom, type LineRule, wordsRule } from './erase-lines.ts';
import { eraseFiles, leftName, madeFiles, type SessionLines, workspaceOf } from './made-files.ts';
import { isNoText, type SearchOptions } from './search-files.ts';
import { removeStrays } from './stray-files.ts';
import { sessionWorkspacePath } from './workspace.ts';
import { eraseUploads, eraseWritten, writtenPaths } from './written-files.ts';

/** How long words that tell the person may take to leave. */
const TELLING_MS = 30_000;
const LOOK_MS = 100;
/** Tries to empty the log of the database, while others read. */
const CLEAN_TRIES = 50;
/** A copy for an answer that a turn has just made is named by no row yet. */
const YOUNG_MS = 3_600_000;

/** Of groups, below the data directory: they stay. */
export interface LeftFiles {
  /** They hold words of the person, and others may have a part in them. */
  readonly left: readonly string[];
  /** See `MadeFiles.unsearched`. */
  readonly unsearched: readonly string[];
}

export interface ErasureOptions {
  readonly erasures: Erasures;
  readonly store: SessionStore;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Runs `work` while no turn of the session does and no line moves into its file. */
  readonly apart: (session: string, work: () => Promise<void>) => Promise<void>;
  /** Nothing else works on this data directory. */
  readonly isAlone: boolean;
  readonly onLeft: (files: LeftFiles) => void;
  readonly onSearch?: SearchOptions['onProgress'];
  /** What is in memory of them ends: turns, and what was said in groups. */
  readonly forget: (erasure: Erasure) => Promise<void>;
}

/** Does all that is left of it. Rejects as the disk and the journal do; then it is to be done again. */
export async function finishErasure(begun: Erasure, options: ErasureOptions): Promise<void> {
  let erasure = begun;
  if (erasure.stage === 'words') {
    await options.forget(erasure);
    if (!options.isAlone) await told(erasure, options);
    erasure = await withLines(erasure, options);
    const theirs = theirsOf(erasure);
    const made = await eraseMade(erasure, options);
    const left = [...new Set([...(erasure.left ?? []), ...made.left])];
    const unsearched = [...new Set([...(erasure.unsearched ?? []), ...made.unsearched])];
    const rule = (said: readonly string[]) => wordsRule(theirs, erasure.key, said);
    erasure = await options.erasures.eraseRows({ ...erasure, left, unsearched }, rule);
    const { files, ...sum } = await eraseSessions(erasure, options);
    const counts = { ...erasure.counts, ...sum, files: files + made.count };
    // Turns that were under way have ended since: what they committed may repeat words of the person.
    erasure = await options.erasures.eraseRows(erasure, rule);
    await eraseOutgoing(erasure, options);
    await forgetUploads(erasure, options.dataDir);
    await removeStrays(options.dataDir, options.isAlone);
    const isThere = (file: string): boolean => isStillThere(options.dataDir, file);
    const stays = { left: left.filter(isThere), unsearched: unsearched.filter(isThere) };
    if (stays.left.length + stays.unsearched.length > 0) options.onLeft(stays);
    await options.erasures.hashIds(erasure, counts);
  }
  for (let tries = 1; !(await options.erasures.clean(erasure)); tries += 1) {
    if (tries === CLEAN_TRIES) throw new Error('another process reads the journal all the time');
    await options.clock.sleep(LOOK_MS, options.signal);
  }
}

/** Of a file that stays. */
export function isStillThere(dataDir: string, file: string): boolean {
  return isNoText(file) || existsSync(join(dataDir, file));
}

/**
 * With what lines know of them whose rows are gone since: under which names they wrote, and in which runs.
 */
async function withLines(erasure: Erasure, { store, erasures }: ErasureOptions): Promise<Erasure> {
  const [names, runs] = [new Set(erasure.names), new Set(erasure.runs)];
  for await (const { lines } of allLines(store, erasures)) {
    const before = lines.filter(({ timestamp }) => !(Date.parse(timestamp) > erasure.at));
    const known = knownFrom(theirsOf(erasure), before);
    for (const name of known.names) names.add(name);
    for (const run of known.runs) runs.add(run);
  }
  return { ...erasure, names: [...names], runs: [...runs] };
}

/** What they are told last. It is erased with the rest. */
async function told(erasure: Erasure, { erasures, clock, signal }: ErasureOptions): Promise<void> {
  const until = clock.monotonic() + TELLING_MS;
  while (clock.monotonic() < until && (await erasures.isTelling(erasure))) await clock.sleep(LOOK_MS, signal);
}

function theirsOf({ ids, runs, names }: Erasure): Theirs {
  return { principals: new Set(ids.map(principalOf)), runs: new Set(runs), names };
}

interface Made extends LeftFiles {
  readonly count: number;
}

/** Files that programs made, before the lines go that tell whose they are. */
async function eraseMade(erasure: Erasure, options: ErasureOptions): Promise<Made> {
  const { store, dataDir, erasures, signal, onSearch } = options;
  const { theirs, left, unsearched } = await madeFiles({
    ...{ dataDir, theirs: theirsOf(erasure), key: erasure.key, isOwn: isOwnOf(erasure), busy: await erasures.busy() },
    ...{ signal, onProgress: onSearch, worked: erasure.worked ?? [] },
    sessions: () => allLines(store, erasures),
  });
  const changed = (await eraseFiles(theirs)).map((file) => leftName(dataDir, file));
  const written = await eraseWrittenElsewhere(erasure, options);
  return { count: theirs.length - changed.length + written, left: [...left, ...changed].sort(), unsearched };
}

/** Files that tools wrote for jobs of theirs in the workspace of a group, unless another wrote them too. */
async function eraseWrittenElsewhere(erasure: Erasure, { store, dataDir, erasures }: ErasureOptions): Promise<number> {
  const isOwn = isOwnOf(erasure);
  const shared = (erasure.worked ?? []).filter(({ workspace }) => !isOwn(workspace));
  const by = Map.groupBy(shared, ({ workspace }) => workspaceOf(dataDir, workspace));
  let count = 0;
  for (const [workspace, worked] of by) {
    const [own, others]: [SessionMessage[], SessionMessage[]] = [[], []];
    for await (const { session, lines } of allLines(store, erasures)) {
      if (worked.some((one) => session === one.session || session.startsWith(`${one.session}#`))) own.push(...lines);
      else if (!isOwn(session) && workspaceOf(dataDir, session) === workspace) others.push(...lines);
    }
    count += await eraseWritten(workspace, [...own, ...others], new Set(own));
  }
  return count;
}

/** Those too that are in no file yet. A line that moves into one meanwhile comes twice. */
async function* allLines(store: SessionStore, erasures: Erasures): AsyncIterable<SessionLines> {
  const waiting = new Map((await erasures.waiting()).map(({ session, lines }) => [session, lines]));
  const stored = (await store.list()).map(({ key }) => key);
  for (const session of new Set([...stored, ...[...waiting.keys()].map(sessionOfArchive)])) {
    const archived = [...(await store.archived(session)), ...(waiting.get(archivedSession(session)) ?? [])];
    const lines = [...((await store.load(session))?.messages ?? []), ...(waiting.get(session) ?? [])];
    yield { session, lines: [...archived, ...lines] };
  }
}

function isOwnOf({ sessions }: Erasure): (session: string) => boolean {
  return (session) => sessions.some((own) => session === own || session.startsWith(`${own}#`));
}

type Counts = { readonly sessions: number; readonly lines: number; readonly files: number };

async function eraseSessions(erasure: Erasure, options: ErasureOptions): Promise<Counts> {
  const { store, dataDir, apart, signal } = options;
  const sum = { sessions: 0, lines: 0, files: 0 };
  for (const [session, calls] of Map.groupBy(erasure.calls ?? [], (one) => one.session))
    sum.files += await eraseFilesOfCalls(
      workspaceOf(dataDir, session),
      calls.map(({ call }) => call),
    );
  const isOwn = isOwnOf(erasure);
  const known = (await store.list()).map(({ key }) => key);
  // Their own last: whatever was copied out of them is known by the lines that are there.
  const copied = await runsIn(known.filter(isOwn), store);
  const theirs = theirsOf({ ...erasure, runs: [...erasure.runs, ...copied] });
  const byOthers = await writtenByOthers(theirs, erasure, options);
  for (const session of [...known.filter((one) => !isOwn(one)), ...new Set([...erasure.sessions, ...known.filter(isOwn)])]) {
    signal.throwIfAborted();
    await apart(session, async () => {
      if (isOwn(session)) {
        await store.remove(session);
        if (known.includes(session)) sum.sessions += 1;
        return;
      }
      const toldThere = (erasure.told ?? []).flatMap((one) => (one.session === session ? one.text : []));
      const ruleOf = (lines: readonly SessionMessage[]): LineRule => eraseRule(theirs, erasure.key, lines, toldThere);
      // What others repeat first: once their own lines are erased it is not known any more.
      const repeated = await store.redact(session, async (lines) => {
        const rule = ruleOf(lines);
        sum.files += await eraseUploads(session, rule.own, erasure, dataDir);
        const workspace = workspaceOf(dataDir, session);
        sum.files += await eraseWritten(workspace, lines, new Set(rule.own), byOthers.get(workspace));
        sum.files += await eraseFilesOfCalls(workspace, rule.own.flatMap(callsOf));
        return rule.changeOthers;
      });
      const { changed, left } = await store.redact(session, async (lines) => ruleOf(lines).change, isNamedBy(theirs));
      await options.erasures.hashHistory(erasure, session);
      sum.lines += repeated.changed + changed;
      // Of a sub-agent or a task of theirs: nothing of it is another's.
      if (changed > 0 && left === 0 && OF_A_RUN.test(session)) await removeSession(session, options);
    });
  }
  for (const session of erasure.sessions.filter((own) => splitKey(own).topic === undefined))
    await apart(session, () => removeUser(session, dataDir));
  return sum;
}

/** By workspace: tasks and sub-agents work in that of the conversation which began them. */
async function writtenByOthers(
  theirs: Theirs,
  erasure: Erasure,
  { store, dataDir, erasures }: ErasureOptions,
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const isOwn = isOwnOf(erasure);
  const written = new Map<string, Set<string>>();
  for await (const { session, lines } of allLines(store, erasures)) {
    if (isOwn(session)) continue;
    const own = new Set(eraseRule(theirs, erasure.key, lines).own);
    const workspace = workspaceOf(dataDir, session);
    const paths = written.get(workspace) ?? new Set();
    written.set(workspace, paths);
    for (const path of lines.filter((line) => !own.has(line)).flatMap((line) => writtenPaths(line))) paths.add(path);
  }
  return written;
}

/** Keys of the runs that left lines in these sessions and their archives. */
async function runsIn(sessions: readonly string[], store: SessionStore): Promise<ReadonlySet<string>> {
  const runs = new Set<string>();
  for (const session of sessions)
    for (const { id } of [...(await store.archived(session)), ...((await store.load(session))?.messages ?? [])])
      runs.add(id.replace(/:in$/, '').replace(/^([^#]+)#.*$/s, '$1'));
  return runs;
}

async function removeSession(session: string, { store, dataDir }: ErasureOptions): Promise<void> {
  await store.remove(session);
  await removeTree(sessionWorkspacePath(dataDir, session));
}

/** Sessions of tasks and of sub-agents; no topic that people name has a colon. */
const OF_A_RUN = /(?:^|#)(?:task|run):/;

/** All topics and threads of the chat, what lies beside them, and what their tools worked on. */
async function removeUser(session: string, dataDir: string): Promise<void> {
  await removeTree(userDirectory(dataDir, session));
  await removeTree(userWorkspaces(dataDir, session));
}

/**
 * Copies for answers to them. What no row names, and no turn can have just made, is left of an earlier end.
 */
async function eraseOutgoing({ files }: Erasure, { dataDir, erasures, isAlone, clock }: ErasureOptions): Promise<void> {
  const dir = join(dataDir, 'outgoing');
  for (const name of files) await unlink(join(dir, name)).catch(orGone);
  const needed = await erasures.outgoing();
  for (const name of await readdir(dir).catch(orNone)) {
    if (needed.has(name)) continue;
    const { mtimeMs } = await stat(join(dir, name)).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (isAlone || clock.now() - mtimeMs > YOUNG_MS) await unlink(join(dir, name)).catch(orGone);
  }
}

/** Which workspaces got a file is noted by their names, which hold the id of the chat. */
async function forgetUploads({ sessions }: Erasure, dataDir: string): Promise<void> {
  const dir = join(dataDir, 'upload-days');
  const users = sessions.map((session) => encodeName(splitKey(session).base));
  for (const name of await readdir(dir).catch(orNone)) {
    const path = join(dir, name);
    const rows = (await readFile(path, 'utf8')).split('\n');
    const kept = rows.filter((row) => !users.some((user) => row.split(/[/\\]/).includes(user)));
    if (kept.length < rows.length) await writeFileAtomic(path, kept.join('\n'), { mode: 0o600 });
  }
}

function orGone(error: unknown): void {
  if (!isErrno(error, 'ENOENT')) throw error;
}
