import { escapeText, toMrkdwn } from './format.ts';

/** Bytes of UTF-8 of a text as it is sent: rendered and escaped. What answers are cut by, and drafts. */
export function sentBytes(markdown: string): number {
  return Buffer.byteLength(toMrkdwn(markdown) || escapeText(markdown));
}
