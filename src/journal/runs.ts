import type { Authority } from '../core/authority.ts';
import { GatehouseError } from '../core/errors.ts';
import type { Address, InboundMessage } from '../core/message.ts';
import type { NewRun, Profile, Prompt, Source } from '../core/new-run.ts';
import type { RunRow } from '../core/run.ts';
import type { Change } from './commit-queue.ts';
import { LIMIT } from './database.ts';
import { writeEvent } from './record.ts';
import { readJson, readMessage, type Store } from './store.ts';

export interface RunRecord {
  readonly seq: number;
  readonly key: string;
  readonly source: Source['kind'];
  readonly origin: string | null;
  readonly profile: Profile;
  readonly lane: string;
  readonly session: string;
  readonly workspace: string | null;
  readonly input: string;
  readonly reply_to: string | null;
  readonly principal: string;
  readonly authority: string;
  readonly attempts: number;
  readonly generation: number;
  readonly accepted_at: number;
  readonly taint: number;
  readonly ran_ms: number;
  readonly history_to: string | null;
  readonly title: string | null;
}

export const RUN_COLUMNS = `seq, key, source, origin, profile, lane, session, workspace, input, reply_to, principal, authority, attempts,
  generation, accepted_at, taint, ran_ms, history_to, title`;

/**
 * In the UPDATE that ends a row at `?3`: until then its `keep_until` is as far behind its beginning as it is
 * to be kept behind its end.
 */
export const KEPT_FROM = 'keep_until = ?3 + (keep_until - accepted_at)';

export function toRunRow(record: RunRecord): RunRow {
  const { seq, key, profile, lane, session, workspace, attempts, generation } = record;
  const where = `run ${seq}`;
  const facts = {
    ...{ seq, key, profile, lane, session, attempts, generation },
    ...(workspace === null ? {} : { workspace }),
    ...(record.reply_to === null ? {} : { replyTo: readJson(record.reply_to, where) as unknown as Address }),
    authority: authorityOf(record, where),
    acceptedAt: record.accepted_at,
    ...(record.taint === 0 ? {} : { taint: record.taint }),
    ...(record.ran_ms === 0 ? {} : { ranMs: record.ran_ms }),
    ...(record.history_to === null ? {} : { historyTo: record.history_to }),
    ...(record.title === null ? {} : { title: record.title }),
  };
  const source = sourceOf(record, where);
  if (source.kind === 'chat') return { ...facts, source, message: readMessage(record.input, seq) };
  return { ...facts, source, prompt: readJson(record.input, where) as unknown as Prompt };
}

