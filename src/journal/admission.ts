import { chatKey, messageKey, principalOf } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import { type Accepted, type Admission, type ChatRow, decidedOf } from '../core/run.ts';
import type { Settles } from '../core/wait.ts';
import { auditAnswer } from './audit.ts';
import { isBlocked } from './blocks.ts';
import { noteAccount, noteIncoming } from './chats.ts';
import { applyAll } from './commit.ts';
import type { Change } from './commit-queue.ts';
import { correctedKey, findUnbegun, isUnchanged, noteTakenBack, type Target, wasTakenUp } from './corrections.ts';
import { isKnown, remember } from './dedup.ts';
import { besideOthers, type Instead } from './during.ts';
import { cancelRuns } from './ended-runs.ts';
import { endForget } from './forget.ts';
import { reopenNotes } from './notes.ts';
import { addParts } from './outbox.ts';
import { findWait } from './read-waits.ts';
import { writeEvent } from './record.ts';
import { reopenQueued } from './reopen-merged.ts';
import type { Store } from './store.ts';
import { changeConversation, goingOnParts, placeIn } from './topics.ts';
import { settle } from './waits.ts';

export interface CursorMove {
  readonly channel: string;
  readonly account: string;
  readonly value: string;
}

/** Commit 1: the batch in order, then the cursor. Runs inside one savepoint, so it is all or nothing. */
export function acceptBatch(
  store: Store,
  batch: readonly Admission[],
  cursor: CursorMove | undefined,
  change: Change,
): readonly Accepted[] {
  const results = batch.map((offered) => {
    const accepted = acceptOne(store, offered, change);
    const admission = decidedOf(offered, accepted);
    recordAccepted(store, admission, accepted);
    if (isLetIn(admission, accepted)) {
      noteAccount(store, admission.message);
      noteIncoming(store, admission.message);
    }
    return accepted;
  });
  if (cursor) {
    store.db.run(
      'INSERT INTO cursor (channel, account, value) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
      cursor.channel,
      cursor.account,
      cursor.value,
    );
  }
  return results;
}

function isLetIn(admission: Admission, { kind }: Accepted): boolean {
  if (admission.kind === 'answer' && admission.isStranger) return false;
  return kind === 'new' || kind === 'steered' || kind === 'answered' || kind === 'amended';
}

/** A refusal is written where its reason is known: see `countRefusal`. */
function recordAccepted(store: Store, admission: Admission, accepted: Accepted): void {
  const { message } = admission;
  if (accepted.kind === 'refused') return;
  if (accepted.kind === 'duplicate' || accepted.kind === 'amended') {
    recordDropped(store, message, accepted.kind);
    return;
  }
  const about = { at: store.clock.now(), messageId: messageKey(message), channel: message.channel };
  writeEvent(store, { ...about, type: 'received' });
  if (accepted.kind === 'new')
    writeEvent(store, { ...about, session: accepted.row.session, type: 'admitted', lane: accepted.row.lane });
  else if (accepted.kind === 'steered' && admission.kind === 'admit')
    writeEvent(store, { ...about, session: admission.session, type: 'finished', outcome: accepted.outcome, ms: 0 });
  else if (admission.kind === 'answer')
    writeEvent(store, { ...about, session: admission.session, type: 'finished', outcome: admission.outcome, ms: 0 });
}

function recordDropped(store: Store, message: InboundMessage, reason: string): void {
  const at = store.clock.now();
  store.record.refuse({ at, channel: message.channel, chat: chatKey(message), run: messageKey(message), reason });
}

