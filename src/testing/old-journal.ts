/** Journals as earlier versions left them. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sessionStem } from '../../sessions/file-name.ts';
import { argsHash } from '../agent/tool-signature.ts';
import { createPrivateFile, Database } from '../journal/database.ts';
import { MIGRATIONS, migrate } from '../journal/schema.ts';
import { LANE, message, part, SESSION } from './journal-rows.ts';

/**
 * A journal as version 3 left it, with finished messages; each has a step, as a turn with a long tool output
 * leaves one.
 */
/** Closed, in WAL mode, and owner only. Returns its path. */
export async function ofVersion3(dir: string, rows: number): Promise<string> {
  const path = join(dir, 'journal.db');
  await createPrivateFile(path);
  using db = new Database(path, { busyMs: 0 });
  migrate(db, MIGRATIONS.slice(0, 3));
  db.exec('PRAGMA journal_mode = WAL; BEGIN');
  for (let n = 1; n <= rows; n += 1) {
    const { id, ...rest } = message(n, { text: 'x'.repeat(1_000) });
    const row = [n, id, LANE, SESSION, JSON.stringify({ id, ...rest }), n === rows ? 'DEAD' : 'DONE'];
    db.run(
      `INSERT INTO inbox (seq, key, lane, session, message, state, attempts, accepted_at, aged_from, finished_at, outcome)
       VALUES (?, ?, ?, ?, ?, ?, 1, 0, 0, 0, 'x')`,
      ...row,
    );
    db.run("INSERT INTO step (inbox_seq, n, kind, state, value) VALUES (?, 0, 'tool', 'DONE', ?)", n, '"output"');
  }
  db.exec('COMMIT');
  return path;
}

/** What a kill can leave of one message and its answer: every state of either row. */
export const OLD_STATES = ['NEW', 'RUNNING', 'PENDING', 'SENDING', 'SENT', 'UNKNOWN', 'DEAD', 'EXPIRED'] as const;
export type OldState = (typeof OLD_STATES)[number];

/** Of the turn that was killed: the first came to its end, the second only began. */
export const OLD_CALLS = [
  { id: 'call_1', name: 'pay', arguments: '{"eur":9}' },
  { id: 'call_2', name: 'post', arguments: '{"to":"ada"}' },
];

export const OLD_VERSIONS = [1, 2, 3, 4] as const;
type OldVersion = (typeof OLD_VERSIONS)[number];

/**
 * A data directory of an early version: a conversation in its session file, and message `m-2` in one state.
 * `NEW` waits for a retry, as such a version could say. `RUNNING` stands in the middle of its tools. Of
 * `DEAD` the message is given up, and so is an older answer.
 */
export async function leaveOldData(dataDir: string, version: OldVersion, state: OldState): Promise<void> {
  await leaveConversation(dataDir);
  const path = join(dataDir, 'journal.db');
  await createPrivateFile(path);
  using db = new Database(path, { busyMs: 0 });
  migrate(db, MIGRATIONS.slice(0, version));
  const now = Date.now();
  const { id, ...rest } = message(2, { text: 'pay and post' });
  const isOver = state !== 'NEW' && state !== 'RUNNING';
  const [inbox, outcome] = isOver ? (state === 'DEAD' ? ['DEAD', 'failed:GH2103'] : ['DONE', 'answered']) : [state, null];
  db.run(
    `INSERT INTO inbox (seq, key, lane, session, message, state, attempts, generation, not_before, boot_id, accepted_at, aged_from,
       finished_at, outcome)
     VALUES (2, ?, ?, ?, ?, ?, 1, 1, ?, ?, ?, ?, ?, ?)`,
    ...[id, LANE, SESSION, JSON.stringify({ id, ...rest }), inbox, state === 'NEW' ? now + 3_600_000 : 0],
    ...[state === 'RUNNING' ? 'an earlier boot' : null, now, now, isOver ? now : null, outcome],
  );
  db.run('INSERT INTO dedup (kind, key, accepted_at) VALUES (0, ?, 0)', id);
  if (state === 'RUNNING') leaveSteps(db, now);
  if (isOver) leaveAnswer(db, { id, version, state, now });
}

interface OldAnswer {
  /** Of the message that it answers. */
  readonly id: string;
  readonly version: OldVersion;
  readonly state: OldState;
  readonly now: number;
}

function leaveAnswer(db: Database, { id, version, state, now }: OldAnswer): void {
  const { part: answer } = part(`${id}#0`, { part: { ...part('').part, key: `${id}#0`, messageId: id, text: 'old answer' } });
  const isOpen = state === 'PENDING' || state === 'SENDING';
  db.run(
    `INSERT INTO outbox (seq, key, lane, part, state, attempts, boot_id, created_at, expires_at, settled_at, reason)
     VALUES (5, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[answer.key, LANE, JSON.stringify(answer), state, state === 'PENDING' ? 0 : 1],
    ...[state === 'SENDING' ? 'an earlier boot' : null, now, now + 3_600_000],
    ...(isOpen ? [null, null] : [now, 'as it was']),
  );
  if (version >= 3 && state === 'SENDING') db.run('UPDATE outbox SET doubt_since = ?', now);
}

async function leaveConversation(dataDir: string): Promise<void> {
  const at = '2026-11-20T10:00:00.000Z';
  const lines = [
    { schema_version: 1, session_key: SESSION, created_at: at, updated_at: at },
    { id: 'test/bot/m-1:in', role: 'user', content: 'my name is Ada', timestamp: at },
    { id: 'test/bot/m-1#a1', role: 'assistant', content: 'Hello Ada.', timestamp: at },
  ];
  const file = `${sessionStem(dataDir, SESSION)}.jsonl`;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

function leaveSteps(db: Database, at: number): void {
  const usage = { tokensIn: 10, tokensOut: 5, tokensCached: 0 };
  const answer = { at, text: 'On it.', toolCalls: OLD_CALLS, stop: 'tools', usage, provider: 'scripted', model: 'model' };
  db.run("INSERT INTO step (inbox_seq, n, kind, state, value) VALUES (2, 0, 'model', 'DONE', ?)", JSON.stringify(answer));
  for (const [index, call] of OLD_CALLS.entries()) {
    const result = { callId: call.id, name: call.name, at, result: { ok: true, output: 'paid 9 EUR' }, files: [] };
    db.run(
      "INSERT INTO step (inbox_seq, n, kind, call_id, state, args_hash, value) VALUES (2, ?, 'tool', ?, ?, ?, ?)",
      ...[index + 1, call.id, index === 0 ? 'DONE' : 'STARTED', argsHash(call), index === 0 ? JSON.stringify(result) : null],
    );
  }
}
