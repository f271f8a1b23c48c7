// rows about others that repeat words of a person who is erased, or name them -> `[erased]`
import type { WordsRule } from '../core/erasure.ts';
import { chatOfLane } from '../core/ids.ts';
import type { Json } from '../core/message.ts';
import type { Store } from './store.ts';

type Change = ReturnType<WordsRule>['text'];

/** In rows about others of these chats (`chatKey`), and wherever the agent named the person. */
export function eraseRepeated(
  { db }: Store,
  chats: ReadonlySet<string>,
  change: Change,
  unnamed: Change,
  isLater: (run: RunRow) => boolean,
): void {
  for (const { seq, lane, part } of db.all<{ seq: number; lane: string; part: string }>('SELECT seq, lane, part FROM outbox')) {
    const left = inAll(chats.has(chatOfLane(lane)) ? inAll(part, change) : part, unnamed);
    if (left !== part) db.run('UPDATE outbox SET part = ? WHERE seq = ?', left, seq);
  }
  const runs = db.all<RunRow>('SELECT seq, lane, principal, input, title, result FROM run');
  for (const run of runs.filter((one) => chats.has(chatOfLane(one.lane)) && !isLater(one))) eraseInRun({ db }, run, change);
}

interface RunRow {
  readonly seq: number;
  readonly lane: string;
  readonly principal: string;
  readonly input: string;
  readonly title: string | null;
  readonly result: string | null;
}

function eraseInRun({ db }: Pick<Store, 'db'>, { seq, input, title, result }: RunRow, change: Change): void {
  const changed = (text: string | null): string | null => text && (isJson(text) ? inAll(text, change) : change(text));
  const ofPeople: Change = (text) => change(text, true);
  const left = [inAll(input, ofPeople), title && ofPeople(title), changed(result)] as const;
  if (left[0] !== input || left[1] !== title || left[2] !== result)
    db.run('UPDATE run SET input = ?, title = ?, result = ? WHERE seq = ?', ...left, seq);
  const steps = db.all<{ rowid: number; value: string }>(
    'SELECT rowid, value FROM step WHERE run_seq = ? AND value IS NOT NULL',
    seq,
  );
  for (const { rowid, value } of steps)
    if (changed(value) !== value) db.run('UPDATE step SET value = ? WHERE rowid = ?', changed(value), rowid);
  const waits = db.all<{ id: string; about: string; value: string | null }>(
    'SELECT id, about, value FROM wait WHERE run = ?',
    seq,
  );
  for (const { id, about, value } of waits)
    if (changed(about) !== about || changed(value) !== value)
      db.run('UPDATE wait SET about = ?, value = ? WHERE id = ?', changed(about), changed(value), id);
}

/** What a question is about, and a result; else it is a text or a key. */
function isJson(text: string): boolean {
  return text.startsWith('{');
}

function inAll(text: string, change: (text: string) => string): string {
  return JSON.stringify(inStrings(JSON.parse(text) as Json, change));
}

/** Keys stay: they are ours. */
function inStrings(value: Json, change: (text: string) => string): Json {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((one: Json) => inStrings(one, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inStrings(one, change)]));
}
