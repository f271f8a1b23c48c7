/** Rows of `person`: ids that are one human (see `core/erasure.ts`), and the codes that link them. */
import type { LinkEnd, LinkedId, LinkWrite } from '../core/erasure.ts';
import { linkWait } from '../core/erasure.ts';
import { principalOf } from '../core/ids.ts';
import type { PersonRef } from '../core/people.ts';
import { writeAudit } from './audit.ts';
import type { Store } from './store.ts';

const HOUR_MS = 3_600_000;
/** Wrong codes within an hour: of one person, and of all. */
const MOST_MISSES = { own: 5, all: 50 };
const MISSES = 'link_misses';
/** People choose their names. */
const NAME_CHARS = 200;

interface LinkRow {
  readonly principal: string;
  readonly id: string;
  readonly name: string;
  readonly linked_at: number;
}

/** By human, then by id. */
export function allLinks({ db }: Pick<Store, 'db'>): readonly LinkedId[] {
  return db.all<LinkRow>('SELECT * FROM person ORDER BY id, principal').map(toLink);
}

/** The other ids of the same human, and this one first. */
export function idsOf({ db }: Pick<Store, 'db'>, who: PersonRef): readonly PersonRef[] {
  const sql = 'SELECT other.* FROM person JOIN person AS other ON other.id = person.id WHERE person.principal = ? ORDER BY 1';
  const all = db.all<LinkRow>(sql, principalOf(who)).map(toLink);
  const others = all.filter((one) => principalOf(one) !== principalOf(who));
  return [who, ...others.map(({ channel, senderId }) => ({ channel, senderId }))];
}

export function writeLink(store: Store, write: LinkWrite): void {
  switch (write.kind) {
    case 'link':
      link(store, write);
      return;
    case 'unlink':
      unlink(store, write.who, write.by);
      return;
    case 'link-code':
      offer(store, write);
      return;
    case 'link-miss':
      miss(store, write.who);
  }
}

function link(store: Store, { of: [a, b], by }: Extract<LinkWrite, { kind: 'link' }>): void {
  const { db, clock } = store;
  const [first, second] = [principalOf(a), principalOf(b)];
  const [one, other] = [idOf(store, first), idOf(store, second)];
  if (first === second || (one !== undefined && one === other)) return;
  const id = one ?? other ?? first;
  if (one !== undefined && other !== undefined) db.run('UPDATE person SET id = ? WHERE id = ?', id, other);
  const add = (end: LinkEnd): number =>
    // The role is the config's alone (decisions.md): what stands here decides nothing.
    db.run(
      "INSERT INTO person (principal, id, name, role, linked_at) VALUES (?, ?, ?, 'guest', ?) ON CONFLICT DO NOTHING",
      ...[principalOf(end), id, end.name.slice(0, NAME_CHARS), clock.now()],
    );
  add(a);
  add(b);
  writeAudit(store, { kind: 'person.linked', subject: first, by, data: { with: second } });
}

function idOf({ db }: Store, principal: string): string | undefined {
  return db.get<{ id: string }>('SELECT id FROM person WHERE principal = ?', principal)?.id;
}

function unlink(store: Store, who: PersonRef, by: string): void {
  const links = dropLinks(store, principalOf(who));
  if (links > 0) writeAudit(store, { kind: 'person.unlinked', subject: principalOf(who), by, data: { links } });
}

/** Returns how many links ended. A human of one id is no row. */
export function dropLinks(store: Store, principal: string): number {
  const { db } = store;
  const id = idOf(store, principal);
  if (id === undefined) return 0;
  db.run('DELETE FROM person WHERE principal = ?', principal);
  const left = db.all<{ principal: string }>('SELECT principal FROM person WHERE id = ? ORDER BY 1', id);
  if (left.length < 2) db.run('DELETE FROM person WHERE id = ?', id);
  // The id of a human is that of one of theirs: it must not stay that of one who left.
  else if (id === principal) db.run('UPDATE person SET id = ? WHERE id = ?', left[0]?.principal ?? '', id);
  return left.length;
}

/**
 * A code is a wait of no run that a date or the person who types it ends. It is not listed: it has no `code`.
 */
function offer(store: Store, { code, offer: about, due }: Extract<LinkWrite, { kind: 'link-code' }>): void {
  const { db, clock } = store;
  dropOffers(store, about);
  db.run(
    `INSERT INTO wait (id, run, call_id, kind, about, state, late, created_at, due) VALUES (?, 0, ?, 'signal', ?, 'OPEN', ?, ?, ?)`,
    ...[linkWait(code), linkWait(code), JSON.stringify(about), JSON.stringify({ ok: false, output: 'Error: too late' })],
    ...[clock.now(), due],
  );
}

/** Their codes that hold still. Returns how many there were. */
export function dropOffers({ db }: Pick<Store, 'db'>, { channel, senderId }: PersonRef): number {
  const codes = db.all<{ id: string; about: string }>(
    "SELECT id, about FROM wait WHERE state = 'OPEN' AND id > 'link/' AND id < 'link0'",
  );
  const own = codes.filter(({ about }) => {
    const offered = JSON.parse(about) as PersonRef;
    return offered.channel === channel && offered.senderId === senderId;
  });
  for (const { id } of own) db.run('DELETE FROM wait WHERE id = ?', id);
  return own.length;
}

type Misses = readonly { readonly who: string; readonly at: number }[];

function misses({ db, clock }: Pick<Store, 'db' | 'clock'>): Misses {
  const value = db.get<{ value: string }>('SELECT value FROM meta WHERE name = ?', MISSES)?.value;
  const all = value === undefined ? [] : (JSON.parse(value) as Misses);
  return all.filter(({ at }) => Math.abs(clock.now() - at) < HOUR_MS);
}

function miss(store: Store, who: PersonRef): void {
  const value = JSON.stringify([...misses(store), { who: principalOf(who), at: store.clock.now() }]);
  const sql = 'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value';
  store.db.run(sql, MISSES, value);
}

/** Whether this person may try one more code now. */
export function mayTryLink(store: Pick<Store, 'db' | 'clock'>, who: PersonRef): boolean {
  const all = misses(store);
  return all.length < MOST_MISSES.all && all.filter((one) => one.who === principalOf(who)).length < MOST_MISSES.own;
}

/** Forgets the wrong codes of people who are erased. */
export function forgetMisses(store: Store, principals: ReadonlySet<string>): void {
  const kept = misses(store).filter(({ who }) => !principals.has(who));
  store.db.run('UPDATE meta SET value = ? WHERE name = ?', JSON.stringify(kept), MISSES);
}

function toLink({ principal, id, name, linked_at: linkedAt }: LinkRow): LinkedId {
  // No name of a channel has a colon.
  const channel = principal.slice(0, principal.indexOf(':'));
  return { channel, senderId: principal.slice(channel.length + 1), id, name, linkedAt };
}
