/** Sub-agents: how many there are, and who is told when one ends that no run waits for. */

import { childSessions, reportKey } from '../core/ids.ts';
import type { NewRun, Prompt } from '../core/new-run.ts';
import type { ChildCounts, TokenUse } from '../core/sub-agents.ts';
import type { ToolResult } from '../core/tool.ts';
import { ownUsage, usageOfTree } from '../core/usage-ids.ts';
import type { Change } from './commit-queue.ts';
import { addRun } from './runs.ts';
import { readJson, type Store } from './store.ts';

interface Sums {
  readonly ofTree: number;
  readonly tokens: number | null;
}

/** As `Children.counts`. */
export function childCounts({ db }: Store, run: string, session: string, except: readonly string[]): ChildCounts {
  const [from, to] = childSessions(session);
  const count = (state: string, index: string, column: 'lane' | 'session') => {
    const sql = `SELECT count(*) AS count FROM run INDEXED BY ${index} WHERE state = '${state}' AND ${column} >= ? AND ${column} < ?`;
    return db.get<{ count: number }>(sql, from, to)?.count ?? 0;
  };
  const { ofTree = 0, tokens = 0 } =
    db.get<Sums>(
      `WITH RECURSIVE tree(id) AS (
         SELECT * FROM (SELECT coalesce(root, seq) FROM run WHERE key = ? ORDER BY seq DESC LIMIT 1)
         UNION SELECT run.seq FROM run JOIN tree ON run.parent = tree.id)
       SELECT count(*) AS ofTree, sum(coalesce(input ->> '$.limits.maxTokens', 0)) AS tokens
       FROM tree CROSS JOIN run ON run.seq = tree.id
       WHERE profile = 'subagent' AND key NOT IN (SELECT value FROM json_each(?))`,
      run,
      JSON.stringify(except),
    ) ?? {};
  return {
    // The lane of a sub-agent is called as its session is.
    open: count('NEW', 'run_new', 'lane') + count('RUNNING', 'run_running', 'lane') + count('PARKED', 'run_parked', 'session'),
    ofTree,
    tokensOfTree: tokens ?? 0,
  };
}

interface ChildRow {
  readonly key: string;
  readonly state: string;
  readonly given: number;
}

/**
 * As `Children.tokens`. Read from the ledger, where rows stay: those of a sub-agent that is long over are
 * gone, while its parent may still wait.
 */
export function tokenUse({ db }: Store, { seq, key }: { readonly seq: number; readonly key: string }): TokenUse {
  const rows = db.all<ChildRow>(
    `SELECT key, state, coalesce(input ->> '$.limits.maxTokens', 0) AS given FROM run WHERE parent = ? AND profile = 'subagent'`,
    seq,
  );
  const own = usedIn(db, ownUsage(key));
  const children = rows.map((row) => ({
    ...{ key: row.key, given: row.given, used: usedIn(db, usageOfTree(row.key)) },
    isOver: row.state === 'DONE' || row.state === 'DEAD',
  }));
  return { own, below: usedIn(db, usageOfTree(key)) - own, children };
}

function usedIn(db: Store['db'], [from, to]: readonly [string, string]): number {
  const sql = 'SELECT total(tokens_in + tokens_out) AS tokens FROM usage WHERE id >= ? AND id < ?';
  return db.get<{ tokens: number }>(sql, from, to)?.tokens ?? 0;
}

/** What people are told of a result where the run that was to tell them fails. UTF-16 units. */
const EXCERPT_CHARS = 300;

interface Ended {
  readonly session: string;
  readonly input: string;
  readonly taint: number;
}

/**
 * In the transaction that ends the run of this key: where it is a sub-agent that no run waits for, the run
 * that tells its conversation. The same end is told once.
 */
export function addReport(store: Store, key: string, result: ToolResult, change: Change): void {
  const sql = `SELECT session, input, taint FROM run WHERE key = ? AND profile = 'subagent'
    AND input ->> '$.child.report' IS NOT NULL ORDER BY seq DESC LIMIT 1`;
  const ended = store.db.get<Ended>(sql, key);
  const { child } = ended ? (readJson(ended.input, `run ${key}`) as unknown as Prompt) : {};
  if (!ended || !child?.report) return;
  const { lane, session, replyTo, authority, since, maxTokens: most } = child.report;
  const asker = key.slice(0, key.lastIndexOf('#'));
  // The result is told in any case: a run whose tokens are used up has one model call.
  const left = most === undefined ? undefined : Math.max(1, most - usedIn(store.db, usageOfTree(asker)));
  const name = `The sub-agent “${child.label}”`;
  const excerpt = `${name} ${result.ok ? 'has ended' : 'failed'}: ${result.output.slice(0, EXCERPT_CHARS).toWellFormed()}`;
  const run: NewRun = {
    key: reportKey(key),
    source: { kind: 'run', parent: key, callId: 'report' },
    ...{ profile: 'session', lane, session, authority, taint: ended.taint },
    ...(replyTo ? { replyTo } : {}),
    prompt: {
      text: reportText(name, result),
      ...{ media: [], at: new Date(store.clock.now()).toISOString() },
      ...(left === undefined ? {} : { limits: { maxTokens: left } }),
      tells: { since, asker, session: ended.session, excerpt },
      ...(child.job === undefined ? {} : { child: { label: '', job: child.job } }),
    },
  };
  if (addRun(store, run, change)) change.woken.add(lane);
}

function reportText(name: string, { ok, output }: ToolResult): string {
  const head = `${name}, which you began in the background, ${ok ? 'has ended' : 'has failed'}.`;
  const rule = 'No person has written: tell them now, in your own words, what matters of it. Do not begin it again.';
  return `[${head} ${rule}]\n\n${output}`;
}