function acceptOne(store: Store, admission: Admission, change: Change): Accepted {
  const { message } = admission;
  if (admission.kind === 'refuse') return countRefusal(store, message, admission.reason);
  // Since it was judged: what is committed after a block began nothing.
  if (isBlocked(store, message)) return countRefusal(store, message, 'blocked');
  if (isKnown(store, message)) return { kind: 'duplicate' };
  if (admission.kind === 'answer') {
    // Announced again, an old “stop” must not end what runs now.
    if (message.kind === 'edit' && isUnchanged(store, message)) return countRefusal(store, message, 'unchanged');
    remember(store, message);
    return answer(store, admission, change);
  }
  const target = message.kind === 'message' ? undefined : findUnbegun(store, message);
  // Not remembered: a refusal keeps nothing, and a late delete that comes twice is only counted twice.
  if (message.kind === 'delete' && !target) {
    noteTakenBack(store, message);
    return countRefusal(store, message, admission.onlyCorrects ?? 'deleted');
  }
  if (admission.onlyCorrects && !target && !wasTakenUp(store, message))
    return countRefusal(store, message, admission.onlyCorrects);
  if (message.kind === 'edit' && !target && isUnchanged(store, message)) return countRefusal(store, message, 'unchanged');
  const decided = target ? undefined : admission.ifOwnRow?.();
  if (decided) return acceptInstead(store, decided, change);
  const placed = { ...admission, ...placeIn(store, message, admission) };
  const instead = target ? undefined : besideOthers(store, placed, change);
  if (instead?.kind === 'decided') return acceptInstead(store, instead.admission, change);
  remember(store, message);
  if (target) return amend(store, admission, target, change);
  return addAdmitted(store, placed, instead, change);
}

function addAdmitted(
  store: Store,
  offered: Admitted,
  instead: Exclude<Instead, { kind: 'decided' }> | undefined,
  change: Change,
): Accepted {
  if (instead?.kind === 'steered') {
    const { run: row, outcome } = instead;
    insertRow(store, offered, 'DONE', outcome);
    return { kind: 'steered', row, outcome };
  }
  const { admission, interrupted } = instead ?? { admission: offered };
  const seq = insertRow(store, admission, 'NEW');
  change.active += 1;
  const { lane, session, message, taint = 0 } = admission;
  const row: ChatRow = {
    ...{ seq, key: messageKey(message), lane, session, message, attempts: 0, generation: 0 },
    ...{ source: { kind: 'chat' }, profile: 'session', acceptedAt: store.clock.now() },
    ...(taint === 0 ? {} : { taint }),
    authority: admission.authority ?? { principal: principalOf(message), role: 'member', mode: 'guarded', policies: [] },
  };
  return { kind: 'new', row, ...(interrupted ? { interrupted } : {}) };
}

function acceptInstead(store: Store, decided: Admission, change: Change): Accepted {
  const accepted = acceptOne(store, decided, change);
  return accepted.kind === 'answered' || accepted.kind === 'refused' ? { ...accepted, decided } : accepted;
}

function answer(store: Store, admission: Extract<Admission, { kind: 'answer' }>, change: Change): Accepted {
  const { outcome, cancels, settles, message, writes = [], partsAfter } = admission;
  const placed = { ...admission, ...placeIn(store, message, admission) };
  const cancelled = cancels ? cancelRuns(store, placed, cancels, change) : [];
  const seq = insertRow(store, placed, 'DONE', outcome);
  if (partsAfter) applyAll(store, writes, change);
  const ended = settles && cancelled.length === 0 ? answerQuestion(store, settles, change) : undefined;
  const own = partsAfter ? partsAfter((key) => numberOf(store, key)) : (ended?.parts ?? goingOnParts(store, admission));
  const parts = cancelled.length > 0 ? cancels?.parts?.(cancelled) : own;
  addParts(store, parts ?? admission.parts, `in${seq}`);
  if (!partsAfter && ended?.isOver !== true) applyAll(store, writes, change);
  const changed = changeConversation(store, admission, change);
  return { kind: 'answered', cancelled: [...cancelled, ...changed.cancelled], cuts: changed.cuts };
}

/** Of the newest run of this key; 0 = there is none. */
function numberOf({ db }: Store, key: string): number {
  return db.get<{ seq: number }>('SELECT seq FROM run WHERE key = ? ORDER BY seq DESC LIMIT 1', key)?.seq ?? 0;
}

