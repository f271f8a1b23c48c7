/** What is stored of a person, read beside a running daemon: nothing is mended, moved or locked. */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { decodeName, keyOfNames, splitKey, userWorkspaces } from '../../sessions/file-name.ts';
import { callKey, callsOf, runOfCall } from '../core/call-key.ts';
import type { Erasures, PersonRows, Theirs, WorkedIn } from '../core/erasure.ts';
import { principalOf, sessionOfArchive } from '../core/ids.ts';
import { LOCAL_OPERATOR } from '../core/job.ts';
import type { Json } from '../core/message.ts';
import type { People, PersonRef } from '../core/people.ts';
import type { SessionMessage } from '../core/session.ts';
import { orNone } from '../lib/errno.ts';
import { fromMark } from '../lib/marks.ts';
import { filesOfCalls } from '../runs/call-files.ts';
import { eraseRule, knownFrom } from '../runs/erase-lines.ts';
import { leftName, madeFiles, type SessionLines, workspaceOf } from '../runs/made-files.ts';
import { filesOfRuns, isOfSeveral, leadingPart, queuedPart, runOfInput } from '../runs/queued-words.ts';
import type { SearchOptions } from '../runs/search-files.ts';
import { sessionWorkspacePath } from '../runs/workspace.ts';
import { uploadsOf, writtenAlone } from '../runs/written-files.ts';

export interface StoredSession {
  readonly session: string;
  /** Below the data directory. */
  readonly file: string;
  readonly lines: readonly Json[];
}

export interface Stored {
  readonly rows: PersonRows;
  /** Rows of all tables. */
  readonly count: number;
  /** Of theirs alone, whole. */
  readonly sessions: readonly StoredSession[];
  /** Of several people: their lines. */
  readonly shared: readonly StoredSession[];
  readonly lines: number;
  /** Below the data directory. */
  readonly files: readonly string[];
  /** Below the data directory: they hold words of theirs, and others may have a part in them. */
  readonly left: readonly string[];
  /** See `MadeFiles.unsearched`. */
  readonly unsearched: readonly string[];
  /** Ids of jobs of others that write to them. */
  readonly jobs: readonly string[];
}

export async function storedOf(
  dataDir: string,
  people: Pick<People, 'rows' | 'erasures'>,
  ids: readonly PersonRef[],
  onSearch?: SearchOptions['onProgress'],
): Promise<Stored> {
  const { scope = [], ...rows } = await people.rows(ids);
  const { sessions: own, names, worked, jobs } = read(scope[0]);
  const keys = (rows['run'] ?? []).map((row) => String((row as { readonly key?: Json }).key));
  const theirs: Theirs = { principals: new Set(ids.map(principalOf)), runs: new Set(keys), names };
  const isOwn = (session: string): boolean => own.some((one) => session === one || session.startsWith(`${one}#`));
  const found = { sessions: [] as StoredSession[], shared: [] as StoredSession[], files: new Set<string>() };
  for await (const { session, file, lines } of sessionFiles(dataDir)) {
    if (isOwn(session)) found.sessions.push({ session, file, lines });
    else {
      const messages = lines as unknown as readonly SessionMessage[];
      const rule = eraseRule(theirs, '', messagesIn(lines));
      const runs = [...keys, ...knownFrom(theirs, messagesIn(lines)).runs];
      const own = new Set(rule.own);
      const told = messagesIn(lines).flatMap((line) =>
        own.has(line) ? [withoutOthers(line, names, runs)] : behindOthers(line, theirs, runs),
      );
      if (told.length > 0) found.shared.push({ session, file, lines: told as unknown as readonly Json[] });
      for (const path of writtenAlone(messages, new Set(rule.own)))
        for (const file of await filesBelow(workspaceOf(dataDir, session)))
          if (file === join(workspaceOf(dataDir, session), path)) found.files.add(relative(dataDir, file));
      for (const path of await uploadsOf(session, rule.own, { runs, names }, dataDir)) found.files.add(relative(dataDir, path));
      const calls = rule.own.flatMap(callsOf);
      for (const path of await leftByCalls(dataDir, session, calls)) found.files.add(path);
    }
  }
  for (const session of own) {
    const dir = splitKey(session).topic === undefined ? userWorkspaces(dataDir, session) : sessionWorkspacePath(dataDir, session);
    for (const path of await filesBelow(dir)) found.files.add(relative(dataDir, path));
  }
  for (const [session, calls] of callsOfRows(rows))
    for (const path of await leftByCalls(dataDir, session, calls)) found.files.add(path);
  for (const path of await outgoingOf(dataDir, JSON.stringify([rows['outbox'], rows['step']]))) found.files.add(path);
  const { erasures } = people;
  const made = await madeFiles({
    ...{ dataDir, theirs, key: '', isOwn, worked, busy: await erasures.busy() },
    ...{ sessions: () => allLines(dataDir, erasures), onProgress: onSearch },
  });
  for (const file of made.theirs) found.files.add(leftName(dataDir, file));
  return {
    left: made.left.filter((file) => !found.files.has(file)),
    unsearched: made.unsearched.filter((file) => !found.files.has(file)),
    jobs,
    ...{ rows, sessions: found.sessions, shared: found.shared, files: [...found.files].sort() },
    count: Object.values(rows).reduce((sum, all) => sum + all.length, 0),
    lines: found.shared.reduce((sum, { lines }) => sum + lines.length, 0),
  };
}

