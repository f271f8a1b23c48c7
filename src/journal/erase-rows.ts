// an erasure that was begun -> rows of theirs go, words of theirs in rows of others become `[erased]`.
//   Each step may be repeated: what it removed it does not find again.
import { callKey, callsOf, runOfCall } from '../core/call-key.ts';
import { runOfPart } from '../core/elsewhere.ts';
import type { CallOf, Erasure, ToldText, WordsRule } from '../core/erasure.ts';
import { chatOfLane, OWNER_PARTS, principalOf, sessionOfArchive } from '../core/ids.ts';
import type { OutboundPart } from '../core/message.ts';
import type { SessionMessage } from '../core/session.ts';
import { hashSecondKey } from './dedup.ts';
import { filesOf, outboxFiles } from './erase-files.ts';
import { wholeId, withoutNames } from './erase-names.ts';
import { eraseRepeated } from './erase-repeated.ts';
import { eraseWaits, hashedIn } from './erase-waits.ts';
import { outgoingIn } from './files-in-use.ts';
import { erasedId } from './keyed-hash.ts';
import { countPurged } from './prune.ts';
import { readJson, readPart, type Store } from './store.ts';
import { inputWith, isQuoted, messageIn, originsOf, sentKey, type TheirWords, toldIn, withoutTold } from './told-words.ts';

/** Who it is about, ready for questions about rows. */
export class About {
  readonly principals: ReadonlySet<string>;
  readonly chats: ReadonlySet<string>;
  readonly #erasure: Erasure;
  readonly #whole: readonly { readonly id: string; readonly whole: RegExp }[];
  readonly #wholeChats: readonly { readonly id: string; readonly whole: RegExp }[];

  constructor(erasure: Erasure) {
    this.#erasure = erasure;
    this.principals = new Set(erasure.ids.map(principalOf));
    this.chats = new Set(erasure.chats);
    const wholeOf = (id: string) => ({ id, whole: wholeId(id, 'u') });
    this.#whole = [...this.principals].map(wholeOf);
    this.#wholeChats = [...this.chats].map(wholeOf);
  }

  /** Of theirs alone, or within such a one. */
  isOwnSession(session: string): boolean {
    return this.#erasure.sessions.some((own) => session === own || session.startsWith(`${own}#`));
  }

  isOwnLane(lane: string): boolean {
    return this.chats.has(chatOfLane(lane));
  }

  wrote(channel: string, senderId: string | undefined): boolean {
    return senderId !== undefined && this.principals.has(principalOf({ channel, senderId }));
  }

  names(text: string): boolean {
    return this.#whole.some(({ id, whole }) => text.includes(id) && whole.test(text));
  }

  namesChat(text: string): boolean {
    return this.#wholeChats.some(({ id, whole }) => text.includes(id) && whole.test(text));
  }
}

interface OwnRun {
  readonly seq: number;
  readonly key: string;
  readonly state: string;
}

/** Up to the newest that was there when the erasure began. */
export function runsOf({ db }: Pick<Store, 'db'>, erasure: Erasure): readonly OwnRun[] {
  const about = new About(erasure);
  const all = db.all<OwnRun & { readonly principal: string; readonly session: string }>(
    'SELECT seq, key, state, principal, session FROM run WHERE seq <= ?',
    erasure.until,
  );
  return all.filter(({ principal, session }) => about.principals.has(principal) || about.isOwnSession(session));
}

export interface ErasedRows {
  /** Names of files in `outgoing/` that belong to no part any more. */
  readonly files: readonly string[];
  readonly told: readonly ToldText[];
  readonly said: readonly string[];
  readonly groups: readonly string[];
}

