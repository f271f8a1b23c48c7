/**
 * What the operator does to stored sessions beside a running daemon. It is a run, because the daemon alone
 * writes session files: the run waits for the turn of the session, and is done once.
 */
import type { Authority } from './authority.ts';
import type { NewRun } from './new-run.ts';
import type { RunRow } from './run.ts';

export type SessionChange =
  | { readonly kind: 'delete'; readonly session: string }
  /** A new session `to` with the newest `keep` messages. */
  | { readonly kind: 'fork'; readonly session: string; readonly to: string; readonly keep: number };

/** No client of the config has such a name, so no other run is taken for one. */
const CLIENT = 'cli:sessions';

export function changeRun(
  change: SessionChange,
  { id, authority, now }: { readonly id: string; readonly authority: Authority; readonly now: number },
): NewRun {
  return {
    key: `api/${CLIENT}/${id}`,
    source: { kind: 'api', client: CLIENT },
    profile: 'session',
    ...{ lane: CLIENT, session: CLIENT, authority },
    prompt: { text: JSON.stringify(change), media: [], at: new Date(now).toISOString() },
  };
}

/** Undefined = the run is none of these. */
export function changeOf(row: RunRow): SessionChange | undefined {
  if (row.message || row.source.kind !== 'api' || row.source.client !== CLIENT) return undefined;
  return JSON.parse(row.prompt.text) as SessionChange;
}
