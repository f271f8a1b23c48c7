import { type DiscordProxy, startDiscordProxy } from '../discord/proxy.ts';
import type { ProxyCall } from '../discord/records.ts';
import { Deliveries } from './deliveries.ts';
import { FAULT_KINDS, type FaultKind, type Platform, type SeenMessage } from './platform.ts';

export const FIRST_PERSON = 201_000_000_000_000_000n;
const FIRST_CHAT = 301_000_000_000_000_000n;
/** Each daemon finds chats nobody ever wrote in: the platform keeps the history of the others. */
const CHATS_PER_DAEMON = 1_000n;

const POST = /^POST \/channels\/(\d+)\/messages$/;
const EDIT = /^PATCH \/channels\/\d+\/messages\/(\d+)$/;
const DELETE = /^DELETE \/channels\/\d+\/messages\/(\d+)$/;
/** The answer to a command in its place. */
const ORIGINAL = /^(PATCH|DELETE) \/webhooks\/\d+\/([^/]+)\/messages\/@original$/;

export class DiscordPlatform implements Platform {
  readonly type = 'discord';
  /** What was written before the bot's first login is not for it. */
  readonly needsFirstStart = true;
  readonly faults: readonly FaultKind[] = FAULT_KINDS;
  readonly #proxy: DiscordProxy;
  readonly #deliveries: Deliveries<{ readonly id: string }>;
  #daemon = 0n;
  #calls = 0;

  constructor(proxy: DiscordProxy) {
    this.#proxy = proxy;
    proxy.pushes = false;
    this.#deliveries = new Deliveries(({ id }) => proxy.push(id));
  }

  get channel(): Platform['channel'] & { readonly settings: object } {
    const settings = { api_root: this.#proxy.url, cdn_origins: [this.#proxy.origin], rate_limits: false };
    return { type: 'discord', allowed_senders: ['*'], settings };
  }

  get env(): Record<string, string> {
    return { DISCORD_BOT_TOKEN: this.#proxy.peer.token };
  }

  async begin(): Promise<void> {
    this.#proxy.clearFaults();
    this.#deliveries.clear();
    // The sessions of the daemons before: what is written from now on is not kept for them.
    this.#proxy.gateway.forgetSessions();
    this.#daemon += 1n;
    this.#calls = this.#proxy.calls.length;
  }

  async write(person: number, text: string): Promise<void> {
    await this.#deliveries.pass({ id: await this.store(person, text) });
  }

  /** Writes, and tells nobody. Resolves to the message's id. */
  store(person: number, text: string): Promise<string> {
    const senderId = String(FIRST_PERSON + BigInt(person));
    return this.#proxy.write({ channelId: this.chat(person), senderId, senderName: `Person ${person}`, content: text });
  }

  chat(person: number): string {
    return String(this.#firstChat + BigInt(person));
  }

  /** Who sees what the bot writes in a channel; undefined: no person of this daemon. */
  personIn(chat: string): number | undefined {
    return Number(BigInt(chat) - this.#firstChat);
  }

  /** Who gave the command with this token; undefined: no person of this daemon. */
  commander(_token: string): number | undefined {
    return undefined;
  }

  async seen(): Promise<readonly SeenMessage[]> {
    const messages = new Map<string, SeenMessage>();
    for (const call of this.#proxy.calls.slice(this.#calls)) if (call.accepted) this.#show(call, messages);
    return [...messages.values()];
  }

  /** The platform waits for no acknowledgement, so it cannot say. */
  async waiting(): Promise<number> {
    return 0;
  }

  fault(kind: FaultKind, times: number): void {
    const call = POST;
    const limit = { retry_after: 1, global: false, message: 'You are being rate limited.' };
    const headers = { 'retry-after': '1', 'x-ratelimit-scope': 'user' };
    if (kind === 'limit') this.#proxy.fault({ call, times, kind: 'answer', status: 429, headers, body: limit });
    if (kind === 'lose-reply') this.#proxy.fault({ call, times, kind: 'drop' });
    if (kind === 'slow') this.#proxy.fault({ call, times, kind: 'delay', delayMs: 3_000 });
    if (kind === 'disconnect') this.#proxy.breakConnections();
    if (kind === 'duplicate') this.#deliveries.duplicate(times);
    if (kind === 'reorder') this.#deliveries.reorder(times);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxy.close();
  }

  get #firstChat(): bigint {
    return FIRST_CHAT + this.#daemon * CHATS_PER_DAEMON;
  }

  /** A call with a nonce that the platform knows is answered with the message that is there: no new one. */
  #show({ call, body, answer = {}, at }: ProxyCall, messages: Map<string, SeenMessage>): void {
    const chat = POST.exec(call)?.[1];
    const text = String(body['content'] ?? '');
    if (chat !== undefined) {
      const [id, person] = [String(answer['id']), this.personIn(chat)];
      if (person !== undefined && !messages.has(id)) messages.set(id, { person, text, at });
      return;
    }
    const [, method, token = ''] = ORIGINAL.exec(call) ?? [];
    const commander = this.commander(token);
    if (method === 'DELETE') messages.delete(token);
    else if (commander !== undefined) messages.set(token, { person: commander, text, at: messages.get(token)?.at ?? at });
    const edited = messages.get(EDIT.exec(call)?.[1] ?? '');
    if (edited && typeof body['content'] === 'string') messages.set(EDIT.exec(call)?.[1] ?? '', { ...edited, text });
    messages.delete(DELETE.exec(call)?.[1] ?? '');
  }
}

/**
 * Private chats with a bot over the gateway; the history and the sessions outlive every connection.
 * `disconnect` breaks the gateway connection and the calls under way.
 */
export async function startDiscordPlatform(): Promise<Platform> {
  return new DiscordPlatform(await startDiscordProxy());
}
