/**
 * Topics of a chat, and sessions that begin anew: what the answer to a command changes, in its own
 * transaction.
 */
import type { TopicChange } from '../core/chats.ts';
import type { Restart, SessionCut } from '../core/conversation.ts';
import { archivedSession, chatKey, inTopic, isLaneOf, laneKey, messageKey, sessionOfArchive } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import type { Admission, EndedRun } from '../core/run.ts';
import type { SessionMessage } from '../core/session.ts';
import { changeSettings, changeTopics } from './chats.ts';
import type { Change } from './commit-queue.ts';
import { cancelConversation } from './ended-runs.ts';
import { countBackground, markGone, unmarkGone } from './gone-topics.ts';
import { endGrants } from './grants.ts';
import { activeTopic, dropHeld, releaseHeld } from './held.ts';
import { addLines } from './session-lines.ts';
import type { Store } from './store.ts';

type Place = Pick<Extract<Admission, { kind: 'admit' }>, 'lane' | 'session'>;

/**
 * Where a message belongs: in a chat to the active topic, and what corrects or stops an earlier message of
 * the chat to the topic of that one. `place` is that of the chat or thread.
 */
export function placeIn(store: Store, message: InboundMessage, place: Place): Place {
  if (message.threadId !== undefined) return place;
  const chat = chatKey(message);
  const { channel, account, targetId } = message;
  if (message.kind !== 'message' && targetId !== undefined) {
    const sql = 'SELECT lane, session FROM run WHERE key = ? ORDER BY seq DESC LIMIT 1';
    const original = store.db.get<Place>(sql, messageKey({ channel, account, platformId: targetId }));
    if (original && isLaneOf(original.lane, chat))
      return { lane: original.lane.replace(/##\d+$/, ''), session: sessionOfArchive(original.session) };
  }
  const active = activeTopic(store, chat);
  return { lane: inTopic(place.lane, active), session: inTopic(place.session, active) };
}

type Answer = Extract<Admission, { kind: 'answer' }>;

interface Changed {
  readonly cancelled: readonly EndedRun[];
  readonly cuts: readonly SessionCut[];
}

/**
 * Once the parts of the answer are written, which stand before what was held. `answer` names the chat or
 * thread.
 */
export function changeConversation(store: Store, answer: Answer, change: Change): Changed {
  const { message, topic, restart, settings } = answer;
  if (settings) changeSettings(store, message, settings);
  const restarted = restart ? [restartSession(store, answer, restart)] : [];
  if (!topic) return { cancelled: [], cuts: restarted };
  if ('to' in topic) return { ...switchTopic(store, message, { ...topic, session: answer.session }), cuts: restarted };
  const ended = deleteTopic(store, answer, topic, change);
  return { ...ended, cuts: [...restarted, ...ended.cuts] };
}

/** What is said in place of the answer that deletes a topic, where work of it goes on. */
export function goingOnParts(store: Store, { topic, session }: Answer): readonly NewPart[] | undefined {
  if (!topic || 'to' in topic) return undefined;
  const count = countBackground(store, inTopic(session, topic.gone));
  return count > 0 ? topic.parts?.(count) : undefined;
}

function switchTopic(
  store: Store,
  message: InboundMessage,
  { to, session }: Extract<TopicChange, { to: string }> & Pick<Place, 'session'>,
): Pick<Changed, 'cancelled'> {
  if (to !== '') unmarkGone(store, inTopic(session, to));
  changeTopics(store, message, { to });
  releaseHeld(store, inTopic(laneKey(message), to));
  return { cancelled: [] };
}

function deleteTopic(store: Store, answer: Answer, { gone }: Extract<TopicChange, { gone: string }>, change: Change): Changed {
  const { message } = answer;
  // It became active meanwhile.
  if (gone === '' || activeTopic(store, chatKey(message)) === gone) return { cancelled: [], cuts: [] };
  const session = inTopic(answer.session, gone);
  const lane = inTopic(answer.lane, gone);
  const cancelled = cancelConversation(store, { lane, session }, change);
  dropHeld(store, inTopic(laneKey(message), gone));
  endGrants(store, session);
  changeTopics(store, message, { gone });
  const isInUse = markGone(store, session, lane);
  return { cancelled, cuts: [{ ...addCut(store, session, message, { keep: 0, gone: true }), isInUse }] };
}

function restartSession(store: Store, answer: Answer, { topic, keep }: Restart): SessionCut {
  const session = inTopic(answer.session, topic);
  const lane = inTopic(answer.lane, topic);
  endGrants(store, session);
  const move = `UPDATE run SET workspace = coalesce(workspace, session), session = ?1 WHERE session = ?2 AND `;
  const to = archivedSession(session);
  // Should this be undone, runs of it are only looked up in vain.
  store.restarted.add(session);
  store.db.run(`${move} state = 'PARKED'`, to, session);
  // The lane, and those of its turns beside the order.
  for (const state of ['NEW', 'RUNNING']) {
    store.db.run(`${move} state = '${state}' AND lane = ?3`, to, session, lane);
    store.db.run(`${move} state = '${state}' AND lane >= ?3 AND lane < ?4`, to, session, `${lane}##`, `${lane}#$`);
  }
  return addCut(store, session, answer.message, { keep });
}

function addCut(store: Store, session: string, message: InboundMessage, cut: NonNullable<SessionMessage['cut']>): SessionCut {
  const timestamp = new Date(store.clock.now()).toISOString();
  const line: SessionMessage = { id: `${messageKey(message)}:cut`, role: 'system', content: '', timestamp, cut };
  addLines(store, session, [line]);
  return { session, line };
}
