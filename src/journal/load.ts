import type { Load } from '../core/runs.ts';
import type { Database } from './database.ts';

const IS_ACTIVE = (row: 'OLD' | 'NEW'): string => `${row}.state IN ('NEW', 'RUNNING')`;

const KEYS = [
  ['lane', 'lane'],
  ['sender', 'principal'],
] as const;

/** What one row adds to the sums of its lane and of its sender, or takes from them. */
function count(row: 'OLD' | 'NEW', sign: 1 | -1): string {
  const sums = [...KEYS.map(([kind, column]) => `('${kind}', ${row}.${column}`), "('all', ''"].map(
    (key) => `${key}, ${sign}, ${sign} * octet_length(${row}.input))`,
  );
  const gone = KEYS.map(([kind, column]) => `(kind = '${kind}' AND key = ${row}.${column} AND messages <= 0)`).join(' OR ');
  return `INSERT INTO load (kind, key, messages, bytes) VALUES ${sums.join(', ')}
      ON CONFLICT DO UPDATE SET messages = messages + excluded.messages, bytes = bytes + excluded.bytes;
    ${sign < 0 ? `DELETE FROM load WHERE ${gone};` : ''}`;
}

/** What is held for a topic waits for a person, and in no part of the channel's way. */
const TO_SEND = (row: 'OLD' | 'NEW'): string => `${row}.state IN ('PENDING', 'SENDING') AND ${row}.held_for IS NULL`;
const CHANNEL = (lane: string): string => `substr(${lane}, 1, instr(${lane}, '/') - 1)`;

function countPart(row: 'OLD' | 'NEW', sign: 1 | -1): string {
  const sizes = `${sign}, ${sign} * octet_length(${row}.part)`;
  return `INSERT INTO load (kind, key, messages, bytes) VALUES ('outbox', ${CHANNEL(`${row}.lane`)}, ${sizes})
    ON CONFLICT DO UPDATE SET messages = messages + excluded.messages, bytes = max(0, bytes + excluded.bytes);`;
}

/**
 * Counts what waits or runs, per lane, per sender and in all, with the bytes of the messages. A temporary
 * table kept by triggers: it follows each write of this connection, is rolled back with it, and no code that
 * ends a row has to remember it. Writes of other processes are counted by `recountLoad`.
 */
export function watchLoad(db: Database): void {
  // In a file it would have a rollback journal of its own, which every commit writes.
  db.exec('PRAGMA temp_store = MEMORY');
  db.exec(`
    CREATE TEMP TABLE load (kind TEXT NOT NULL, key TEXT NOT NULL, messages INTEGER NOT NULL, bytes INTEGER NOT NULL,
      PRIMARY KEY (kind, key)) WITHOUT ROWID;
    CREATE TEMP TRIGGER load_begins AFTER INSERT ON main.run WHEN ${IS_ACTIVE('NEW')} BEGIN ${count('NEW', 1)} END;
    CREATE TEMP TRIGGER load_returns AFTER UPDATE OF state ON main.run WHEN ${IS_ACTIVE('NEW')} AND NOT ${IS_ACTIVE('OLD')}
      BEGIN ${count('NEW', 1)} END;
    CREATE TEMP TRIGGER load_ends AFTER UPDATE OF state ON main.run WHEN ${IS_ACTIVE('OLD')} AND NOT ${IS_ACTIVE('NEW')}
      BEGIN ${count('NEW', -1)} END;
    CREATE TEMP TRIGGER load_changes AFTER UPDATE OF input ON main.run WHEN ${IS_ACTIVE('OLD')} AND ${IS_ACTIVE('NEW')}
      BEGIN ${count('NEW', 1)} ${count('OLD', -1)} END;
    CREATE TEMP TRIGGER part_begins AFTER INSERT ON main.outbox WHEN ${TO_SEND('NEW')} BEGIN ${countPart('NEW', 1)} END;
    CREATE TEMP TRIGGER part_returns AFTER UPDATE OF state, held_for ON main.outbox WHEN ${TO_SEND('NEW')} AND NOT (${TO_SEND('OLD')})
      BEGIN ${countPart('NEW', 1)} END;
    CREATE TEMP TRIGGER part_ends AFTER UPDATE OF state, held_for ON main.outbox WHEN ${TO_SEND('OLD')} AND NOT (${TO_SEND('NEW')})
      BEGIN ${countPart('NEW', -1)} END;
    CREATE TEMP TRIGGER load_gone AFTER DELETE ON main.run WHEN ${IS_ACTIVE('OLD')} BEGIN ${count('OLD', -1)} END;
    CREATE TEMP TRIGGER part_gone AFTER DELETE ON main.outbox WHEN ${TO_SEND('OLD')} BEGIN ${countPart('OLD', -1)} END;
  `);
  recountLoad(db);
}

export function recountLoad(db: Database): void {
  const sums = (kind: string, key: string): string =>
    ['NEW', 'RUNNING']
      .map((state) => `SELECT '${kind}' AS kind, ${key} AS key, octet_length(input) AS size FROM run WHERE state = '${state}'`)
      .join(' UNION ALL ');
  db.run('DELETE FROM temp.load');
  db.run(`INSERT INTO temp.load SELECT kind, key, count(*), sum(size) FROM
    (${[...KEYS.map(([kind, column]) => sums(kind, column)), sums('all', "''")].join(' UNION ALL ')}) GROUP BY kind, key`);
  for (const state of ['PENDING', 'SENDING'])
    db.run(`INSERT INTO temp.load SELECT 'outbox', ${CHANNEL('lane')}, count(*), sum(octet_length(part)) FROM outbox WHERE state = '${state}'
      AND held_for IS NULL GROUP BY 2 ON CONFLICT DO UPDATE SET messages = messages + excluded.messages, bytes = bytes + excluded.bytes`);
}

const NONE: Load = { messages: 0, bytes: 0 };

export function loadOf(db: Database, kind: 'lane' | 'sender' | 'all' | 'outbox', key: string): Load {
  const own = db.get<Load>('SELECT messages, bytes FROM temp.load WHERE kind = ? AND key = ?', kind, key) ?? NONE;
  if (kind !== 'lane') return { ...own };
  const sums = 'SELECT coalesce(sum(messages), 0) AS messages, coalesce(sum(bytes), 0) AS bytes FROM temp.load WHERE kind = ?';
  return sumOf(own, db.get<Load>(`${sums} AND key > ? AND key < ?`, kind, ...beside(key)));
}

/** Of the rows that wait in one lane and in its topics, which their limit keeps few. */
export function loadWithin(db: Database, lane: string, principal: string): Load {
  const sums = `SELECT count(*) AS messages, coalesce(sum(octet_length(input)), 0) AS bytes
    FROM run WHERE state = 'NEW' AND principal = ?`;
  const own = db.get<Load>(`${sums} AND lane = ?`, principal, lane) ?? NONE;
  return sumOf(own, db.get<Load>(`${sums} AND lane > ? AND lane < ?`, principal, ...beside(lane)));
}

/** Between these lie the lanes of its topics, and of turns beside its order. `$` follows `#`. */
function beside(lane: string): readonly [string, string] {
  return [`${lane}#`, `${lane}$`];
}

function sumOf(one: Load, other: Load = NONE): Load {
  return { messages: one.messages + other.messages, bytes: one.bytes + other.bytes };
}
