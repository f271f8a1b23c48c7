/** Copies of files for answers, as rows name them: see `copyAttachment`. */
import type { Store } from './store.ts';

/** Each through an index that holds rows of that state alone. */
const OPEN_RUNS = ["state = 'NEW'", "state = 'RUNNING'", "state = 'PARKED'", "state = 'DEAD' AND finished_at IS NOT NULL"];
const OPEN_PARTS = [
  ...["state = 'PENDING'", "state = 'SENDING'"],
  ...["state = 'DEAD' AND settled_at IS NOT NULL", "state = 'EXPIRED' AND settled_at IS NOT NULL"],
];

/** See `Outbox.filesInUse`. What was given up or came too late may be sent, or run, once more. */
export function filesInUse({ db }: Pick<Store, 'db'>): ReadonlySet<string> {
  const parts = OPEN_PARTS.map((is) => `SELECT part AS text FROM outbox WHERE ${is} AND part LIKE '%outgoing%'`);
  const steps = OPEN_RUNS.map(
    (is) =>
      `SELECT step.value AS text FROM run CROSS JOIN step ON step.run_seq = run.seq WHERE run.${is} AND value LIKE '%outgoing%'`,
  );
  const files = new Set<string>();
  for (const sql of [...parts, ...steps])
    for (const { text } of db.all<{ text: string }>(sql)) for (const name of outgoingIn(text)) files.add(name);
  return files;
}

/** Names of the copies that a part or the step of a run names. */
export function outgoingIn(text: string): readonly string[] {
  return [...text.matchAll(/outgoing[/\\]+([0-9a-f-]{36}(?:\.[a-z0-9]{1,8})?)/g)].map((found) => found[1] ?? '');
}
