/** The adapter: the terminal of this process. Shaping is `inbound.ts` and `outbound.ts`. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createInterface, type Interface } from 'node:readline';
import type { Channel, ChannelHost, ChannelLimits, SendOptions, SendResult, Terminal } from '../../src/core/channel.ts';
import { errorText } from '../../src/core/errors.ts';
import { draftKey } from '../../src/core/ids.ts';
import type { InboundMessage, OutboundPart } from '../../src/core/message.ts';
import type { Clock } from '../../src/core/ports.ts';
import { writeFileAtomic } from '../../src/lib/atomic-file.ts';
import { JOURNAL_FULL } from '../kit/offer.ts';
import { lineToMessage, MAX_LINE } from './inbound.ts';
import { partToText } from './outbound.ts';
import { LINE_FEED, PASTE_OFF, PASTE_ON, PasteFilter } from './paste.ts';
import { PromptScreen } from './screen.ts';

const LIMITS: ChannelLimits = {
  text: 1_000_000,
  unit: 'codepoint',
  caption: 1_000_000,
  uploadBytes: Number.MAX_SAFE_INTEGER,
  downloadBytes: 0,
};
const HISTORY_LINES = 1_000;
const RETRY_MS = 1_000;
/** What a person types to leave (spec K). */
const LEAVE = new Set(['exit', 'quit', '/exit', '/quit', ':q']);
const CLEAR_SCREEN = '\u001b[2J\u001b[3J\u001b[H';

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
  #number = 0;
  /** Of a person at an interactive terminal; on a pipe what was printed stays as it is. */
  readonly edit?: NonNullable<Channel['edit']>;
  readonly typing?: NonNullable<Channel['typing']>;
  readonly #screen: PromptScreen | undefined;
  #readline: Interface | undefined;
  #reading: Promise<void> | undefined;
  #closed = false;
  #host: ChannelHost | undefined;

  constructor(name: string, terminal: Terminal, clock: Clock) {
    this.name = name;
    this.#terminal = terminal;
    this.#clock = clock;
    if (!terminal.interactive) return;
    const { output, unicode = true } = terminal;
    const screen = new PromptScreen({ output, clock, unicode });
    this.#screen = screen;
    this.edit = (platformId, part, { signal }) => this.#print(part, signal, platformId);
    this.typing = async (_place, signal) => screen.busy(signal);
  }

  async start(host: ChannelHost, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#host = host;
    const { input, output, interactive, historyFile, message, onPrompt } = this.#terminal;
    if (message !== undefined) {
      host.health('healthy');
      this.#reading = this.#offer(host, message, signal).then(() => host.ended());
      return;
    }
    const history = interactive && historyFile ? await readHistory(historyFile) : [];
    const typed = interactive ? new PasteFilter(input, this.#clock) : undefined;
    const readline = createInterface({
      input: typed ?? input,
      ...(interactive ? { output, terminal: true, history, historySize: HISTORY_LINES, removeHistoryDuplicates: true } : {}),
      crlfDelay: Number.POSITIVE_INFINITY,
    });
    this.#readline = readline;
    this.#screen?.attach(readline);
    if (interactive) output.write(PASTE_ON);
    readline.once('close', () => {
      this.#closed = true;
      this.#screen?.attach(undefined);
      typed?.destroy();
      if (interactive) output.write(PASTE_OFF);
    });
    if (interactive) onPrompt?.(() => this.#screen?.interrupted());
    let stopped = 0;
    // readline takes Ctrl-C for itself on a terminal. The first one is for the turn under way, if there is
    // one.
    readline.on('SIGINT', () => {
      const isFirst = this.#screen?.isBusy === true && stopped !== this.#number;
      if (isFirst) void this.#offer(host, '/stop', signal);
      else process.kill(process.pid, 'SIGINT');
      // The stop is a line of its own, and counts.
      stopped = this.#number;
    });
    let entered: string[] = history;
    readline.on('history', (lines: string[]) => {
      entered = lines;
    });
    signal.addEventListener('abort', () => readline.close(), { once: true });
    host.health('healthy');
    this.#reading = this.#read(readline, host, signal).finally(async () => {
      if (!interactive || !historyFile) return;
      // It must not fail the channel, whose last answer may still come.
      await writeFileAtomic(historyFile, entered.toReversed().join('\n'), { mode: 0o600 }).catch((error: unknown) => {
        this.#terminal.tell?.(`the history of this terminal is not stored: ${errorText(error)}`);
      });
    });
  }

  async stop(): Promise<void> {
    this.#readline?.close();
    await this.#reading;
    this.#host?.health('stopped');
    this.#host = undefined;
  }

  async send(part: OutboundPart, { signal }: Pick<SendOptions, 'signal'>): Promise<SendResult> {
    return await this.#print(part, signal);
  }

  /** `platformId`: of the part whose place it takes. */
  async #print(part: OutboundPart, signal: AbortSignal, platformId = part.key): Promise<SendResult> {
    if (signal.aborted) return { kind: 'retry', reason: 'stopped before it was printed', scope: 'part' };
    const { output, colors = true, unicode = true } = this.#terminal;
    const screen = this.#screen;
    const text = partToText(part, screen ? { colors, unicode } : undefined);
    try {
      if (screen && part.key.endsWith(draftKey(''))) await screen.grow(text, platformId);
      else if (screen) await screen.print(text, platformId);
      else await new Promise<void>((resolve, reject) => output.write(text, (error) => (error ? reject(error) : resolve())));
    } catch (error) {
      // Nobody reads any more, so nobody will write either.
      this.#readline?.close();
      this.#host?.ended();
      return { kind: 'refused', reason: 'chat-gone', detail: `the terminal is closed: ${String(error)}` };
    }
    return { kind: 'sent', platformId };
  }

  /** The prompt and what was typed so far; nothing once the input has ended, when readline would throw. */
  readonly #redraw = (): void => {
    if (!this.#closed) this.#screen?.draw();
  };

  async #read(readline: Interface, host: ChannelHost, signal: AbortSignal): Promise<void> {
    this.#redraw();
    for await (const line of readline) {
      this.#screen?.entered();
      const command = this.#screen ? line.trim() : '';
      if (LEAVE.has(command)) {
        readline.close();
        break;
      }
      if (command === '/clear') this.#terminal.output.write(CLEAR_SCREEN);
      else if (line.trim() !== '') await this.#offer(host, this.#screen ? line.replaceAll(LINE_FEED, '\n') : line, signal);
      this.#redraw();
    }
    if (!signal.aborted) host.ended();
  }

  /**
   * A line that the journal cannot take now is offered until it can: nothing else remembers it. So a line
   * that was read is offered after the stop as well, once; the next start answers it.
   */
  async #offer(host: ChannelHost, line: string, signal: AbortSignal): Promise<void> {
    this.#number += 1;
    const place = { channel: this.name, run: this.#run, number: this.#number, now: this.#clock.now() };
    const message = lineToMessage(line, place);
    if (line.length > MAX_LINE)
      this.#terminal.tell?.(
        `this text has ${line.length} characters: the agent gets the first ${MAX_LINE}; send the rest as a file`,
      );
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
