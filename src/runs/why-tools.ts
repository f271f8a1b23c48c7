/** What the tools of a run came to, for `why`. */
import type { RunEvent } from '../core/events.ts';
import { counted } from '../lib/counted.ts';
import type { Gate } from './why-reasons.ts';

type Of<Type extends RunEvent['type']> = Extract<RunEvent, { readonly type: Type }>;

/** The key of the config that refused a call is in `detail`: it is for the operator. */
export function toolsGate(events: readonly RunEvent[]): Gate | undefined {
  const done = events.filter((event) => event.type === 'tool.done');
  const unknown = events.findLast((event) => event.type === 'tool.unknown');
  if (unknown) return { gate: 'tools', state: 'failed', text: `it is not known whether ${unknown.tool} took effect` };
  const denied = deniedOf(events);
  const held = heldCall(events);
  if (done.length + denied.length === 0 && !held) return undefined;
  const failed = done.filter(({ ok }) => !ok).length;
  const newest = denied.at(-1);
  const text = [
    counted(done.length, 'call'),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(newest ? [`${denied.length} refused (${deniedText(newest)})`] : []),
    ...(held ? [`${held.tool} waits for a yes: ${held.reason}`] : []),
  ].join(', ');
  const state = newest ? 'failed' : held ? 'waits' : 'passed';
  return { gate: 'tools', state, text, ...(newest?.key === undefined ? {} : { detail: newest.key }) };
}

/** Each call once: after a crash it may be refused again. */
export function deniedOf(events: readonly RunEvent[]): readonly Of<'tool.denied'>[] {
  const denied = events.filter((event) => event.type === 'tool.denied');
  return [...new Map(denied.map((event) => [event.callId, event])).values()];
}

export function deniedText({ tool, reason }: Of<'tool.denied'>): string {
  return `${tool} was not allowed: ${reason}`;
}

/** The newest call that waits for a yes; undefined = none does. */
export function heldCall(events: readonly RunEvent[]): Of<'tool.asked'> | undefined {
  const began = (callId: string): boolean =>
    events.some((event) => 'callId' in event && event.callId === callId && event.type !== 'tool.asked');
  const settled = (callId: string): boolean => events.some((event) => event.type === 'settled' && event.callId === `${callId}!`);
  return events.findLast(
    (event): event is Of<'tool.asked'> => event.type === 'tool.asked' && !began(event.callId) && !settled(event.callId),
  );
}
