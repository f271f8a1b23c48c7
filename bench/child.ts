import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';

/** Longest wait for a process that was asked to end; then it is killed. */
const END_MS = 20_000;
/** Characters of output that are kept, to wait for a line and for the error when the process fails. */
const KEPT_OUTPUT = 4_000;

export interface ChildOptions {
  /** Arguments of this Node, or of `command`. */
  readonly args: readonly string[];
  readonly command?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Standard input stays open, as a terminal's does, and says nothing. Else it is at its end. */
  readonly openInput?: boolean;
}

/** One process of the benchmark. Disposing ends it by SIGTERM and waits; twice is safe. */
export class Child implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #watchers = new Set<() => void>();
  readonly #ended: Promise<void>;
  readonly startedAt = performance.now();
  #output = '';

  /** The environment is PATH, HOME, TMPDIR and `env` alone: no setting of the caller changes a figure. */
  constructor(options: ChildOptions) {
    const { PATH = '', HOME = '', TMPDIR } = process.env;
    this.#process = spawn(options.command ?? process.execPath, options.args, {
      env: { PATH, HOME, ...(TMPDIR ? { TMPDIR } : {}), ...options.env },
      ...(options.cwd ? { cwd: options.cwd } : {}),
      stdio: [options.openInput ? 'pipe' : 'ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.on('data', (chunk: Buffer) => this.#read(String(chunk)));
    }
    this.#ended = new Promise((resolve) => {
      this.#process.once('close', () => resolve());
      this.#process.once('error', () => resolve());
    });
    void this.#ended.then(() => this.#notify());
  }

  get pid(): number {
    return this.#process.pid ?? -1;
  }

  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null || this.#process.pid === undefined;
  }

  /** Waits until the output so far holds the pattern. Rejects when the process ends or the time is over. */
  waitFor(pattern: RegExp, timeoutMs = 20_000): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const settle = (done: () => void): void => {
        clearTimeout(timer);
        this.#watchers.delete(look);
        done();
      };
      const look = (): void => {
        const match = pattern.exec(this.#output);
        if (match) settle(() => resolve(match));
        else if (this.hasEnded) settle(() => reject(new Error(`process ended early:\n${this.#output}`)));
      };
      const timer = setTimeout(
        () => settle(() => reject(new Error(`no ${pattern} within ${timeoutMs} ms:\n${this.#output}`))),
        timeoutMs,
      );
      this.#watchers.add(look);
      look();
    });
  }

  /** Sends a message and resolves with the next one that comes back. One at a time. */
  ask<Answer>(question: unknown, timeoutMs: number): Promise<Answer> {
    const answer = this.next<Answer>(timeoutMs);
    this.#process.send(question as object);
    return answer;
  }

  /** The next message of the process. */
  next<Message>(timeoutMs: number): Promise<Message> {
    return new Promise((resolve, reject) => {
      const settle = (done: () => void): void => {
        clearTimeout(timer);
        this.#watchers.delete(look);
        this.#process.off('message', answered);
        done();
      };
      const answered = (answer: unknown): void => settle(() => resolve(answer as Message));
      const look = (): void => {
        if (this.hasEnded) settle(() => reject(new Error(`process ended early:\n${this.#output}`)));
      };
      const timer = setTimeout(
        () => settle(() => reject(new Error(`no answer within ${timeoutMs} ms:\n${this.#output}`))),
        timeoutMs,
      );
      this.#process.once('message', answered);
      this.#watchers.add(look);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.hasEnded) return this.#ended;
    this.#process.kill('SIGTERM');
    const kill = setTimeout(() => this.#process.kill('SIGKILL'), END_MS);
    await this.#ended;
    clearTimeout(kill);
  }

  #read(text: string): void {
    this.#output = (this.#output + text).slice(-KEPT_OUTPUT);
    this.#notify();
  }

  #notify(): void {
    for (const look of this.#watchers) look();
  }
}

/** Resident memory in MB of 10^6 bytes. Linux only; NaN elsewhere. */
export async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return (Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024) / 1e6;
}
