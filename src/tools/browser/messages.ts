/** What a session and its driver tell each other: one JSON document a message. */
import { z } from 'zod';
import type { BrowserRequest } from '../../core/browser.ts';
import { MAX_NOTE_CHARS, MAX_NOTES, MAX_PNG_BYTES, MAX_TEXT_CHARS, MAX_TITLE_CHARS, MAX_URL_CHARS } from './limits.ts';

/** For the driver, which does not load zod: it believes the daemon. */
export interface ToDriver extends BrowserRequest {
  readonly id: number;
  /** Where the page was when the action was allowed: one that may change a page is done on no other one. */
  readonly page: string;
}

/** The driver is where pages of strangers are: nothing that it says is believed unread. */
export const fromDriver = z.discriminatedUnion('kind', [
  z.strictObject({
    ...{ kind: z.literal('done'), id: z.int(), url: z.string().max(MAX_URL_CHARS), title: z.string().max(MAX_TITLE_CHARS) },
    output: z.string().max(MAX_TEXT_CHARS + 1_000),
    notes: z.array(z.string().max(MAX_NOTE_CHARS)).max(MAX_NOTES),
    png: z
      .base64()
      .max(Math.ceil((MAX_PNG_BYTES * 4) / 3) + 4)
      .optional(),
  }),
  /** `isLast`: the driver ends after it. `url`: the page, for an action that was allowed on another one. */
  z.strictObject({
    ...{ kind: z.literal('failed'), id: z.int(), reason: z.string().max(2_000), isLast: z.boolean() },
    url: z.string().max(MAX_URL_CHARS).optional(),
  }),
]);
export type FromDriver = z.output<typeof fromDriver>;
