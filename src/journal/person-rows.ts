/** Every row about a person, as it is stored, for an export. */
import type { Erasure, PersonRows } from '../core/erasure.ts';
import { chatRefOf, principalOf } from '../core/ids.ts';
import type { Json, OutboundPart } from '../core/message.ts';
import type { PersonRef } from '../core/people.ts';
import { foundOf, openErasures } from './erase-begin.ts';
import { About, isOfRun, runsOf } from './erase-rows.ts';
import { isOfferOf } from './erase-waits.ts';
import { listJobs } from './jobs.ts';
import type { Store } from './store.ts';
import { messageIn, type TheirWords, toldIn } from './told-words.ts';

type Row = Readonly<Record<string, string | number | null>>;

/** What an erasure would be about now. */
export function scopeOf(store: Store, ids: readonly PersonRef[]): Erasure {
  const until = Number.MAX_SAFE_INTEGER;
  return { key: '', ids, ...foundOf(store, ids), until, runs: [], files: [], by: '', at: 0, stage: 'words', counts: {} };
}

export function rowsOf(store: Store, ids: readonly PersonRef[]): PersonRows {
  const scope = scopeOf(store, ids);
  const about = new About(scope);
  const runs = runsOf(store, scope);
  const [seqs, keys] = [new Set(runs.map(({ seq }) => seq)), new Set(runs.map(({ key }) => key))];
  // Not by name: a namesake's words are none of theirs to read.
  const theirs = { about, runs: keys, answers: new Set<string>(), origins: new Set<string>() };
  const all = (table: string, columns = '*'): readonly Row[] => store.db.all<Row>(`SELECT ${columns} FROM ${table}`);
  const text = (row: Row, column: string): string => String(row[column] ?? '');
  const isOwn = (row: Row): boolean => about.principals.has(text(row, 'principal'));
  const isWho = (row: Row, id: string): boolean => about.wrote(text(row, 'channel'), text(row, id));
  const names = (row: Row): boolean => Object.values(row).some((value) => typeof value === 'string' && about.names(value));
  const inTheirChat = (row: Row): boolean =>
    [...about.chats].some((chat) => text(row, 'key').startsWith(`${chat}/`) || text(row, 'key') === chat);
  const tables: Record<string, readonly Row[]> = {
    scope: [
      {
        ...{ chats: JSON.stringify(scope.chats), sessions: JSON.stringify(scope.sessions), names: JSON.stringify(scope.names) },
        ...{ worked: JSON.stringify(scope.worked ?? []), jobs: JSON.stringify(jobsTo(store, about)) },
      },
    ],
    run: all('run').filter((row) => seqs.has(Number(row['seq']))),
    toldToOthers: all('run').flatMap((row) => (seqs.has(Number(row['seq'])) ? [] : toldTo(row, theirs))),
    step: all('step').filter((row) => seqs.has(Number(row['run_seq']))),
    wait: all('wait').filter((row) => {
      const isOffer = isOfferOf(about, text(row, 'id'), text(row, 'about'));
      return seqs.has(Number(row['run'])) || about.chats.has(text(row, 'chat')) || names(row) || isOffer;
    }),
    outbox: all('outbox').filter((row) => about.isOwnLane(text(row, 'lane')) || partIsTheirs(text(row, 'part'), about, keys)),
    session_line: all('session_line').filter(
      (row) => about.isOwnSession(text(row, 'session')) || names(row) || startsWithAny(row, keys),
    ),
    job: all('job').filter(isOwn),
    chat: all('chat').filter(inTheirChat),
    person: all('person').filter(isOwn),
    pairing: all('pairing', 'channel, account, sender_id, sender_name, state, created_at, expires_at, chat_id').filter((row) =>
      isWho(row, 'sender_id'),
    ),
    block: all('block').filter((row) => isWho(row, 'sender')),
    approval: all('approval').filter((row) => isOwn(row) || names(row)),
    usage: all('usage').filter((row) => about.principals.has(text(row, 'sender')) || about.isOwnSession(text(row, 'session'))),
    usage_by_sender: all('usage_by_sender').filter(
      (row) => about.principals.has(text(row, 'sender')) || about.isOwnSession(text(row, 'session')),
    ),
    dedup: all('dedup').filter((row) => keys.has(text(row, 'key'))),
    audit: all('audit').filter(names),
    event: all('event').filter((row) => keys.has(text(row, 'run')) || about.isOwnSession(text(row, 'session')) || names(row)),
  };
  return tables as unknown as Readonly<Record<string, readonly Json[]>>;
}

/** Ids of jobs of others that write to them. */
function jobsTo(store: Store, about: About): readonly string[] {
  const isAbout = ({ ids }: Erasure): boolean => ids.some((who) => about.principals.has(principalOf(who)));
  const begun = openErasures(store).flatMap((one) => (isAbout(one) ? one.chats : []));
  const chats = [...about.chats, ...begun].map(chatRefOf);
  const others = listJobs(store).filter(({ authority }) => !about.principals.has(authority.principal));
  return others.flatMap(({ id, payload: { deliver } }) =>
    deliver && chats.some(({ channel, chatId }) => channel === deliver.channel && chatId === deliver.chatId) ? id : [],
  );
}

/** What a request of another was told or quotes of them, and no word of the other. */
function toldTo({ input, source, accepted_at: at = null }: Row, theirs: TheirWords): readonly Row[] {
  if (typeof input !== 'string') return [];
  const message = messageIn(String(source), JSON.parse(input) as Json);
  if (!message?.channel) return [];
  return toldIn(message, theirs).map((text) => ({ at, channel: message.channel, text }));
}

function partIsTheirs(text: string, about: About, keys: ReadonlySet<string>): boolean {
  const part = JSON.parse(text) as Pick<OutboundPart, 'messageId' | 'sentFor'>;
  return isOfRun(part, keys) || (part.sentFor?.readers.some((reader) => about.principals.has(reader)) ?? false);
}

function startsWithAny({ line }: Row, keys: ReadonlySet<string>): boolean {
  const id = (JSON.parse(String(line)) as { readonly id: string }).id;
  return (
    [id.replace(/:in$/, ''), id.replace(/#[^#]*$/, '')].some((key) => keys.has(key)) ||
    [...keys].some((key) => id.startsWith(`${key}#`))
  );
}