export function eraseRows(store: Store, erasure: Erasure, rule: WordsRule): ErasedRows {
  const about = new About(erasure);
  const runs = runsOf(store, erasure);
  // What could not be sent is kept longer than the run that it answers.
  const keys = new Set([...erasure.runs, ...runs.map(({ key }) => key)]);
  const theirs = { about, runs: keys, answers: answersOf(store, keys), origins: originsOf(erasure) };
  const shared = sharedWith(store, theirs, runs, erasure);
  const { line, text } = rule([...shared.said]);
  const unnamed = withoutNames(erasure);
  const { until, newest } = erasure;
  const { files, answered } = eraseParts(store, about, keys, newest?.outbox);
  eraseLines(store, about, line, newest?.session_line);
  eraseWaits(store, about, { runs: new Set(runs.map(({ seq }) => seq)), until, unnamed });
  eraseEvents(store, about, new Set([...keys, ...answered]), newest?.event);
  for (const { seq, state } of runs) {
    for (const { value } of store.db.all<{ value: string | null }>('SELECT value FROM step WHERE run_seq = ?', seq))
      files.push(...outgoingIn(value ?? ''));
    hashSecondKey(store, seq);
    store.db.run('DELETE FROM step WHERE run_seq = ?', seq);
    store.db.run('DELETE FROM wait WHERE run = ?', seq);
    store.db.run('DELETE FROM run WHERE seq = ?', seq);
    countPurged(store, 'run', state, 1);
  }
  eraseInputs(store, theirs, shared);
  eraseRepeated(store, shared.chats, text, unnamed, ({ seq, principal }) => seq > until && about.principals.has(principal));
  for (const principal of about.principals) {
    const hash = erasedId(store, principal);
    store.db.run('UPDATE pin SET approved_by = ? WHERE approved_by = ?', hash, principal);
    store.db.run('UPDATE block SET by = ? WHERE by = ?', hash, principal);
    store.db.run('UPDATE approval SET given_by = ? WHERE given_by = ?', hash, principal);
  }
  const left = outboxFiles(store);
  const { told, said, chats } = shared;
  return { files: [...new Set(files)].filter((name) => !left.has(name)), told, said: [...said], groups: [...chats] };
}

/** What goes to their private chats or answers a request of theirs, and what others had sent to them. */
function eraseParts(store: Store, about: About, runs: ReadonlySet<string>, newest: number = ALL): ErasedParts {
  const [files, answered]: [string[], string[]] = [[], []];
  const rows = store.db.all<{ seq: number; lane: string; part: string; state: string }>(
    'SELECT seq, lane, part, state FROM outbox',
  );
  for (const { seq, lane, part: text, state } of rows) {
    const part = readPart(text, seq);
    // The owner is asked, and told, on account of them.
    const isAboutThem = part.key.startsWith(OWNER_PARTS) && about.names(part.text);
    const isForThem = part.sentFor?.readers.some((reader) => about.principals.has(reader)) ?? false;
    const isTheirs = seq <= newest && (about.isOwnLane(lane) || isForThem || isAboutThem);
    if (!isTheirs && !isOfRun(part, runs)) continue;
    files.push(...filesOf(part));
    if (part.messageId !== undefined) answered.push(part.messageId);
    store.db.run('DELETE FROM outbox WHERE seq = ?', seq);
    if (state !== 'PENDING' && state !== 'SENDING') countPurged(store, 'outbox', state, 1);
  }
  return { files, answered };
}

interface ErasedParts {
  readonly files: string[];
  /** By which events name what the parts belong to. */
  readonly answered: readonly string[];
}

/** Where nothing is known of what came later. */
const ALL = Number.MAX_SAFE_INTEGER;

/** Calls of which steps, or lines on their way, say that they may have left something in a workspace. */
export function callsOfRows(store: Store, erasure: Erasure): readonly CallOf[] {
  const about = new About(erasure);
  const runs = runsOf(store, erasure);
  const sql = `SELECT call_id AS id, coalesce(workspace, session) AS session FROM step JOIN run ON run.seq = run_seq
    WHERE run_seq = ? AND kind = 'tool' AND (value IS NULL OR value LIKE '%.gatehouse/outputs/%' OR value LIKE '%research/%' OR value LIKE '%screenshots/%')`;
  const steps = runs.flatMap(({ seq, key }) =>
    store.db.all<{ id: string; session: string }>(sql, seq).map(({ id, session }) => ({ session, call: callKey(key, id) })),
  );
  const keys = new Set(runs.map(({ key }) => key));
  const rows = store.db.all<{ seq: number; session: string; line: string }>('SELECT seq, session, line FROM session_line');
  const moving = rows.filter(({ session }) => !about.isOwnSession(session));
  const lines = moving.flatMap(({ seq, session, line }) => {
    const message = readJson(line, `session line ${seq}`) as unknown as SessionMessage;
    const own = callsOf(message).filter((call) => keys.has(runOfCall(call)));
    return own.map((call) => ({ session, call }));
  });
  return [...steps, ...lines];
}

/** Whether it tells what one of these runs came to, in whichever chat. */
export function isOfRun(part: Pick<OutboundPart, 'messageId'>, runs: ReadonlySet<string>): boolean {
  const run = runOfPart(part);
  return run !== undefined && runs.has(run);
}

/** Lines that are on their way into their file. */
function eraseLines({ db }: Store, about: About, erase: ReturnType<WordsRule>['line'], newest: number = ALL): void {
  for (const row of db.all<{ seq: number; session: string; line: string }>('SELECT seq, session, line FROM session_line')) {
    if (about.isOwnSession(row.session)) {
      if (row.seq > newest) continue;
      db.run('DELETE FROM session_line WHERE seq = ?', row.seq);
      continue;
    }
    const line = readJson(row.line, `session line ${row.seq}`) as unknown as SessionMessage;
    const erased = erase(line);
    if (erased) db.run('UPDATE session_line SET line = ? WHERE seq = ?', JSON.stringify(erased), row.seq);
  }
}

