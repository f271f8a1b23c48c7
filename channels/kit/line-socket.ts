import { connect, isIP } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '../../src/core/ports.ts';

/** Far beyond what protocols of lines allow: what grows longer comes from no server of one. Characters. */
const LONGEST_LINE = 65_536;

export interface LineSocketOptions {
  readonly host: string;
  readonly port: number;
  /** With the certificate checked against the host's name. */
  readonly tls: boolean;
  /** ms without a line until `ask` is written; after twice as long the connection breaks. Default 60,000. */
  readonly quietMs?: number;
  /** What the other side must answer, e.g. `PING :alive`. */
  readonly ask: string;
  /** What servers bear: a line of `send` costs `lineMs`, and no more than `owedMs` may be owed. ms. */
  readonly pace: { readonly lineMs: number; readonly owedMs: number };
  readonly clock: Clock;
  /** Breaks the connection. */
  readonly signal: AbortSignal;
}

export interface LineSocket {
  /** In order, without their ends. Rejects when it did not connect or broke; leaving the loop closes it. */
  readonly lines: AsyncIterable<string>;
  /**
   * Writes each with CR LF behind it; the caller keeps those out of the text. On a broken connection nothing
   * happens: `lines` tells.
   */
  write(...lines: readonly string[]): void;
  /**
   * The same at the server's pace. `written` is called behind each: when this rejects with the signal's
   * reason, those lines have left.
   */
  send(lines: readonly string[], signal: AbortSignal, written: () => void): Promise<undefined>;
}

/** A connection of a protocol whose lines, in UTF-8, end with CR LF and at no other line break of Unicode. */
export function openLineSocket({ host, port, tls, quietMs = 60_000, ask, pace, clock, signal }: LineSocketOptions): LineSocket {
  const socket = tls ? connectTls({ host, port, ...(isIP(host) ? {} : { servername: host }) }) : connect(port, host);
  addAbortSignal(signal, socket).setEncoding('utf8');
  let heard = 0;
  const write = (...lines: readonly string[]): void => void socket.write(lines.map((line) => `${line}\r\n`).join(''));
  let paidAt = 0;
  const send = async (lines: readonly string[], until: AbortSignal, written: () => void): Promise<undefined> => {
    for (const line of lines) {
      paidAt = Math.max(paidAt, clock.monotonic()) + pace.lineMs;
      const waitMs = paidAt - pace.owedMs - clock.monotonic();
      if (waitMs > 0) await clock.sleep(waitMs, until);
      write(line);
      written();
    }
  };
  const watch = async (over: AbortSignal): Promise<void> => {
    for (let before = -1; before !== heard; ) {
      before = heard;
      await clock.sleep(quietMs, over);
      if (before === heard) write(ask);
      await clock.sleep(before === heard ? quietMs : 0, over);
    }
    socket.destroy(new Error(`nothing was heard for ${(2 * quietMs) / 1_000} s`));
  };
  async function* read(): AsyncGenerator<string> {
    const over = new AbortController();
    const watching = watch(over.signal).catch(() => undefined); // it was told to end
    let rest = '';
    try {
      for await (const chunk of socket) {
        heard += 1;
        const lines = (rest + chunk).split(/\r?\n/);
        rest = lines.pop() ?? '';
        yield* lines;
        if (rest.length > LONGEST_LINE) throw new Error(`a line is longer than ${LONGEST_LINE} characters`);
      }
    } finally {
      over.abort(new Error('the connection ended'));
      await watching;
    }
  }
  return { write, send, lines: read() };
}
