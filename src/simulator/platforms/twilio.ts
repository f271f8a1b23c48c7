import { startTwilioServer, type TwilioServer } from '../twilio/server.ts';
import { Deliveries } from './deliveries.ts';
import type { FaultKind, Platform, PlatformOptions, SeenMessage } from './platform.ts';
import { Pushes } from './pushes.ts';

/** As entered in the console: what is signed. It resolves nowhere. */
const PUBLIC_URL = 'https://gatehouse.example/hooks/twilio';
/** The number of person 0; the others follow. */
const FIRST_NUMBER = 15_551_000_000;

class TwilioPlatform implements Platform {
  readonly type = 'twilio';
  readonly needsFirstStart = true;
  readonly faults: readonly FaultKind[] = ['limit', 'lose-reply', 'duplicate', 'reorder', 'slow', 'disconnect'];
  readonly #server: TwilioServer;
  readonly #deliveries: Deliveries<string>;
  // `#rc=3` of the README: three more attempts. When Twilio makes them is not documented.
  readonly #pushes = new Pushes<string>({ post: (sid) => this.#post(sid), pausesMs: [700, 700, 700] });

  constructor(server: TwilioServer, webhookPort: number) {
    this.#server = server;
    this.#deliveries = new Deliveries((sid) => this.#pushes.push(sid));
    const local = `http://127.0.0.1:${webhookPort}`;
    server.target = { publicUrl: PUBLIC_URL, toLocal: (url) => url.replace(new URL(PUBLIC_URL).origin, local) };
    // Webhooks come first as a rule, the list is what brings the rest.
    server.listLagMs = 500;
    server.onSent = (sid) => void server.callback(sid, 'sent');
  }

  get channel() {
    const settings = {
      ...{ from_number: this.#server.number, public_url: PUBLIC_URL, api_root: this.#server.url },
      ...{ poll_interval_secs: 5, messages_per_second: 1_000 },
      // Longer than the list lags here.
      find_grace_secs: 1,
      ...{ max_per_sender_per_minute: 1_000_000, max_per_minute: 1_000_000 },
    };
    return { type: 'twilio', allowed_senders: ['*'], settings };
  }

  get env(): Record<string, string> {
    return { TWILIO_ACCOUNT_SID: this.#server.accountSid, TWILIO_AUTH_TOKEN: this.#server.authToken };
  }

  async begin(): Promise<void> {
    this.#deliveries.clear();
    this.#pushes.forget();
    this.#server.forget();
  }

  async write(person: number, text: string): Promise<void> {
    await this.#deliveries.pass(this.#server.inject(`+${FIRST_NUMBER + person}`, text, { silent: true }));
  }

  async seen(): Promise<readonly SeenMessage[]> {
    return this.#server.sends.map(({ to, body, at }) => ({ person: Number(to.slice(1)) - FIRST_NUMBER, text: body, at }));
  }

  /** Of webhooks: whether the bot has read the list is not known to the platform. */
  async waiting(): Promise<number> {
    return this.#pushes.waiting;
  }

  fault(kind: FaultKind, times: number): void {
    const limit = { status: 429, code: 20429, message: 'Too Many Requests', headers: { 'retry-after': '1' } };
    if (kind === 'limit') this.#server.fault({ call: 'send', times, kind: 'error', ...limit });
    if (kind === 'lose-reply') this.#server.fault({ call: 'send', times, kind: 'drop' });
    if (kind === 'slow') this.#server.fault({ call: 'send', times, kind: 'delay', delayMs: 3_000 });
    if (kind === 'duplicate') this.#deliveries.duplicate(times);
    if (kind === 'reorder') this.#deliveries.reorder(times);
    if (kind === 'disconnect') this.#disconnect();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#pushes.forget();
    await this.#server.close();
  }

  async #post(sid: string): Promise<boolean> {
    const status = await this.#server.redeliver(sid);
    return status >= 200 && status < 300;
  }

  /** The bot holds no connection: besides those of this moment, the next calls break. */
  #disconnect(): void {
    this.#server.disconnect();
    for (const call of ['send', 'list'] as const) {
      // One each, however often: retries that back off would otherwise meet them one by one for minutes.
      const comes = this.#server.faults.some((fault) => fault.call === call && fault.kind === 'cut');
      if (!comes) this.#server.fault({ call, kind: 'cut' });
    }
  }
}

/** REST API, its list, signed webhooks with four tries. `disconnect` also breaks the next send and list. */
export async function startTwilioPlatform({ webhookPort }: PlatformOptions): Promise<Platform> {
  return new TwilioPlatform(await startTwilioServer(), webhookPort);
}