/** What they said in a request that another began. */
function behindOthers(line: SessionMessage, { principals }: Theirs, runs: readonly string[]): readonly SessionMessage[] {
  const part = queuedPart(line, (by) => principals.has(by), filesOfRuns(runs));
  if (!part) return [];
  const { media: _files, joined: _others, by: _by, ...rest } = line;
  return [{ ...rest, ...part }];
}

/** Theirs, without what others said with it. */
function withoutOthers(line: SessionMessage, names: readonly string[], runs: readonly string[]): SessionMessage {
  const marks = names.map(fromMark);
  if (!isOfSeveral(line, marks)) return line;
  const { media: _files, joined: _others, ...rest } = line;
  return { ...rest, ...leadingPart(line, marks, filesOfRuns([...runs, runOfInput(line)])) };
}

/** Those too that are in no file yet. A line that moves into one meanwhile comes twice. */
async function* allLines(dataDir: string, erasures: Pick<Erasures, 'waiting'>): AsyncIterable<SessionLines> {
  const waiting = await erasures.waiting();
  for await (const { session, lines } of sessionFiles(dataDir)) yield { session, lines: messagesIn(lines) };
  for (const { session, lines } of waiting) yield { session: sessionOfArchive(session), lines };
}

function messagesIn(lines: readonly Json[]): readonly SessionMessage[] {
  return (lines as unknown as readonly SessionMessage[]).filter(({ id }) => typeof id === 'string');
}

/** `gatehouse chat` keeps its own data directory within this one. Undefined = none, or not of these ids. */
export async function terminalChat(dataDir: string, ids: readonly PersonRef[]): Promise<string | undefined> {
  const dir = join(dataDir, 'chat');
  const isTheirs = ids.some((who) => principalOf(who) === LOCAL_OPERATOR);
  return isTheirs && (await names(dir)).includes('journal.db') ? dir : undefined;
}

/** Below the data directory. */
async function leftByCalls(dataDir: string, session: string, calls: readonly string[]): Promise<readonly string[]> {
  const workspace = workspaceOf(dataDir, session);
  const found: string[] = [];
  for (const path of await filesOfCalls(workspace, calls)) {
    const within = await filesBelow(join(workspace, path));
    found.push(...(within.length > 0 ? within : [join(workspace, path)]));
  }
  return found.map((path) => relative(dataDir, path));
}

