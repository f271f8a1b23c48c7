/** The platform that calls: one event after the other, each again until it is answered with 200. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type FeishuPayload, sealWebhook } from './events.ts';

export const FEISHU_KEYS = { encryptKey: 'key-of-the-encryption', verificationToken: 'token-of-the-verification' } as const;

/** Stands for 15 s, 5 min, 1 h and 6 h. */
const RETRY_MS = 40;

export class WebhookCaller implements AsyncDisposable {
  readonly statuses: number[] = [];
  readonly #url: () => string | undefined;
  readonly #stop = new AbortController();
  #last: Promise<void> = Promise.resolve();
  #round = 0;

  /** `url`: where the adapter can be called, undefined while it cannot. */
  constructor(url: () => string | undefined) {
    this.#url = url;
  }

  /** What waits is never delivered again, as after the platform's last try. */
  giveUp(): void {
    this.#round += 1;
  }

  /** Calls `done` once the event was answered with 200. */
  deliver(payload: FeishuPayload, done: () => void): void {
    const signed = { ...payload, header: { ...payload.header, token: FEISHU_KEYS.verificationToken } };
    const round = this.#round;
    this.#last = this.#last.then(async () => {
      while (!this.#stop.signal.aborted && round === this.#round) {
        if ((await this.#post(signed)) === 200) return done();
        await sleep(RETRY_MS);
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#last;
  }

  async #post(payload: unknown): Promise<number> {
    const url = this.#url();
    if (url === undefined) return 0;
    const { body, headers } = sealWebhook(payload, FEISHU_KEYS.encryptKey);
    try {
      const response = await fetch(url, { method: 'POST', headers: { ...headers, connection: 'close' }, body });
      await response.arrayBuffer();
      this.statuses.push(response.status);
      return response.status;
    } catch {
      return 0; // nobody listens
    }
  }
}
