/**
 * The platform's side of signed requests: one after the other, events tried again until they are answered
 * with 200. What people press, choose or command is sent once.
 */
import { createHmac, randomUUID } from 'node:crypto';
import type { SlackTransport } from './server.ts';

type Json = Readonly<Record<string, unknown>>;

export const SIGNING_SECRET = '8f742231b10e8888abcd99yyyzzz85a5';

/** The two headers of https://docs.slack.dev/authentication/verifying-requests-from-slack. */
export function signSlackRequest(
  body: string | Buffer,
  stampSecs = Math.floor(Date.now() / 1_000),
  secret = SIGNING_SECRET,
): Record<string, string> {
  const signature = createHmac('sha256', secret).update(`v0:${stampSecs}:`).update(body).digest('hex');
  return { 'x-slack-request-timestamp': String(stampSecs), 'x-slack-signature': `v0=${signature}` };
}

export class SlackRequests implements SlackTransport, AsyncDisposable {
  /** Statuses in the order of the answers. */
  readonly answers: number[] = [];
  /** Longest time an answer took, ms. */
  slowestMs = 0;
  readonly #url: string;
  readonly #retryMs: number;
  readonly #waiting: { readonly type: string; readonly payload: Json; attempts: number }[] = [];
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  /** `retryMs`: the real platform waits not at all, then a minute, then five. */
  constructor(url: string, retryMs = 40) {
    this.#url = url;
    this.#retryMs = retryMs;
  }

  get unacknowledged(): number {
    return this.#waiting.length;
  }

  /** What waits is never delivered again, as after the platform's last try. */
  giveUp(): void {
    this.#waiting.length = 0;
  }

  deliver(type: 'events_api' | 'interactive' | 'slash_commands', payload: Json): string {
    this.#waiting.push({ type, payload, attempts: 0 });
    if (this.#waiting.length === 1) this.#running = this.#run();
    return randomUUID();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    for (let next = this.#waiting[0]; next && !this.#stop.signal.aborted; next = this.#waiting[0]) {
      const started = performance.now();
      const status = await this.#post(next.type, next.payload, next.attempts);
      if (this.#stop.signal.aborted) return;
      this.answers.push(status);
      this.slowestMs = Math.max(this.slowestMs, performance.now() - started);
      next.attempts += 1;
      if (this.#waiting[0] !== next) continue;
      if (status === 200 || next.type !== 'events_api') this.#waiting.shift();
      else await new Promise((resolve) => setTimeout(resolve, this.#retryMs));
    }
  }

  async #post(type: string, payload: Json, attempts: number): Promise<number> {
    const json = JSON.stringify(payload);
    const form =
      type === 'interactive' ? new URLSearchParams({ payload: json }) : new URLSearchParams(payload as Record<string, string>);
    const body = type === 'events_api' ? json : form.toString();
    const headers = {
      ...signSlackRequest(body),
      'content-type': type === 'events_api' ? 'application/json' : 'application/x-www-form-urlencoded',
      ...(attempts > 0 && { 'x-slack-retry-num': String(attempts), 'x-slack-retry-reason': 'http_error' }),
      connection: 'close',
    };
    try {
      const response = await fetch(this.#url, { method: 'POST', headers, body, signal: this.#stop.signal });
      await response.body?.cancel();
      return response.status;
    } catch {
      return 0;
    }
  }
}
