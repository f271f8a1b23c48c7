/** Answers of ours that came back: a server took them, which made them SENT, and could not deliver them. */
import type { Clock } from '../../../src/core/ports.ts';
import { messageIds, readOwnId } from '../wire/thread.ts';
import { parseHeaders } from './mime.ts';

/** A report quotes the header of the mail it is about behind a few words and its reasons. */
const LOOKED_AT_BYTES = 256 * 1024;
const DAY_MS = 24 * 3_600_000;

/**
 * The id of our mail that a report says will not be delivered. Undefined for every other mail, also a report
 * that it is only late.
 */
export async function bouncedId(raw: Uint8Array, account: string): Promise<string | undefined> {
  const headers = await parseHeaders(raw);
  const failed = headers.some(({ name }) => name === 'x-failed-recipients');
  const report = headers.some(
    ({ name, value }) => name === 'content-type' && /^multipart\/report\b.*\bdelivery-status\b/is.test(value),
  );
  if (!failed && !report) return undefined;
  const text = Buffer.from(raw.subarray(0, LOOKED_AT_BYTES)).toString('latin1');
  if (!failed && !/^action:[ \t]*failed/im.test(text)) return undefined;
  return messageIds(text).find((id) => readOwnId(id, account) !== undefined);
}

/** Which answers came back within the last day, as far as this process saw. */
export class Bounces {
  readonly #clock: Clock;
  readonly #ids = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The same report read twice counts once. */
  add(id: string): void {
    this.#ids.set(id, this.#clock.now());
  }

  /** For the operator; undefined when there are none. */
  get detail(): string | undefined {
    const now = this.#clock.now();
    for (const [id, at] of this.#ids) if (now - at >= DAY_MS) this.#ids.delete(id);
    const count = this.#ids.size;
    if (count === 0) return undefined;
    return `${count} ${count === 1 ? 'answer' : 'answers'} of the last day came back as undeliverable: see email.undeliverable in the log`;
  }
}