/** `origin` of a job is `<id>/<due>`, of a run `<parent's key>#<call>`, of the API its client. */
export function sourceOf({ source, origin }: Pick<RunRecord, 'source' | 'origin'>, where: string): Source {
  if (source === 'chat') return { kind: 'chat' };
  const [, first = '', second = ''] = /^(.*?)[/#]?([^/#]*)$/s.exec(origin ?? '') ?? [];
  if (source === 'job') return { kind: 'job', job: first, due: Number(second) };
  if (source === 'run') return { kind: 'run', parent: first, callId: second };
  if (origin === null) throw new GatehouseError('GH1302', `the journal can no longer be trusted: ${where} has no origin`);
  return { kind: 'api', client: origin };
}

/** Rows of before migration 5 have none: a member's, with no policy beside the config's. */
function authorityOf({ authority, principal }: RunRecord, where: string): Authority {
  const stored = readJson(authority, where) as unknown as Partial<Authority>;
  return { principal, role: 'member', mode: 'guarded', policies: [], ...stored };
}

export function waitingRows(store: Store, lane: string, limit: number, afterSeq: number): readonly RunRow[] {
  const records = store.db.all<RunRecord>(
    `SELECT ${RUN_COLUMNS} FROM run WHERE state = 'NEW' AND lane = ? AND seq > ? ORDER BY seq ${LIMIT}`,
    lane,
    afterSeq,
    limit,
  );
  return records.map(toRunRow);
}

export function claimRow(store: Store, seq: number, taken: () => void = () => undefined): RunRow | undefined {
  const claimed = store.db.run(
    `UPDATE run SET state = 'RUNNING', attempts = attempts + 1, generation = generation + 1, boot_id = ?, not_before = 0
     WHERE seq = ? AND state = 'NEW' AND NOT EXISTS (
       SELECT 1 FROM run AS other WHERE other.lane = run.lane AND other.state = 'RUNNING')`,
    store.bootId,
    seq,
  );
  if (claimed === 0) return undefined;
  taken();
  // A second statement: RETURNING fills a table of its own, which takes longer than both together.
  const record = store.db.get<RunRecord>(`SELECT ${RUN_COLUMNS} FROM run WHERE seq = ?`, seq);
  return record && toRunRow(record);
}

/** The daemon is shutting down: the attempt is given back. */
export function releaseRow(store: Store, seq: number, generation: number): boolean {
  const changed = store.db.run(
    `UPDATE run SET state = 'NEW', boot_id = NULL, not_before = 0, attempts = attempts - 1, outcome = NULL
     WHERE seq = ? AND generation = ? AND state = 'RUNNING'`,
    seq,
    generation,
  );
  return changed === 1;
}

export function cancelledRows({ db }: Store, seqs: readonly number[]): readonly number[] {
  const sql =
    "SELECT seq FROM run WHERE seq IN (SELECT value FROM json_each(?)) AND state = 'DONE' AND outcome IN ('cancelled', 'interrupted')";
  return db.all<{ seq: number }>(sql, JSON.stringify(seqs)).map(({ seq }) => seq);
}

/** A turn that was cancelled ends within seconds of it, unless its process does. */
const ENDS_WITHIN_MS = 600_000;

/**
 * What people cancelled from `since` to `now` (epoch ms), as far as its turn may not have ended. It has ended
 * where later rows show that the process went on for some minutes, so a start does not read a day of rows.
 */
export function cancelledMessages(store: Store, since: number, now: number): readonly InboundMessage[] {
  const last = "SELECT max(finished_at) FROM run WHERE state = 'DONE' AND finished_at <= ?2";
  const sql = `SELECT seq, input FROM run WHERE state = 'DONE' AND finished_at >= max(?1, coalesce((${last}), 0) - ${ENDS_WITHIN_MS})
    AND finished_at <= ?2 AND outcome IN ('cancelled', 'interrupted') AND source = 'chat'`;
  return store.db.all<{ seq: number; input: string }>(sql, since, now).map(({ seq, input }) => readMessage(input, seq));
}

/**
 * The session of the run whose claim still stands; inside the transaction of the write that depends on it.
 */
export function claimedSession(store: Store, seq: number, generation: number): string | undefined {
  const sql = "SELECT session FROM run WHERE seq = ? AND generation = ? AND state = 'RUNNING'";
  return store.db.get<{ session: string }>(sql, seq, generation)?.session;
}

/** Of a run without a message. Returns false when there was one of this key: the same cause is one run. */
export function addRun(store: Store, run: NewRun, change: Change): boolean {
  const { key, source, profile, lane, session, workspace, prompt, replyTo, authority, taint = 0, record } = run;
  const now = store.clock.now();
  const isNew = store.db.run(
    'INSERT INTO dedup (kind, key, accepted_at) VALUES (3, ?, ?) ON CONFLICT DO NOTHING',
    key,
    store.aging.now(),
  );
  if (isNew === 0) return false;
  const parent = source.kind === 'run' ? store.db.get<Family>(FAMILY, source.parent) : undefined;
  store.db.run(
    `INSERT INTO run (key, source, origin, parent, root, profile, lane, session, workspace, input, reply_to, principal, authority, taint,
       state, accepted_at, aged_from, title, keep_until) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'NEW', ?, ?, ?, ?)`,
    ...[key, source.kind, originOf(source), parent?.seq ?? null, parent?.root ?? null, profile, lane, session],
    ...[workspace ?? null, JSON.stringify(prompt), replyTo ? JSON.stringify(replyTo) : null],
    ...[authority.principal, JSON.stringify(authority), taint, now, now],
    ...[record?.title ?? null, record ? now + record.keepDays * DAY_MS : null],
  );
  change.active += 1;
  const channel = replyTo?.channel;
  writeEvent(store, { type: 'admitted', at: now, messageId: key, session, ...(channel === undefined ? {} : { channel }), lane });
  return true;
}

const DAY_MS = 86_400_000;

interface Family {
  readonly seq: number;
  readonly root: number;
}

const FAMILY = 'SELECT seq, coalesce(root, seq) AS root FROM run WHERE key = ? ORDER BY seq DESC LIMIT 1';

/** As `sourceOf` reads it. */
function originOf(source: NewRun['source']): string {
  if (source.kind === 'job') return `${source.job}/${source.due}`;
  return source.kind === 'run' ? `${source.parent}#${source.callId}` : source.client;
}