/** `callKey`s that steps and lines in the journal name, by session. */
function callsOfRows(rows: PersonRows): ReadonlyMap<string, readonly string[]> {
  const runs = new Map((rows['run'] as unknown as readonly RunOf[] | undefined)?.map((run) => [run.seq, run]));
  const keys = new Set([...runs.values()].map(({ key }) => key));
  const steps = (rows['step'] ?? []) as unknown as readonly { readonly run_seq: number; readonly call_id: string | null }[];
  const lines = (rows['session_line'] ?? []) as unknown as readonly { readonly session: string; readonly line: string }[];
  const of = [
    ...steps.flatMap(({ run_seq: seq, call_id: id }) => {
      const run = runs.get(seq);
      return run && id ? [{ session: run.workspace ?? run.session, call: callKey(run.key, id) }] : [];
    }),
    // A line of another is among them where it names the person.
    ...lines.flatMap(({ session, line }) => {
      const calls = callsOf(JSON.parse(line) as SessionMessage);
      return calls.filter((call) => keys.has(runOfCall(call))).map((call) => ({ session, call }));
    }),
  ];
  const by = Map.groupBy(of, ({ session }) => session);
  return new Map([...by].map(([session, calls]) => [session, calls.map(({ call }) => call)]));
}

interface RunOf {
  readonly seq: number;
  readonly key: string;
  readonly session: string;
  readonly workspace: string | null;
}

interface Scope {
  readonly sessions: readonly string[];
  readonly names: readonly string[];
  readonly worked: readonly WorkedIn[];
  readonly jobs: readonly string[];
}

function read(scope: Json | undefined): Scope {
  const { sessions = '[]', names = '[]', worked = '[]', jobs = '[]' } = (scope ?? {}) as Readonly<Record<keyof Scope, string>>;
  return {
    sessions: JSON.parse(sessions) as string[],
    names: JSON.parse(names) as string[],
    worked: JSON.parse(worked) as WorkedIn[],
    jobs: JSON.parse(jobs) as string[],
  };
}

/** Every session with its archive and what could not be read of it, in this order of endings. */
async function* sessionFiles(dataDir: string): AsyncIterable<StoredSession> {
  for (const user of await names(join(dataDir, 'users'))) {
    const dir = join(dataDir, 'users', user, 'sessions');
    for (const name of await names(dir)) {
      const stem = /^([^.]+)\.(?:archive\.|quarantine\.)?jsonl$/.exec(name)?.[1];
      if (stem === undefined) continue;
      const lines = parsed(await readFile(join(dir, name), 'utf8'));
      const header = lines.find(isHeader)?.session_key ?? (await keyIn(join(dir, `${stem}.jsonl`)));
      const session = header ?? keyOfNames(user, stem);
      if (session !== undefined) yield { session, file: join('users', user, 'sessions', name), lines };
    }
  }
  yield* flatFiles(dataDir);
}

/** Where an earlier version kept sessions that were not used since. */
async function* flatFiles(dataDir: string): AsyncIterable<StoredSession> {
  for (const name of await names(join(dataDir, 'sessions'))) {
    const stem = /^([^.]+)\.jsonl$/.exec(name)?.[1];
    if (stem === undefined) continue;
    const lines = parsed(await readFile(join(dataDir, 'sessions', name), 'utf8'));
    const session = lines.find(isHeader)?.session_key ?? decodeName(stem);
    if (session !== undefined) yield { session, file: join('sessions', name), lines };
  }
}

async function keyIn(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return parsed(text).find(isHeader)?.session_key;
}

function isHeader(line: Json): line is { readonly session_key: string } {
  return typeof line === 'object' && line !== null && 'session_key' in line && typeof line['session_key'] === 'string';
}

/** What is no JSON is kept as it is: it may be words. */
function parsed(text: string): readonly Json[] {
  return text.split('\n').flatMap((row) => {
    if (row === '') return [];
    try {
      return [JSON.parse(row) as Json];
    } catch {
      return [row];
    }
  });
}

async function outgoingOf(dataDir: string, rows: string): Promise<readonly string[]> {
  return (await names(join(dataDir, 'outgoing'))).filter((name) => rows.includes(name)).map((name) => join('outgoing', name));
}

async function filesBelow(dir: string): Promise<readonly string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true }).catch(orNone);
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

async function names(dir: string): Promise<readonly string[]> {
  return (await readdir(dir).catch(orNone)).sort();
}
