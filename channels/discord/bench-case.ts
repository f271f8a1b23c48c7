import type { BenchCase } from '../bench.ts';
import type { JsonObject } from '../kit/json.ts';
import { type InboundContext, toMessage } from './in/inbound.ts';
import { toDiscordMarkdown } from './out/format.ts';

const BOT = '135000000000000001';
const CHAT = '130000000000000013';
const ADA = { id: '201000000000000001', username: 'ada', global_name: 'Ada Byron' };
const context: InboundContext = {
  channel: 'discord',
  to: { account: BOT, roles: new Set(), everyone: false },
  place: { id: CHAT },
};

/** A packet of the gateway. */
export const benchCase: BenchCase = {
  receive(number) {
    const fields = { id: String(1_400_000_000_000_000_000n + BigInt(number)), channel_id: CHAT, content: `message ${number}` };
    const d = { ...fields, type: 0, author: ADA, mentions: [], attachments: [] };
    const packet = JSON.stringify({ op: 0, t: 'MESSAGE_CREATE', s: number, d });
    return () => toMessage((JSON.parse(packet) as { d: JsonObject }).d, context);
  },
  render: toDiscordMarkdown,
};
