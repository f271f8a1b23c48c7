/** The adapter: the terminal of this process. Shaping is `inbound.ts` and `outbound.ts`. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createInterface, type Interface } from 'node:readline';
import type { Channel, ChannelHost, ChannelLimits, SendOptions, SendResult, Terminal } from '../../src/core/channel.ts';
import { errorText } from '../../src/core/errors.ts';
import type { InboundMessage, OutboundPart } from '../../src/core/message.ts';
import type { Clock } from '../../src/core/ports.ts';
import { writeFileAtomic } from '../../src/lib/atomic-file.ts';
import { JOURNAL_FULL } from '../kit/offer.ts';
import { lineToMessage } from './inbound.ts';
import { partToText } from './outbound.ts';

const LIMITS: ChannelLimits = {
  text: 1_000_000,
  unit: 'codepoint',
  caption: 1_000_000,
  uploadBytes: Number.MAX_SAFE_INTEGER,
  downloadBytes: 0,
};
const PROMPT = '> ';
const HISTORY_LINES = 1_000;
const RETRY_MS = 1_000;

/** Reads lines, prints answers. One instance per process: it owns the terminal it was given. */
export class CliChannel implements Channel {
  readonly name: string;
  readonly type = 'cli';
  readonly account = 'local';
  readonly limits = LIMITS;
  /** Nothing types a line again after a crash. */
  readonly inboundClass = 'C';
  readonly sendClass = 'blind';
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #run = randomUUID();
  #readline: Interface | undefined;
  #reading: Promise<void> | undefined;
  #closed = false;
  #host: ChannelHost | undefined;

  constructor(name: string, terminal: Terminal, clock: Clock) {
    this.name = name;
    this.#terminal = terminal;
    this.#clock = clock;
  }

  async start(host: ChannelHost, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#host = host;
    const { input, output, interactive, historyFile, message, onPrompt } = this.#terminal;
    if (message !== undefined) {
      host.health('healthy');
      this.#reading = this.#offer(host, message, 1, signal).then(() => host.ended());
      return;
    }
    const history = interactive && historyFile ? await readHistory(historyFile) : [];
    const readline = createInterface({
      input,
      ...(interactive
        ? { output, terminal: true, history, historySize: HISTORY_LINES, prompt: PROMPT, removeHistoryDuplicates: true }
        : {}),
      crlfDelay: Number.POSITIVE_INFINITY,
    });
    this.#readline = readline;
    readline.once('close', () => {
      this.#closed = true;
    });
    if (interactive) onPrompt?.(this.#redraw);
    // readline takes Ctrl-C for itself on a terminal; the process's own handler decides what it means.
    readline.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    let entered: string[] = history;
    readline.on('history', (lines: string[]) => {
      entered = lines;
    });
    signal.addEventListener('abort', () => readline.close(), { once: true });
    host.health('healthy');
    this.#reading = this.#read(readline, host, signal).finally(async () => {
      if (interactive && historyFile) await writeFileAtomic(historyFile, entered.toReversed().join('\n'), { mode: 0o600 });
    });
  }

  async stop(): Promise<void> {
    this.#readline?.close();
    await this.#reading;
    this.#host?.health('stopped');
    this.#host = undefined;
  }

  async send(part: OutboundPart, { signal }: Pick<SendOptions, 'signal'>): Promise<SendResult> {
    if (signal.aborted) return { kind: 'retry', reason: 'stopped before it was printed', scope: 'part' };
    const text = partToText(part);
    try {
      await new Promise<void>((resolve, reject) => {
        if (this.#terminal.interactive) this.#terminal.output.write('\r\u001b[K');
        this.#terminal.output.write(text, (error) => (error ? reject(error) : resolve()));
      });
    } catch (error) {
      // Nobody reads any more, so nobody will write either.
      this.#readline?.close();
      this.#host?.ended();
      return { kind: 'refused', reason: 'chat-gone', detail: `the terminal is closed: ${String(error)}` };
    }
    this.#redraw();
    return { kind: 'sent', platformId: part.key };
  }

  /** The prompt and what was typed so far; nothing once the input has ended, when readline would throw. */
  readonly #redraw = (): void => {
    if (this.#terminal.interactive && !this.#closed) this.#readline?.prompt(true);
  };

  async #read(readline: Interface, host: ChannelHost, signal: AbortSignal): Promise<void> {
    this.#redraw();
    let number = 0;
    for await (const line of readline) {
      if (line.trim() !== '') {
        number += 1;
        await this.#offer(host, line, number, signal);
      }
      this.#redraw();
    }
    if (!signal.aborted) host.ended();
  }

  /**
   * A line that the journal cannot take now is offered until it can: nothing else remembers it. So one that was read is offered after
   * the stop as well, once; the next start answers it.
   */
  async #offer(host: ChannelHost, line: string, number: number, signal: AbortSignal): Promise<void> {
    const message = lineToMessage(line, { channel: this.name, run: this.#run, number, now: this.#clock.now() });
    for (let refused = false; ; refused = true) {
      if (await this.#accepts(host, message)) {
        if (refused && !signal.aborted) host.health('healthy');
        return;
      }
      if (signal.aborted) break;
      await this.#clock.sleep(RETRY_MS, signal).catch(() => undefined);
    }
    host.health('down', 'a line could not be stored before the stop: enter it again');
  }

  async #accepts(host: ChannelHost, message: InboundMessage): Promise<boolean> {
    try {
      if ((await host.receive([message])).kind === 'accepted') return true;
      host.health('degraded', JOURNAL_FULL);
    } catch (error) {
      host.health('down', `messages cannot be stored, trying again: ${errorText(error)}`);
    }
    return false;
  }
}

async function readHistory(file: string): Promise<string[]> {
  try {
    return (await readFile(file, 'utf8')).split('\n').filter(Boolean).slice(-HISTORY_LINES).toReversed();
  } catch {
    return []; // no history yet, or not readable: typing still works
  }
}
