import type { FeishuFault } from '../feishu/calls.ts';
import type { FeishuPayload } from '../feishu/events.ts';
import { visibleText } from '../feishu/posts.ts';
import { type FeishuServer, startFeishuServer } from '../feishu/server.ts';
import { FEISHU_KEYS, WebhookCaller } from '../feishu/webhook.ts';
import { Deliveries } from './deliveries.ts';
import type { FaultKind, Platform, PlatformOptions, SeenMessage } from './platform.ts';

/** Of messages to a chat and of answers to a message. */
const SEND = /^POST \/open-apis\/im\/v1\/messages(?:\/[^/]+\/reply)?$/;
/** In place of 15 s. */
const REDELIVER_MS = 1_500;

/**
 * The list of chats shows a notice of its own while a card's streaming mode is on; the words here are ours.
 */
const MORE_TO_COME = ' [more is to come]';

class FeishuPlatform implements Platform {
  readonly type = 'feishu';
  readonly needsFirstStart = false;
  readonly faults: readonly FaultKind[] = ['limit', 'lose-reply', 'duplicate', 'reorder', 'slow', 'disconnect'];
  readonly grown?: () => number;
  readonly #server: FeishuServer;
  readonly #deliveries: Deliveries<FeishuPayload>;

  constructor(server: FeishuServer, showsGrowth: boolean) {
    this.#server = server;
    if (showsGrowth) this.grown = () => server.cards.made;
    this.#server.redeliverMs = REDELIVER_MS;
    this.#deliveries = new Deliveries((event) => void server.emit(event));
  }

  get channel() {
    const settings = { api_root: this.#server.url, rate_limits: false };
    return { type: 'feishu', allowed_senders: ['*'], settings };
  }

  get env(): Record<string, string> {
    return { FEISHU_APP_ID: this.#server.appId, FEISHU_APP_SECRET: this.#server.appSecret };
  }

  async begin(): Promise<void> {
    this.#deliveries.clear();
    this.#server.forget();
  }

  async write(person: number, text: string): Promise<void> {
    await this.#deliveries.pass(this.#server.compose({ openId: `ou_person_${person}`, chatId: `oc_${person}`, text }));
  }

  async seen(): Promise<readonly SeenMessage[]> {
    return this.#server.posts.map((post) => ({
      person: Number(post.chatId.slice('oc_'.length)),
      text: `${visibleText(post)}${this.#server.cards.isStreaming(post.id) ? MORE_TO_COME : ''}`,
      at: post.at,
    }));
  }

  async waiting(): Promise<number> {
    return this.#server.unacknowledged;
  }

  fault(kind: FaultKind, times: number): void {
    const next = (fault: FeishuFault): void => {
      for (let time = 0; time < times; time += 1) this.#server.faults.push(fault);
    };
    // https://open.feishu.cn/document/server-docs/api-call-guide/frequency-control
    const headers = { 'x-ogw-ratelimit-limit': '100', 'x-ogw-ratelimit-reset': '1' };
    const msg = 'request trigger frequency limit';
    if (kind === 'limit') next({ match: SEND, kind: 'error', status: 429, code: 99991400, msg, headers });
    if (kind === 'lose-reply') next({ match: SEND, kind: 'drop' });
    if (kind === 'slow') next({ match: SEND, kind: 'slow', ms: 3_000 });
    if (kind === 'disconnect') this.#server.disconnect();
    if (kind === 'duplicate') this.#deliveries.duplicate(times);
    if (kind === 'reorder') this.#deliveries.reorder(times);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close();
  }
}

/** The same events as calls, each again until it is answered with 200. */
class FeishuByWebhook extends FeishuPlatform {
  readonly #caller: WebhookCaller;

  constructor(server: FeishuServer, webhookPort: number) {
    super(server, false);
    this.#caller = new WebhookCaller(() => `http://127.0.0.1:${webhookPort}/hooks/feishu`);
    server.caller = this.#caller;
  }

  override get channel() {
    const { settings, ...entry } = super.channel;
    return { ...entry, settings: { ...settings, mode: 'webhook' } };
  }

  override get env(): Record<string, string> {
    const { encryptKey, verificationToken } = FEISHU_KEYS;
    return { ...super.env, FEISHU_ENCRYPT_KEY: encryptKey, FEISHU_VERIFICATION_TOKEN: verificationToken };
  }

  override async begin(): Promise<void> {
    this.#caller.giveUp();
    await super.begin();
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.#caller[Symbol.asyncDispose]();
    await super[Symbol.asyncDispose]();
  }
}

/** The Open Platform over a long connection. Unacknowledged events come again after 1.5 s instead of 15 s. */
export async function startFeishuPlatform(): Promise<Platform> {
  return new FeishuPlatform(await startFeishuServer(), false);
}

/** The same, looked at while answers are written: they grow in streaming cards. */
export async function startFeishuCards(): Promise<Platform> {
  return new FeishuPlatform(await startFeishuServer(), true);
}

/** The Open Platform, calling. */
export async function startFeishuByWebhook({ webhookPort }: PlatformOptions): Promise<Platform> {
  return new FeishuByWebhook(await startFeishuServer(), webhookPort);
}
