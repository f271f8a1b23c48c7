import { createHmac } from 'node:crypto';
import type { BenchCase } from '../bench.ts';
import { fromWebhook } from './in/inbound.ts';
import { verify } from './in/request.ts';
import { toPlainText } from './out/format.ts';

const [publicUrl, authToken, number] = ['https://bot.example.org/hooks/twilio', 'token', '+15005550006'];
const accountSid = `AC${'3'.repeat(32)}`;
const context = { channel: 'twilio', number, accountSid, isMediaHost: () => false, answerOptOutWords: false };

/** A signed webhook with the fields of a text message. */
export const benchCase: BenchCase = {
  receive(count) {
    const fields = new URLSearchParams({
      ...{ AccountSid: accountSid, ApiVersion: '2010-04-01', Body: `message ${count}`, From: '+14155550001', FromCountry: 'US' },
      ...{
        MessageSid: `SM${String(count).padStart(32, '0')}`,
        NumMedia: '0',
        NumSegments: '1',
        SmsStatus: 'received',
        To: number,
      },
    });
    const signed = [...fields].map((field) => field.join('')).join('');
    const signature = createHmac('sha1', authToken).update(`${publicUrl}${signed}`).digest('base64');
    const headers = { 'x-twilio-signature': signature, 'content-type': 'application/x-www-form-urlencoded' };
    const request = { method: 'POST', target: '/hooks/twilio', query: new URLSearchParams(), headers } as const;
    const body = Buffer.from(String(fields));
    return () => {
      const verdict = verify({ ...request, body }, { publicUrl, authToken });
      if (verdict.kind !== 'genuine') throw new Error(verdict.kind);
      return fromWebhook(verdict.fields, { ...context, now: Date.now() });
    };
  },
  render: toPlainText,
};
