/** One part on its way: which of its lines were written, and what the server says of them. */
import type { SendResult } from '../../../src/core/channel.ts';
import { isDropped, refusalOf } from '../wire/failure.ts';
import type { Line } from '../wire/line.ts';

export class PartUnderWay {
  readonly #target: string;
  readonly #lines: number;
  #written = 0;
  #dropped = 0;

  /** `lines`: how many it has, without the ping behind them. */
  constructor(target: string, lines: number) {
    this.#target = target;
    this.#lines = lines;
  }

  get hasLeft(): boolean {
    return this.#written > 0;
  }

  /** A line of it was written; at last, its ping. */
  written(): void {
    this.#written += 1;
  }

  /**
   * What a line of the server makes of the part; undefined while nothing is known. A `PONG` may answer
   * another ping than that of this part.
   */
  heard(line: Line): SendResult | undefined {
    const { command, last } = line;
    if (command === 'PONG' && this.#dropped === 0) return { kind: 'sent', platformId: last };
    if (command === 'PONG')
      return { kind: 'unknown', detail: `${this.#dropped} of ${this.#lines} lines were dropped on the way` };
    if (!isDropped(line, this.#target)) return refusalOf(line, this.#target);
    this.#dropped += 1;
    // One that was passed on must not be written again: then the ping decides.
    const isAll = this.#dropped >= Math.min(this.#written, this.#lines);
    return isAll ? { kind: 'retry', reason: last, scope: 'account' } : undefined;
  }
}
