import { createInterface } from 'node:readline';
import type { FaultKind, Platform, SeenMessage, TerminalOwner } from './platform.ts';

/** A person looks at what was printed: nothing is typed while more of it comes. */
const READING_MS = 20;

/**
 * The person at the terminal the daemon was started in. They type when it says that it is ready, and the
 * next line when something was printed after the last. What they typed to a process that was killed they do
 * not type again.
 */
class TerminalPlatform implements Platform {
  readonly type = 'cli';
  readonly needsFirstStart = false;
  readonly people = 1;
  readonly channel = { type: 'cli' };
  readonly env = {};
  /** Nothing lies between the person and the process. */
  readonly faults: readonly FaultKind[] = [];
  /** Not typed yet. */
  #lines: string[] = [];
  #screen: SeenMessage[] = [];
  #gone: string[] = [];
  #daemon: TerminalOwner | undefined;
  /** Typed to this process. */
  #typed: string[] = [];
  #ready = false;
  /** A line was typed, and nothing has been printed since. */
  #awaiting = false;
  #reading: NodeJS.Timeout | undefined;

  async begin(): Promise<void> {
    this.#lines = [];
    this.#screen = [];
    this.#gone = [];
    this.#leave();
  }

  attach(daemon: TerminalOwner): void {
    this.#leave();
    this.#daemon = daemon;
    const { stdin, stdout, stderr } = daemon;
    if (!stdin || !stdout || !stderr) throw new Error('a terminal needs the three streams of the process');
    // The process may be killed while a line is written to it.
    stdin.on('error', () => undefined);
    createInterface({ input: stdout }).on('line', (line) => {
      if (line !== '') this.#screen.push({ person: 0, text: line, at: Date.now() });
      clearTimeout(this.#reading);
      this.#reading = setTimeout(() => {
        this.#awaiting = false;
        this.#type();
      }, READING_MS);
    });
    let said = '';
    stderr.on('data', (chunk) => {
      if (this.#ready) return;
      said += String(chunk);
      this.#ready = / ready in /.test(said);
      this.#type();
    });
    daemon.once('exit', (_code, signal) => {
      if (this.#daemon !== daemon) return;
      if (signal === 'SIGKILL') this.#gone.push(...this.#typed);
      this.#leave();
    });
  }

  async write(_person: number, text: string): Promise<void> {
    this.#lines.push(text);
    this.#type();
  }

  async seen(): Promise<readonly SeenMessage[]> {
    return this.#screen;
  }

  async waiting(): Promise<number> {
    return this.#lines.length + (this.#awaiting ? 1 : 0);
  }

  async notOffered(): Promise<readonly string[]> {
    return this.#gone;
  }

  fault(kind: FaultKind): void {
    throw new Error(`a terminal knows no ${kind}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#leave();
  }

  #type(): void {
    if (!this.#daemon || !this.#ready || this.#awaiting) return;
    const line = this.#lines.shift();
    if (line === undefined) return;
    this.#awaiting = true;
    this.#typed.push(line);
    this.#daemon.stdin?.write(`${line}\n`);
  }

  #leave(): void {
    clearTimeout(this.#reading);
    this.#daemon = undefined;
    this.#typed = [];
    this.#ready = false;
    this.#awaiting = false;
  }
}

/** Standard input and output of the daemon's own process; one line of the screen is one message. */
export async function startTerminalPlatform(): Promise<Platform> {
  return new TerminalPlatform();
}