function eraseEvents(store: Store, about: About, runs: ReadonlySet<string>, newest: number = ALL): void {
  const { db } = store;
  for (const key of runs) db.run('DELETE FROM event WHERE run = ?', key);
  const rows = db.all<{ seq: number; run: string | null; session: string | null; data: string }>(
    'SELECT seq, run, session, data FROM event WHERE seq <= ?',
    newest,
  );
  for (const { seq, run, session, data } of rows) {
    const isOfTheirChat = run !== null && (about.chats.has(run) || about.namesChat(data));
    if (isOfTheirChat || (session !== null && about.isOwnSession(session))) db.run('DELETE FROM event WHERE seq = ?', seq);
    else if (about.names(data)) db.run('UPDATE event SET data = ? WHERE seq = ?', hashedIn(store, about, data), seq);
  }
}

/** What others were told with their message, or with that of a task: see `told-words.ts`. */
function eraseInputs({ db }: Store, theirs: TheirWords, { chats, said }: Shared): void {
  const isSaid = (text: string, chat: string): boolean => chats.has(chat) && said.has(text);
  for (const { seq, source, input: text } of db.all<InputRow>(`SELECT seq, lane, source, input FROM run WHERE ${TELLS}`)) {
    const input = readJson(text, `the input of run ${seq}`);
    const message = messageIn(source, input);
    const left = message && withoutTold(message, theirs, isSaid);
    if (left && left !== message) db.run('UPDATE run SET input = ? WHERE seq = ?', inputWith(source, input, left), seq);
  }
}

interface InputRow {
  readonly seq: number;
  readonly lane: string;
  readonly source: string;
  readonly input: string;
}

export const TELLS =
  "coalesce(input ->> '$.background', input ->> '$.queued', input ->> '$.replyTo', input ->> '$.from') IS NOT NULL";

/** What the agent sent in these runs. */
function answersOf({ db }: Store, runs: ReadonlySet<string>): ReadonlySet<string> {
  const sql = 'SELECT seq, lane, part, platform_id FROM outbox WHERE platform_id IS NOT NULL';
  const rows = db.all<{ seq: number; lane: string; part: string; platform_id: string }>(sql);
  const own = rows.filter(({ seq, part }) => isOfRun(readPart(part, seq), runs));
  return new Set(own.map(({ lane, platform_id: id }) => sentKey(chatOfLane(lane), id)));
}

interface Shared {
  /** `chatKey`s of the groups they spoke in, and of chats that were written to on their wish. */
  readonly chats: ReadonlySet<string>;
  /** What they said there, as far as rows tell. */
  readonly said: ReadonlySet<string>;
  readonly told: readonly ToldText[];
}

/** Where answers to others may repeat what they said. */
function sharedWith({ db }: Store, theirs: TheirWords, runs: readonly OwnRun[], known: Pick<Erasure, 'said' | 'groups'>): Shared {
  const [chats, said, all]: [Set<string>, Set<string>, ToldText[]] = [new Set(known.groups), new Set(known.said), []];
  const own = new Set(runs.map(({ seq }) => seq));
  const rows = db.all<InputRow & { readonly session: string }>(
    "SELECT seq, lane, session, source, input FROM run WHERE coalesce(input ->> '$.isGroup', input ->> '$.from.isGroup') = 1",
  );
  for (const { seq, lane, session, source, input } of rows) {
    const message = messageIn(source, readJson(input, `the input of run ${seq}`));
    if (!message) continue;
    const told = toldIn(message, theirs);
    if (!own.has(seq) && told.length === 0 && !isQuoted(message, theirs)) continue;
    chats.add(chatOfLane(lane));
    if (!own.has(seq)) all.push(...told.map((text) => ({ session: sessionOfArchive(session), text })));
    for (const text of [...told, ...(own.has(seq) ? [message.text] : [])]) said.add(text);
  }
  const sent = "SELECT seq, lane, part FROM outbox WHERE part ->> '$.sentFor' IS NOT NULL";
  for (const { seq, lane, part: text } of db.all<{ seq: number; lane: string; part: string }>(sent)) {
    const part = readPart(text, seq);
    if (!isOfRun(part, theirs.runs)) continue;
    chats.add(chatOfLane(lane));
    said.add(part.text);
  }
  return { chats, said, told: all };
}
