/** Names of files in `outgoing/`, as far as parts and steps name them. */
import { basename } from 'node:path';
import type { OutboundPart } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import { outgoingIn } from './files-in-use.ts';
import { readPart, type Store } from './store.ts';

/** See `NewPart.otherwise`, which stands in the row beside the part. */
type StoredPart = OutboundPart & Pick<NewPart, 'otherwise'>;

/** Also those of the parts that would be sent in its place. */
export function filesOf({ file, mail, otherwise = [] }: StoredPart): readonly string[] {
  const own = [...(file ? [file] : []), ...(mail?.files ?? [])].map(({ path }) => basename(path));
  return [...own, ...otherwise.flatMap(({ part }) => filesOf(part))];
}

/** Of all runs that are under way, or wait. */
export function stepFiles({ db }: Pick<Store, 'db'>): readonly string[] {
  const rows = db.all<{ value: string }>("SELECT value FROM step WHERE value LIKE '%outgoing%'");
  return rows.flatMap(({ value }) => outgoingIn(value));
}

export function outboxFiles({ db }: Store): ReadonlySet<string> {
  const sql =
    "SELECT seq, part FROM outbox WHERE part ->> '$.file' IS NOT NULL OR part ->> '$.mail' IS NOT NULL OR part ->> '$.otherwise' IS NOT NULL";
  return new Set(db.all<{ seq: number; part: string }>(sql).flatMap(({ seq, part }) => filesOf(readPart(part, seq))));
}
