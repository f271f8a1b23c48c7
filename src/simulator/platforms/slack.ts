import { SIGNING_SECRET, SlackRequests } from '../slack/requests.ts';
import { type SlackServer, startSlackServer } from '../slack/server.ts';
import { BOT_USER, decode, eventPayload, type Json } from '../slack/workspace.ts';
import { Deliveries } from './deliveries.ts';
import { FAULT_KINDS, type FaultKind, type Platform, type PlatformOptions, type SeenMessage } from './platform.ts';

/** What is not acknowledged within three seconds is delivered again (docs.slack.dev, Events API, retries). */
export const REDELIVER_MS = 3_000;

export class SlackPlatform implements Platform {
  readonly type = 'slack';
  readonly needsFirstStart: boolean;
  readonly faults = FAULT_KINDS;
  readonly #server: SlackServer;
  readonly #deliveries: Deliveries<Json>;

  constructor(server: SlackServer, outage: boolean) {
    this.#server = server;
    // The history before the first start is not for the bot; a push that waits for it is.
    this.needsFirstStart = outage;
    server.sockets.keepMissed = !outage;
    this.#deliveries = new Deliveries((payload) => void server.transport.deliver('events_api', payload));
  }

  get channel() {
    return { type: 'slack', allowed_senders: ['*'], settings: { api_root: this.#server.apiRoot, rate_limits: false } };
  }

  get env(): Record<string, string> {
    return { SLACK_BOT_TOKEN: this.#server.botToken, SLACK_APP_TOKEN: this.#server.appToken };
  }

  async begin(): Promise<void> {
    this.#server.clearFaults();
    this.#deliveries.clear();
    this.#server.sockets.giveUp();
    this.#server.workspace.clear();
  }

  async write(person: number, text: string): Promise<void> {
    const user = `U0P${person}`;
    this.#server.names.set(user, `Person ${person}`);
    const stored = this.#server.store({ channel: `${CHAT}${person}`, user, text });
    const event = { ...stored, channel_type: 'im', event_ts: stored.ts };
    // One payload however often it is delivered: the same event keeps its id.
    await this.#deliveries.pass(eventPayload(event, this.#server.workspace.nextId('Ev')));
  }

  async seen(): Promise<readonly SeenMessage[]> {
    const own = this.#server.workspace.messages.filter(({ user }) => user === BOT_USER);
    return own.map(({ channel, text, ts }) => ({
      person: Number(channel.slice(CHAT.length)),
      text: decode(text),
      at: Math.floor(Number(ts) * 1_000),
    }));
  }

  async waiting(): Promise<number> {
    return this.#server.sockets.unacknowledged;
  }

  fault(kind: FaultKind, times: number): void {
    const method = 'chat.postMessage';
    if (kind === 'limit') this.#server.fault({ method, times, kind: 'limit', retryAfter: 1 });
    if (kind === 'lose-reply') this.#server.fault({ method, times, kind: 'drop' });
    if (kind === 'slow') this.#server.fault({ method, times, kind: 'delay', delayMs: 3_000 });
    if (kind === 'disconnect') this.#server.breakConnections();
    if (kind === 'duplicate') this.#deliveries.duplicate(times);
    if (kind === 'reorder') this.#deliveries.reorder(times);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close();
  }
}

/** Direct conversations have an id that begins with D. */
const CHAT = 'D0P';

/** The same messages as signed requests, each again until it is answered with 200. */
class SlackByHttp extends SlackPlatform {
  readonly #requests: SlackRequests;

  constructor(server: SlackServer, webhookPort: number) {
    super(server, false);
    this.#requests = new SlackRequests(`http://127.0.0.1:${webhookPort}/hooks/slack`);
    server.transport = this.#requests;
  }

  override get channel() {
    const { settings, ...entry } = super.channel;
    return { ...entry, settings: { ...settings, mode: 'http' } };
  }

  override get env(): Record<string, string> {
    return { ...super.env, SLACK_SIGNING_SECRET: SIGNING_SECRET };
  }

  override async begin(): Promise<void> {
    this.#requests.giveUp();
    await super.begin();
  }

  override async waiting(): Promise<number> {
    return this.#requests.unacknowledged;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.#requests[Symbol.asyncDispose]();
    await super[Symbol.asyncDispose]();
  }
}

/**
 * Direct messages over Socket Mode, with the history behind them. `disconnect` breaks the sockets and the
 * calls under way. `outage`: events that find no socket, or whose socket breaks before they are acknowledged,
 * are never pushed again, as after the platform's last try.
 */
export async function startSlackPlatform({ outage = false }: { readonly outage?: boolean } = {}): Promise<Platform> {
  return new SlackPlatform(await startSlackServer({ redeliverMs: REDELIVER_MS }), outage);
}

/** Direct messages that the platform calls the bot with. */
export async function startSlackByHttp({ webhookPort }: PlatformOptions): Promise<Platform> {
  return new SlackByHttp(await startSlackServer(), webhookPort);
}
