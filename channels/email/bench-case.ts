import { readFileSync } from 'node:fs';
import type { BenchCase } from '../bench.ts';
import { type InboundOptions, toInbound } from './in/inbound.ts';
import { toHtml } from './out/format.ts';

const REPLY = readFileSync(new URL('./fixtures/accepted/reply-gmail.eml', import.meta.url), 'utf8');
const options: InboundOptions = {
  channel: 'email',
  account: 'bot@example.test',
  trustFrom: false,
  authservId: 'mx.example.test',
  maxBodyChars: 10_000,
  maxFileBytes: 20_000_000,
};

/** A whole mail, text and HTML, that answers an earlier one. */
export const benchCase: BenchCase = {
  receive(number) {
    const raw = Buffer.from(REPLY.replace(/^Message-ID: .*$/im, `Message-ID: <m${number}@example.test>`));
    const facts = { uidValidity: '7', uid: number + 1, receivedAt: Date.now(), size: raw.length };
    return () => toInbound(raw, facts, options);
  },
  render: toHtml,
};