interface Ended {
  /** Before this message came. */
  readonly isOver: boolean;
  /** What is said in place of the answer then. */
  readonly parts?: readonly NewPart[] | undefined;
}

function answerQuestion(store: Store, { settled, over }: Settles, change: Change): Ended {
  if (settle(store, settled, change)) {
    auditAnswer(store, settled);
    endForget(store, settled, change);
    return { isOver: false };
  }
  const wait = findWait(store, settled.wait);
  return { isOver: true, parts: wait && over(wait) };
}

function insertRow(
  store: Store,
  admission: Exclude<Admission, { kind: 'refuse' }>,
  state: 'NEW' | 'DONE',
  outcome: string | null = null,
): number {
  const now = store.clock.now();
  const { message, lane, session } = admission;
  const { authority = {}, taint = 0 } = admission.kind === 'admit' ? admission : {};
  return store.db.insert(
    `INSERT INTO run (key, source, profile, corrects, lane, session, input, principal, authority, taint, state, accepted_at,
       aged_from, finished_at, outcome)
     VALUES (?, 'chat', 'session', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    messageKey(message),
    correctedKey(message) ?? null,
    lane,
    session,
    JSON.stringify(message),
    principalOf(message),
    JSON.stringify(authority),
    taint,
    state,
    now,
    now,
    state === 'DONE' ? now : null,
    outcome,
  );
}

type Admitted = Extract<Admission, { kind: 'admit' }>;

function amend(store: Store, { message, onlyCorrects, taint = 0 }: Admitted, target: Target, change: Change): Accepted {
  const { queued = [] } = target.message;
  const [next, ...later] = queued;
  if (message.kind === 'delete' && next && principalOf(next) === principalOf(target.message)) {
    // What waited behind it is answered without it.
    const { marks: _gone, replyTo: _quoted, ...rest } = target.message;
    const { text, media, senderId, senderName, marks, replyTo } = next;
    // Whose words they are, and what these are a reply to, goes with them.
    const said = { text, media, senderId, senderName, ...(marks && { marks }), ...(replyTo && { replyTo }) };
    const left = { ...rest, ...said, queued: later };
    store.db.run('UPDATE run SET input = ? WHERE seq = ?', JSON.stringify(left), target.seq);
    return { kind: 'amended', row: target.seq, goesOn: true };
  }
  if (message.kind === 'delete') {
    // What its turn was told before it was cut off is answered by itself.
    reopenNotes(store, { seq: target.seq, key: messageKey(target.message) }, 0, change);
    // A run of theirs is no place for the words of others.
    reopenQueued(store, messageKey(target.message), queued, change);
    store.db.run(
      "UPDATE run SET state = 'DONE', outcome = 'deleted', finished_at = ? WHERE seq = ?",
      store.clock.now(),
      target.seq,
    );
    change.active -= 1;
  } else {
    // An edit that carries no files is about the text: the files that came with the message stay.
    const media = message.media.length > 0 ? message.media : target.message.media;
    const { overheard, marks: _earlier, ...original } = target.message;
    const edited: InboundMessage = {
      ...original,
      // Words that address the agent open the way to it, whatever is said in the recording.
      ...(overheard && onlyCorrects !== undefined ? { overheard } : {}),
      mentionsBot: original.mentionsBot || message.mentionsBot,
      text: message.text,
      ...(message.marks && { marks: message.marks }),
      media,
    };
    const sql = 'UPDATE run SET input = ?, taint = taint | ? WHERE seq = ?';
    store.db.run(sql, JSON.stringify(edited), taint, target.seq);
  }
  return { kind: 'amended', row: target.seq };
}

function countRefusal(store: Store, message: InboundMessage, reason: string): Accepted {
  const { channel } = message;
  store.db.run(
    'INSERT INTO refusal (channel, reason, count) VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1',
    channel,
    reason,
  );
  recordDropped(store, message, reason);
  return { kind: 'refused' };
}
