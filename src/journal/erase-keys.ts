// keys of messages that hold the id of a person who is erased -> with a hash in its place, in rows of others
import { withoutAuthors } from '../core/authored-ids.ts';
import type { Erasure } from '../core/erasure.ts';
import { inKeys, principalOf } from '../core/ids.ts';
import type { Json } from '../core/message.ts';
import type { Store } from './store.ts';

/** What in messages, prompts, notes and parts is called by the id of a message. */
const NAMING: ReadonlySet<string> = new Set([
  'id',
  'platformId',
  'targetId',
  'beside',
  'key',
  'messageId',
  'edits',
  'supersedes',
]);

/** Not in what a stranger of the same id had going by then. */
export function hashKeys(store: Store, erasure: Erasure): void {
  const { ids, key, until, newest } = erasure;
  const principals = ids.map(principalOf);
  const change = withoutAuthors(principals, key);
  const own = ids.flatMap(({ senderId }) => [senderId, inKeys(senderId)]);
  const later = JSON.stringify(principals);
  const isOthers = (seq: string) =>
    `NOT EXISTS (SELECT 1 FROM run AS r WHERE r.seq = ${seq} AND r.seq > ${until} AND r.principal IN (SELECT value FROM json_each(?1)))`;
  const inNamed = (text: string): string => JSON.stringify(changed(JSON.parse(text) as Json, change, NAMING));
  const inAll = (text: string): string => JSON.stringify(changed(JSON.parse(text) as Json, change));
  const tables: readonly Table[] = [
    { name: 'run', where: isOthers('t.seq'), columns: { input: inNamed, history_to: change, outcome: change } },
    { name: 'step', where: isOthers('t.run_seq'), columns: { call_id: change, approved_by: change } },
    { name: 'step', where: `kind = 'note' AND ${isOthers('t.run_seq')}`, columns: { value: inNamed } },
    { name: 'outbox', where: "state NOT IN ('PENDING', 'SENDING') AND ?1 <> ''", columns: { key: change, part: inNamed } },
    {
      name: 'event',
      where: `t.seq <= ${newest?.event ?? Number.MAX_SAFE_INTEGER} AND ?1 <> ''`,
      columns: { run: change, data: inAll },
    },
  ];
  for (const table of tables) hashTable(store, table, [later, JSON.stringify(own)]);
}

/** Before a run that waits goes on: its lines have other ids by now. */
export function hashHistory({ db }: Store, { ids, key }: Erasure, session: string): void {
  const change = withoutAuthors(ids.map(principalOf), key);
  const sql = "SELECT seq, history_to AS id FROM run WHERE session = ? AND history_to <> ''";
  for (const { seq, id } of db.all<{ seq: number; id: string }>(sql, session))
    if (change(id) !== id) db.run('UPDATE run SET history_to = ? WHERE seq = ?', change(id), seq);
}

interface Table {
  readonly name: string;
  /** `t`: the row; `?1`: principals, as JSON. */
  readonly where: string;
  readonly columns: Readonly<Record<string, (text: string) => string>>;
}

function hashTable({ db }: Store, { name, where, columns }: Table, values: readonly [later: string, own: string]): void {
  for (const [column, change] of Object.entries(columns)) {
    const rows = db.all<{ id: number; text: string }>(
      `SELECT rowid AS id, ${column} AS text FROM ${name} AS t WHERE ${where}
       AND EXISTS (SELECT 1 FROM json_each(?2) AS own WHERE instr(t.${column}, own.value) > 0)`,
      ...values,
    );
    for (const { id, text } of rows) {
      const left = change(text);
      if (left !== text) db.run(`UPDATE ${name} SET ${column} = ? WHERE rowid = ?`, left, id);
    }
  }
}

/** Where `names` is given, only strings that are called so. */
function changed(value: Json, change: (text: string) => string, names?: ReadonlySet<string>, isNamed = !names): Json {
  if (typeof value === 'string') return isNamed ? change(value) : value;
  if (Array.isArray(value)) return value.map((one: Json) => changed(one, change, names, isNamed));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, changed(one, change, names, names?.has(name) ?? true)]),
  );
}
