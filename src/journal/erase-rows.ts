// an erasure that was begun -> rows of theirs go, words of theirs in rows of others become `[erased]`.
//   Each step may be repeated: what it removed it does not find again.
import { basename } from 'node:path';
import { ERASED, type Erasure, type WordsRule } from '../core/erasure.ts';
import { chatOfLane, principalOf } from '../core/ids.ts';
import type { InboundMessage, Json, OutboundPart } from '../core/message.ts';
import type { SessionMessage } from '../core/session.ts';
import type { ToolResult } from '../core/tool.ts';
import type { Question } from '../core/wait.ts';
import { erasedId } from './keyed-hash.ts';
import { countPurged } from './prune.ts';
import { readJson, readMessage, readPart, type Store } from './store.ts';

/** Who it is about, ready for questions about rows. */
export class About {
  readonly principals: ReadonlySet<string>;
  readonly chats: ReadonlySet<string>;
  readonly #erasure: Erasure;

  constructor(erasure: Erasure) {
    this.#erasure = erasure;
    this.principals = new Set(erasure.ids.map(principalOf));
    this.chats = new Set(erasure.chats);
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
    for (const principal of this.principals) if (text.includes(principal)) return true;
    return false;
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

/** Returns the names of files in `outgoing/` that belong to no part any more. */
export function eraseRows(store: Store, erasure: Erasure, rule: WordsRule): readonly string[] {
  const about = new About(erasure);
  const runs = runsOf(store, erasure);
  const shared = sharedWith(store, about, runs);
  const { line, text } = rule(shared.said);
  const files = eraseParts(store, about, new Set(runs.map(({ key }) => key)));
  eraseLines(store, about, line);
  eraseWaits(store, about, new Set(runs.map(({ seq }) => seq)));
  eraseEvents(store, about, runs);
  for (const { seq, state } of runs) {
    for (const { value } of store.db.all<{ value: string | null }>('SELECT value FROM step WHERE run_seq = ?', seq))
      files.push(...outgoingIn(value ?? ''));
    store.db.run('DELETE FROM step WHERE run_seq = ?', seq);
    store.db.run('DELETE FROM wait WHERE run = ?', seq);
    store.db.run('DELETE FROM run WHERE seq = ?', seq);
    countPurged(store, 'run', state, 1);
  }
  eraseInputs(store, about);
  eraseRepeated(store, shared.chats, text);
  for (const principal of about.principals) {
    const hash = erasedId(store, principal);
    store.db.run('UPDATE pin SET approved_by = ? WHERE approved_by = ?', hash, principal);
    store.db.run('UPDATE block SET by = ? WHERE by = ?', hash, principal);
    store.db.run('UPDATE approval SET given_by = ? WHERE given_by = ?', hash, principal);
  }
  const left = outboxFiles(store);
  return [...new Set(files)].filter((name) => !left.has(name));
}

/** What goes to their private chats or answers a request of theirs, and what others had sent to them. */
function eraseParts(store: Store, about: About, runs: ReadonlySet<string>): string[] {
  const files: string[] = [];
  const rows = store.db.all<{ seq: number; lane: string; part: string; state: string }>(
    'SELECT seq, lane, part, state FROM outbox',
  );
  for (const { seq, lane, part: text, state } of rows) {
    const part = readPart(text, seq);
    const isForThem = part.sentFor?.readers.some((reader) => about.principals.has(reader)) ?? false;
    if (!about.isOwnLane(lane) && !isForThem && !(part.messageId !== undefined && runs.has(part.messageId))) continue;
    files.push(...filesOf(part));
    store.db.run('DELETE FROM outbox WHERE seq = ?', seq);
    if (state !== 'PENDING' && state !== 'SENDING') countPurged(store, 'outbox', state, 1);
  }
  return files;
}

function filesOf({ file, mail }: OutboundPart): readonly string[] {
  return [...(file ? [file] : []), ...(mail?.files ?? [])].map(({ path }) => basename(path));
}

/** Of all runs that are under way, or wait. */
export function stepFiles({ db }: Pick<Store, 'db'>): readonly string[] {
  const rows = db.all<{ value: string }>("SELECT value FROM step WHERE value LIKE '%outgoing%'");
  return rows.flatMap(({ value }) => outgoingIn(value));
}

export function outboxFiles({ db }: Store): ReadonlySet<string> {
  const sql = "SELECT seq, part FROM outbox WHERE part ->> '$.file' IS NOT NULL OR part ->> '$.mail' IS NOT NULL";
  return new Set(db.all<{ seq: number; part: string }>(sql).flatMap(({ seq, part }) => filesOf(readPart(part, seq))));
}

/** A step names the copies that its run took for its answer. */
function outgoingIn(step: string): readonly string[] {
  return [...step.matchAll(/outgoing[/\\]+([0-9a-f-]{36}(?:\.[a-z0-9]{1,8})?)/g)].map((found) => found[1] ?? '');
}

/** Lines that are on their way into their file. */
function eraseLines({ db }: Store, about: About, erase: ReturnType<WordsRule>['line']): void {
  for (const row of db.all<{ seq: number; session: string; line: string }>('SELECT seq, session, line FROM session_line')) {
    if (about.isOwnSession(row.session)) {
      db.run('DELETE FROM session_line WHERE seq = ?', row.seq);
      continue;
    }
    const line = readJson(row.line, `session line ${row.seq}`) as unknown as SessionMessage;
    const erased = erase(line);
    if (erased) db.run('UPDATE session_line SET line = ? WHERE seq = ?', JSON.stringify(erased), row.seq);
  }
}

/** Of runs of others: what they were asked stays asked, but says nothing of theirs any more. */
function eraseWaits(store: Store, about: About, runs: ReadonlySet<number>): void {
  const sql = 'SELECT id, run, call_id, about, chat, value, by FROM wait';
  const rows = store.db.all<{
    id: string;
    run: number;
    call_id: string;
    about: string;
    chat: string | null;
    value: string | null;
    by: string | null;
  }>(sql);
  for (const { id, run, call_id: callId, about: text, chat, value, by } of rows) {
    if (runs.has(run)) continue;
    const isTheirAnswer = by !== null && about.principals.has(by);
    const isAskedThere = chat !== null && about.chats.has(chat);
    if (!isTheirAnswer && !isAskedThere && !about.names(text)) continue;
    if (run === 0) {
      store.db.run('DELETE FROM wait WHERE id = ?', id);
      continue;
    }
    const asked = text.startsWith('{') ? (readJson(text, `wait ${id}`) as unknown as Question) : undefined;
    const left = asked && isAskedThere ? { ...asked, text: ERASED, whole: undefined, about: undefined } : asked;
    const newAbout = hashedIn(store, about, left ? JSON.stringify(left) : text);
    const answer = value === null ? null : (readJson(value, `wait ${id}`) as unknown as ToolResult);
    const isWords = isTheirAnswer && answer?.ok === true && asked?.answer === 'text';
    const newValue = isWords ? JSON.stringify({ ok: true, output: ERASED }) : value;
    const newBy = isTheirAnswer ? erasedId(store, by) : by;
    store.db.run(
      'UPDATE wait SET about = ?, value = ?, by = ?, chat = ? WHERE id = ?',
      ...[newAbout, newValue, newBy, isAskedThere ? null : chat, id],
    );
    if (isWords)
      store.db.run(
        "UPDATE step SET value = json_replace(value, '$.result.output', ?) WHERE run_seq = ? AND call_id = ? AND kind = 'tool' AND value IS NOT NULL",
        ...[ERASED, run, callId],
      );
  }
}

function hashedIn(store: Store, about: About, text: string): string {
  let hashed = text;
  for (const principal of about.principals)
    hashed = hashed.replaceAll(JSON.stringify(principal), JSON.stringify(erasedId(store, principal)));
  return hashed;
}

function eraseEvents(store: Store, about: About, runs: readonly OwnRun[]): void {
  const { db } = store;
  for (const { key } of runs) db.run('DELETE FROM event WHERE run = ?', key);
  const rows = db.all<{ seq: number; run: string | null; session: string | null; data: string }>(
    'SELECT seq, run, session, data FROM event',
  );
  for (const { seq, run, session, data } of rows) {
    const isOfTheirChat = run !== null && (about.chats.has(run) || [...about.chats].some((chat) => data.includes(chat)));
    if (isOfTheirChat || (session !== null && about.isOwnSession(session))) db.run('DELETE FROM event WHERE seq = ?', seq);
    else if (about.names(data)) db.run('UPDATE event SET data = ? WHERE seq = ?', hashedIn(store, about, data), seq);
  }
}

/** What others were told with their message: lines that were said in the group, and what they quote. */
function eraseInputs({ db }: Store, about: About): void {
  const rows = db.all<{ seq: number; input: string }>(
    "SELECT seq, input FROM run WHERE source = 'chat' AND (input ->> '$.background' IS NOT NULL OR input ->> '$.replyTo.senderId' IS NOT NULL)",
  );
  for (const { seq, input } of rows) {
    const message = readMessage(input, seq);
    const erased = withoutWords(message, about);
    if (erased !== message) db.run('UPDATE run SET input = ? WHERE seq = ?', JSON.stringify(erased), seq);
  }
}

function withoutWords(message: InboundMessage, about: About): InboundMessage {
  const { channel, background = [], replyTo } = message;
  const isTold = background.some(({ senderId }) => about.wrote(channel, senderId));
  const isQuoted = about.wrote(channel, replyTo?.senderId);
  if (!isTold && !isQuoted) return message;
  const { senderId: _author, media: _files, ...quoted } = replyTo ?? { platformId: '', fromBot: false };
  return {
    ...message,
    ...(isTold ? { background: background.filter(({ senderId }) => !about.wrote(channel, senderId)) } : {}),
    ...(isQuoted ? { replyTo: { ...quoted, text: ERASED } } : {}),
  };
}

interface Shared {
  /** `chatKey`s of the groups they spoke in. */
  readonly chats: ReadonlySet<string>;
  /** What they said there, as far as rows tell. */
  readonly said: readonly string[];
}

/** Where answers to others may repeat what they said. */
function sharedWith({ db }: Store, about: About, runs: readonly OwnRun[]): Shared {
  const [chats, said] = [new Set<string>(), new Set<string>()];
  const own = new Set(runs.map(({ seq }) => seq));
  const rows = db.all<{ seq: number; lane: string; input: string }>(
    "SELECT seq, lane, input FROM run WHERE source = 'chat' AND input ->> '$.isGroup' = 1",
  );
  for (const { seq, lane, input } of rows) {
    const message = readMessage(input, seq);
    const told = (message.background ?? []).filter(({ senderId }) => about.wrote(message.channel, senderId));
    if (!own.has(seq) && told.length === 0 && !about.wrote(message.channel, message.replyTo?.senderId)) continue;
    chats.add(chatOfLane(lane));
    for (const { text } of [...told, ...(own.has(seq) ? [message] : [])]) said.add(text);
  }
  return { chats, said: [...said] };
}

/** In rows about others of those groups. */
function eraseRepeated({ db }: Store, chats: ReadonlySet<string>, change: (text: string) => string): void {
  const changed = (text: string): string => JSON.stringify(inStrings(JSON.parse(text) as Json, change));
  for (const { seq, lane, part } of db.all<{ seq: number; lane: string; part: string }>('SELECT seq, lane, part FROM outbox')) {
    const left = chats.has(chatOfLane(lane)) ? changed(part) : part;
    if (left !== part) db.run('UPDATE outbox SET part = ? WHERE seq = ?', left, seq);
  }
  const runs = db.all<{ seq: number; lane: string; input: string }>('SELECT seq, lane, input FROM run');
  for (const { seq, input } of runs.filter(({ lane }) => chats.has(chatOfLane(lane)))) {
    if (changed(input) !== input) db.run('UPDATE run SET input = ? WHERE seq = ?', changed(input), seq);
    const steps = db.all<{ rowid: number; value: string }>(
      'SELECT rowid, value FROM step WHERE run_seq = ? AND value IS NOT NULL',
      seq,
    );
    for (const { rowid, value } of steps)
      if (changed(value) !== value) db.run('UPDATE step SET value = ? WHERE rowid = ?', changed(value), rowid);
  }
}

/** Keys stay: they are ours. */
function inStrings(value: Json, change: (text: string) => string): Json {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((one: Json) => inStrings(one, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inStrings(one, change)]));
}
