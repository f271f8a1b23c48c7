/** Waits of others that a person who is erased was asked, answered, or is named in. */
import { ERASED, type LinkOffer, linkWait } from '../core/erasure.ts';
import type { ToolResult } from '../core/tool.ts';
import type { Question } from '../core/wait.ts';
import { erasedId } from './keyed-hash.ts';
import { readJson, type Store } from './store.ts';

/** Who it is about: see `About` in erase-rows.ts. */
interface About {
  readonly principals: ReadonlySet<string>;
  readonly chats: ReadonlySet<string>;
  names(text: string): boolean;
  wrote(channel: string, senderId: string | undefined): boolean;
}

interface Scope {
  /** Numbers of the runs of theirs, whose waits go with them. */
  readonly runs: ReadonlySet<number>;
  /** See `Erasure`. */
  readonly until: number;
  /** A text without their names. */
  readonly unnamed: (text: string) => string;
}

/** Of runs of others: what they were asked stays asked, but says nothing of theirs any more. */
export function eraseWaits(store: Store, about: About, { runs, until, unnamed }: Scope): void {
  const sql = 'SELECT id, run, call_id, about, chat, value, by FROM wait';
  const rows = store.db.all<{
    id: string;
    run: number;
    call_id: string;
    about: string;
    chat: string | null;
    value: string | null;
    by: string | null;
  }>(sql);
  const own = new Set(rows.filter(({ run }) => runs.has(run)).map(({ id }) => id));
  for (const { id, run, call_id: callId, about: text, chat, value, by } of rows) {
    if (runs.has(run) || run > until) continue;
    const isTheirAnswer = by !== null && about.principals.has(by);
    const isAskedThere = chat !== null && about.chats.has(chat);
    // A reminder of what a run of theirs asks is a wait of no run.
    const isNamed = about.names(text) || unnamed(text) !== text || isOfferOf(about, id, text);
    if (!isTheirAnswer && !isAskedThere && !own.has(text) && !isNamed) continue;
    if (run === 0) {
      store.db.run('DELETE FROM wait WHERE id = ?', id);
      continue;
    }
    const asked = text.startsWith('{') ? (readJson(text, `wait ${id}`) as unknown as Question) : undefined;
    const left = asked && isAskedThere ? withoutPerson(asked, erasedId(store, chat)) : asked;
    // Whole ids first: what asks them keeps who may answer.
    const newAbout = unnamed(hashedIn(store, about, left ? JSON.stringify(left) : text));
    const answer = value === null ? null : (readJson(value, `wait ${id}`) as unknown as ToolResult);
    const isWords = isTheirAnswer && answer?.ok === true && asked?.answer === 'text';
    const newValue = isWords ? JSON.stringify({ ok: true, output: ERASED }) : value;
    const newBy = isTheirAnswer ? erasedId(store, by) : by;
    store.db.run(
      'UPDATE wait SET about = ?, value = ?, by = ?, chat = ? WHERE id = ?',
      ...[newAbout, newValue, newBy, isAskedThere ? null : chat, id],
    );
    const step = `UPDATE step SET value = json_replace(value, ${isWords ? "'$.result.output', ?4, " : ''}'$.result.by', ?3)
      WHERE run_seq = ?1 AND call_id = ?2 AND kind = 'tool' AND value IS NOT NULL`;
    if (isTheirAnswer) store.db.run(step, run, callId, newBy, ...(isWords ? [ERASED] : []));
  }
}

/** Whether it is a code of `/link` that they asked for: their channel and their id stand apart there. */
export function isOfferOf(about: Pick<About, 'wrote'>, id: string, text: string): boolean {
  if (!id.startsWith(linkWait(''))) return false;
  const { channel, senderId } = readJson(text, `wait ${id}`) as unknown as LinkOffer;
  return about.wrote(channel, senderId);
}

function withoutPerson(asked: Question, chatId: string): Question {
  const { whole: _words, about: _about, onBehalf, to, ...rest } = asked;
  const { sentFor } = onBehalf ?? {};
  return {
    ...rest,
    ...{ text: ERASED, who: ERASED, to: to === 'owner' ? to : { ...to, chatId } },
    ...(onBehalf ? { onBehalf: { ...onBehalf, ...(sentFor ? { sentFor: { ...sentFor, title: ERASED } } : {}) } } : {}),
  };
}

/** With hashes in place of their ids. */
export function hashedIn(store: Store, about: About, text: string): string {
  let hashed = text;
  for (const principal of about.principals)
    hashed = hashed.replaceAll(JSON.stringify(principal), JSON.stringify(erasedId(store, principal)));
  return hashed;
}
