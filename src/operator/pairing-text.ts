/** What people are told who ask to be let in. */
import { laneKey, personKey, shortHash } from '../core/ids.ts';
import type { NewPart } from '../core/outbox.ts';
import type { PairingRequest } from '../core/pairing.ts';

/** As long as a note of ours is of use. */
const LET_IN_EXPIRES_MS = 24 * 3_600_000;
const HIDDEN = '********';

/** The answer that tells a code, made by `answer`. Once it is sent, the journal keeps it without the code. */
export function codeParts(code: string, answer: (text: string) => readonly NewPart[]): readonly NewPart[] {
  const text = `This assistant is private. To be let in, ask its owner to run:\n\`gatehouse pair approve ${code}\`\nThe code is valid for one hour.`;
  return answer(text).map((row) => ({ ...row, part: { ...row.part, keptAs: row.part.text.replaceAll(code, HIDDEN) } }));
}

/** Tells a person that they were let in, in the chat in which they asked. Empty where that is not known. */
export function letInParts(request: PairingRequest, now: number): readonly NewPart[] {
  const { channel, account, chatId } = request;
  if (chatId === undefined) return [];
  const address = { channel, account, chatId };
  // No message is called so: `#` is escaped there. Who was turned away since and is let in again is told
  // anew.
  const key = `#let-in/${shortHash(personKey(request), 32)}/${now}`;
  const part = { key, ...address, ordinal: 0, count: 1, text: 'You can talk to me now.' };
  return [{ part, lane: laneKey(address), expiresAt: now + LET_IN_EXPIRES_MS }];
}
