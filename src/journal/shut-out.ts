// a person who is revoked or blocked -> runs -> questions -> jobs -> what is to be sent -> grants, links ->
//   the decision itself and its entry in the record, all in the transaction of one commit

import type { RunEvent } from '../core/events.ts';
import { chatKey, chatOfLane, inKeys, principalOf } from '../core/ids.ts';
import type { PersonRef, ShutOut } from '../core/people.ts';
import { writeAudit } from './audit.ts';
import { addBlock } from './blocks.ts';
import type { Change } from './commit-queue.ts';
import { cancelRunsOf } from './ended-runs.ts';
import { dropLinks, dropOffers } from './links.ts';
import { openQuestions } from './read-waits.ts';
import { writeEvent } from './record.ts';
import { withdrawPart } from './settle-part.ts';
import type { Store } from './store.ts';
import { openSignalsOf, withdrawQuestions } from './waits.ts';

/** See `core/people.ts`. */
export function shutOut(store: Store, { who, as, by, reason, stoppedMark }: ShutOut, change: Change): void {
  const counts = endAllOf(store, who, { as, stoppedMark }, change);
  const { channel, senderId } = who;
  if (as === 'blocked') {
    addBlock(store, who, by, reason);
    store.db.run('DELETE FROM pairing WHERE channel = ? AND sender_id = ?', channel, senderId);
  } else {
    store.db.run("UPDATE pairing SET state = 'denied', code_hash = NULL WHERE channel = ? AND sender_id = ?", channel, senderId);
  }
  writeAudit(store, { kind: `person.${as}`, subject: principalOf(who), by, data: counts });
}

interface Ending {
  /** Why: it is the reason that their jobs are disabled. */
  readonly as: ShutOut['as'] | 'erased';
  readonly stoppedMark: string | undefined;
}

/** Ends what a person has going, and says how much of it there was. */
export function endAllOf(
  store: Store,
  who: PersonRef,
  { as, stoppedMark }: Ending,
  change: Change,
): Readonly<Record<'runs' | 'questions' | 'jobs' | 'parts' | 'grants' | 'links', number>> {
  const principal = principalOf(who);
  const chats = privateChatsOf(store, who);
  const signals = openSignalsOf(store, principal);
  const asked = openQuestions(store).length;
  const runs = cancelRunsOf(store, principal, stoppedMark, change).length;
  withdrawQuestions(store, { principal, chats, signals }, change);
  return {
    runs,
    questions: asked - openQuestions(store).length,
    jobs: disableJobs(store, principal, as),
    parts: withdrawParts(store, principal, chats),
    grants: store.db.run('DELETE FROM approval WHERE principal = ? OR given_by = ?', principal, principal),
    links: dropLinks(store, principal) + dropOffers(store, who),
  };
}

/** By their keys: as `noteIncoming` keeps them, and where they asked to be let in. */
export function privateChatsOf({ db }: Store, { channel, senderId }: PersonRef): ReadonlySet<string> {
  const noted = "SELECT key FROM chat WHERE key > ? AND key < ? AND address ->> '$.principal' = ?";
  const chats = db.all<{ key: string }>(noted, `${inKeys(channel)}/`, `${inKeys(channel)}0`, principalOf({ channel, senderId }));
  const asked = 'SELECT account, chat_id AS chatId FROM pairing WHERE channel = ? AND sender_id = ? AND chat_id IS NOT NULL';
  const requests = db.all<{ account: string; chatId: string }>(asked, channel, senderId);
  return new Set([...chats.map(({ key }) => key), ...requests.map((request) => chatKey({ channel, ...request }))]);
}

function disableJobs(store: Store, principal: string, as: Ending['as']): number {
  const { db, clock } = store;
  const reason = `its creator was ${as}`;
  const sql = `UPDATE job SET enabled = 0, next_due = NULL, last_status = ? WHERE principal = ? AND enabled = 1 RETURNING id`;
  const jobs = db.all<{ id: string }>(sql, `error: ${reason}`, principal);
  for (const { id: job } of jobs) {
    const event: RunEvent = { type: 'job', at: clock.now(), job, state: 'disabled', reason };
    writeEvent(store, event);
  }
  return jobs.length;
}

interface Unsent {
  readonly seq: number;
  readonly lane: string;
  readonly isTheirs: number;
}

/**
 * What is to be sent to their private chats, also where one is known only by the code that they were given.
 * In groups it stays: others read it too.
 */
function withdrawParts(store: Store, principal: string, chats: ReadonlySet<string>): number {
  const unsent = store.db.all<Unsent>(
    `SELECT seq, lane, EXISTS (SELECT 1 FROM run WHERE run.key = part ->> '$.messageId' AND principal = ?) AS isTheirs
     FROM outbox WHERE state IN ('PENDING', 'SENDING') AND part ->> '$.isGroup' IS NULL ORDER BY seq`,
    principal,
  );
  const theirs = unsent.filter(({ lane, isTheirs }) => isTheirs === 1 || chats.has(chatOfLane(lane)));
  for (const { seq } of theirs) withdrawPart(store, seq);
  return theirs.length;
}
