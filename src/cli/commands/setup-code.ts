// the code that `gatehouse setup` shows, and that its owner sends to the bot
import { createHmac, randomInt } from 'node:crypto';

/** Without letters and digits that look alike. */
const ALPHABET = '23456789ABCDEFGHJKMNPQRSTVWXYZ';
const DRAWN = 4;
const MAC = 4;
const FORM = new RegExp(`^[${ALPHABET}]{${DRAWN + MAC}}$`);

/**
 * Eight letters. The last four follow from the first and the bot's token, so that a later setup of the same
 * bot knows the codes of earlier ones; without the token none of the eight can be told from the others.
 */
export function newCode(token: string): string {
  const drawn = Array.from({ length: DRAWN }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return drawn + macOf(token, drawn);
}

/** Whether a setup of the bot with this token made it; also of one in 800,000 other texts of the form. */
export function isCodeOf(token: string, text: string): boolean {
  return FORM.test(text) && macOf(token, text.slice(0, DRAWN)) === text.slice(DRAWN);
}

function macOf(token: string, drawn: string): string {
  const bytes = createHmac('sha256', token).update(`setup ${drawn}`).digest();
  return Array.from({ length: MAC }, (_, n) => ALPHABET[bytes.readUInt32BE(4 * n) % ALPHABET.length]).join('');
}
