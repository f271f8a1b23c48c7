import type { EventBase, RunEvent } from '../core/events.ts';
import type { AgentRun } from '../core/turn.ts';

type WithoutBase<E> = E extends unknown ? Omit<E, keyof EventBase> : never;

/** Takes an event without what all events of a run share. */
export type AgentEmit = (event: WithoutBase<RunEvent>) => void;

export function agentEmit({ runId, session, channel, clock, emit }: AgentRun): AgentEmit {
  return (event) => emit({ ...event, at: clock.now(), messageId: runId, session, channel });
}
