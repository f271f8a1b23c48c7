import type { BenchCase } from '../bench.ts';
import type { JsonObject } from '../kit/json.ts';
import { toInbound } from './in/inbound.ts';
import type { InboundContext } from './in/inbound-fields.ts';
import { toMrkdwn } from './out/format.ts';

const context: InboundContext = {
  channel: 'slack',
  account: '1-2',
  me: { userId: 'U0BOT', botId: 'B0BOT', teamId: 'T1' },
  replyInThread: true,
  directThreads: false,
  followThreads: true,
  allowedBots: new Set(),
  commands: [],
  joined: () => false,
  now: Date.now(),
};

/** An envelope of socket mode. */
export const benchCase: BenchCase = {
  receive(number) {
    const ts = `1767225600.${String(number).padStart(6, '0')}`;
    const place = { type: 'message', channel: 'D1', channel_type: 'im', user: 'U1', team: 'T1' };
    const event = { ...place, text: `message ${number}`, ts, event_ts: ts };
    const payload = { type: 'event_callback', team_id: 'T1', event_id: `Ev${number}`, event };
    const envelope = JSON.stringify({ envelope_id: `e${number}`, type: 'events_api', payload });
    return () => toInbound({ kind: 'event', body: (JSON.parse(envelope) as { payload: JsonObject }).payload }, context);
  },
  render: toMrkdwn,
};
