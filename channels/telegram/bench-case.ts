import type { Update } from 'grammy/types';
import type { BenchCase } from '../bench.ts';
import fixtures from './fixtures/private.json' with { type: 'json' };
import { toInbound } from './in/inbound.ts';
import { toTelegramHtml } from './out/format.ts';

const context = { channel: 'telegram', account: '700001', me: { id: 700_001, username: 'gatehouse_bot' } };

/** An answer to `getUpdates`. */
export const benchCase: BenchCase = {
  receive(number) {
    const message = { ...fixtures.text.message, message_id: number, text: `message ${number}` };
    const body = JSON.stringify({ ok: true, result: [{ update_id: number, message }] });
    return () => {
      const [update] = (JSON.parse(body) as { result: Update[] }).result;
      return update && toInbound(update, context);
    };
  },
  render: toTelegramHtml,
};
