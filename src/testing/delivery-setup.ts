/** Delivery over a scripted platform and a journal that can crash, for the tests of `src/delivery`. */
import type { SendClass, SendResult } from '../core/channel.ts';
import { laneKey, partKey, principalOf, sessionKey } from '../core/ids.ts';
import type { InboundMessage, OutboundPart } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import type { ChatRow, TurnResult } from '../core/run.ts';
import { createDelivery } from '../delivery/deliver.ts';
import type { DeliveryOptions } from '../delivery/delivery-options.ts';
import { FakeClock, outbound, recordEvents } from './fakes.ts';
import { MemoryJournal } from './memory-journal.ts';
import { type Script, ScriptedChannel } from './scripted-channel.ts';

export const HOUR = 3_600_000;

/** The parts of one answer, `text 0` and so on. */
export function answer(count: number, override: Partial<OutboundPart> = {}, expiresAt = Date.UTC(2026, 0, 2)): NewPart[] {
  const messageId = override.messageId ?? 'm-1';
  return Array.from({ length: count }, (_, ordinal) => {
    const part = outbound({ messageId, ordinal, count, text: `text ${ordinal}`, ...override, key: partKey(messageId, ordinal) });
    return { part, lane: laneKey(part), expiresAt };
  });
}

/** The run that a message began, in its first attempt unless `generation` says otherwise. */
export function runOf(message: InboundMessage, generation = 1): ChatRow {
  return {
    ...{ seq: 1, key: message.id, profile: 'session', lane: laneKey(message), session: sessionKey(message) },
    ...{ source: { kind: 'chat' }, message, attempts: generation, generation, acceptedAt: message.timestamp },
    authority: { principal: principalOf(message), role: 'member', mode: 'guarded', policies: [] },
  };
}

/** What a run comes to that was answered. */
export function answered(parts: readonly NewPart[]): TurnResult {
  return { seq: 1, generation: 1, state: 'DONE', outcome: 'answered', lines: [], parts };
}

/** Times are those of the fake clock; `post` commits parts and pokes their lanes. */
export function setup(
  options: { sendClass?: SendClass; channel?: ScriptedChannel; clock?: FakeClock } & Partial<DeliveryOptions> = {},
) {
  const clock = options.clock ?? new FakeClock();
  const journal = (options.journal as MemoryJournal | undefined) ?? new MemoryJournal(clock);
  const channel = options.channel ?? new ScriptedChannel(clock, { ...(options.sendClass && { sendClass: options.sendClass }) });
  const { emit, events } = recordEvents();
  const {
    channels = new Map([[channel.name, channel]]),
    policy,
    ready,
    maxAttempts = 8,
    reactions,
    streams,
    statusLine,
  } = options;
  const delivery = createDelivery({
    journal,
    channels,
    clock,
    random: () => 0.5,
    emit,
    maxAttempts,
    ...(policy && { policy }),
    ...(ready && { ready }),
    ...(reactions && { reactions }),
    ...(streams && { streams }),
    ...(statusLine && { statusLine }),
  });
  const post = async (parts: readonly NewPart[]) => {
    await journal.enqueue(parts);
    for (const part of parts) delivery.poke(part.lane);
  };
  const states = () => [...journal.rows.values()].map((row) => row.state);
  const types = () => events.map((event) => event.type);
  return { clock, journal, channel, delivery, events, post, states, types };
}

/** The process dies where it stands and starts again on what was committed. */
export async function restart(before: ReturnType<typeof setup>, options: Partial<DeliveryOptions> = {}) {
  const journal = before.journal.crash();
  before.channel.script = () => undefined;
  const after = setup({ ...options, clock: before.clock, channel: before.channel, journal });
  const { sending, outboxLanes } = await journal.recover();
  await after.delivery.recover(sending, outboxLanes);
  return after;
}

export const on = (key: string, script: Script) => (part: OutboundPart) => (part.key === key ? script : undefined);
export const refused = (reason: Extract<SendResult, { kind: 'refused' }>['reason']): Script => ({
  kind: 'refused',
  reason,
  detail: 'no',
});
export const busy = (afterMs: number, scope: 'part' | 'chat' | 'account' = 'chat'): Script => ({
  kind: 'retry',
  reason: '429',
  afterMs,
  scope,
});
