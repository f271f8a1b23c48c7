import type { Emit, EventBase } from '../core/events.ts';
import type { OutboundPart } from '../core/message.ts';
import { expiryReason, type Settlement } from '../core/outbox.ts';

/** The event that tells observers what a part came to. */
export function settledEvent(part: OutboundPart, settlement: Settlement, at: number, ms = 0): Parameters<Emit>[0] {
  const base: EventBase & { key: string } = {
    at,
    channel: part.channel,
    key: part.key,
    ...(part.messageId !== undefined && { messageId: part.messageId }),
  };
  switch (settlement.kind) {
    case 'sent':
      return { ...base, type: 'part.sent', ms: Math.round(ms) };
    case 'retry':
      return { ...base, type: 'part.retry', reason: settlement.reason, waitMs: Math.max(0, settlement.notBefore - at) };
    case 'unknown':
      return { ...base, type: 'part.unknown', reason: settlement.reason };
    case 'dead':
      return { ...base, type: 'part.dead', reason: settlement.reason };
    case 'expired':
      return { ...base, type: 'part.expired', reason: expiryReason(settlement) };
  }
}
