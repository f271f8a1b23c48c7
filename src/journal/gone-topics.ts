/** Topics that were deleted: their directory stays while work in the background goes on in it. */
import type { GoneTopics } from '../core/gone-topics.ts';
import { archivedSession } from '../core/ids.ts';
import type { CommitQueue } from './commit-queue.ts';
import type { Store } from './store.ts';

/** Rows of `meta`: this and the session; their value is the lane of the topic. */
const GONE = 'gone_topic ';
/** The next character after the separator. */
const GONE_END = 'gone_topic!';

/**
 * Marks a topic in the commit that deletes it, so that its directory is removed after a crash as well. True =
 * work goes on in it.
 */
export function markGone(store: Store, session: string, lane: string): boolean {
  const sql = 'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING';
  store.db.run(sql, GONE + session, JSON.stringify(lane));
  return isUsed(store, session, lane);
}

/** Its directory is removed; or it is begun anew, and goes on with what is there. */
export function unmarkGone({ db }: Store, session: string): void {
  db.run('DELETE FROM meta WHERE name = ?', GONE + session);
}

/** Of these sessions, because the person is erased whose they are. */
export function forgetGone(store: Store, isTheirs: (session: string) => boolean): void {
  for (const { session } of marked(store)) if (isTheirs(session)) unmarkGone(store, session);
}

export function goneTopicsOf(store: Store, queue: CommitQueue): GoneTopics {
  return {
    unused: () => queue.read(() => marked(store).flatMap(({ session, lane }) => (isUsed(store, session, lane) ? [] : [session]))),
    isGone: (session) => queue.peek(() => store.db.get('SELECT 1 FROM meta WHERE name = ?', GONE + session) !== undefined),
    removed: (session) => queue.write(() => unmarkGone(store, session)),
  };
}

function marked({ db }: Store): readonly { readonly session: string; readonly lane: string }[] {
  const sql = 'SELECT name, value FROM meta WHERE name > ? AND name < ?';
  return db
    .all<{ name: string; value: string }>(sql, GONE, GONE_END)
    .map(({ name, value }) => ({ session: name.slice(GONE.length), lane: JSON.parse(value) as string }));
}

const STATES = ['NEW', 'RUNNING', 'PARKED'] as const;
/** The condition of the index `run_profile`, word for word. */
const BESIDE_CHAT = "profile <> 'session' AND profile IN ('task', 'subagent')";

/** How many tasks and sub-agents in the background work in the directory of this session. */
export function countBackground({ db }: Store, session: string): number {
  const sql = `SELECT count(*) AS count FROM run INDEXED BY run_profile WHERE ${BESIDE_CHAT} AND state IN ('${STATES.join("', '")}')
    AND workspace = ? AND (profile = 'task' OR input ->> '$.child.report' IS NOT NULL)`;
  return db.get<{ count: number }>(sql, session)?.count ?? 0;
}

/** Also by runs of its own, which tell what those in the background came to, and by those of its jobs. */
function isUsed({ db }: Store, session: string, lane: string): boolean {
  const beside = `SELECT 1 FROM run INDEXED BY run_profile WHERE ${BESIDE_CHAT} AND state IN ('${STATES.join("', '")}')
    AND workspace = ? LIMIT 1`;
  if (db.get(beside, session)) return true;
  const own = (state: string, index: string) =>
    db.get(`SELECT 1 FROM run INDEXED BY ${index} WHERE state = '${state}' AND lane = ? AND session = ? LIMIT 1`, lane, session);
  // A job has a lane of its own. From before the topic began anew it has the session of the archive.
  const job = (state: string, index: string) => {
    const sql = `SELECT 1 FROM run INDEXED BY ${index} WHERE state = '${state}' AND source = 'job' AND coalesce(workspace, session) = ? LIMIT 1`;
    return db.get(sql, session);
  };
  const parked = "SELECT 1 FROM run INDEXED BY run_parked WHERE state = 'PARKED' AND session IN (?, ?) LIMIT 1";
  return Boolean(
    own('NEW', 'run_new') ??
      own('RUNNING', 'run_running') ??
      db.get(parked, session, archivedSession(session)) ??
      job('RUNNING', 'run_running') ??
      job('NEW', 'run_new'),
  );
}
