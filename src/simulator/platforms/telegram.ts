import { startTelegramServer, type TelegramServer } from '../telegram/server.ts';
import { Deliveries } from './deliveries.ts';
import type { FaultKind, Platform, SeenMessage } from './platform.ts';

/** The chat of person 0; the others follow. */
const FIRST_CHAT = 1_001;

/** "The status is set for 5 seconds or less" (core.telegram.org/bots/api#sendchataction). */
const TYPING_MS = 5_000;

interface Update {
  /** Given with the first delivery, and kept when the update comes again: the platform hands ids out in ascending order. */
  update_id?: number;
  readonly message: { readonly [key: string]: unknown };
}

class TelegramPlatform implements Platform {
  readonly type = 'telegram';
  readonly needsFirstStart = false;
  readonly faults: readonly FaultKind[] = ['limit', 'lose-reply', 'duplicate', 'reorder', 'slow', 'disconnect'];
  readonly #server: TelegramServer;
  readonly #deliveries: Deliveries<Update>;
  #sent = 0;
  #written = 0;
  #updates = 0;

  constructor(server: TelegramServer) {
    this.#server = server;
    this.#deliveries = new Deliveries((update) => {
      update.update_id ??= ++this.#updates;
      server.injectUpdate({ ...update });
    });
  }

  get channel() {
    const settings = { api_root: this.#server.url, poll_timeout_secs: 1, rate_limits: false };
    return { type: 'telegram', allowed_senders: ['*'], settings };
  }

  get env(): Record<string, string> {
    return { TELEGRAM_BOT_TOKEN: this.#server.token };
  }

  async begin(): Promise<void> {
    // A new daemon has a cursor of its own, and confirmed updates of the last one are gone at the server.
    this.#server.clearFaults();
    this.#deliveries.clear();
    this.#sent = this.#server.sends.length;
  }

  async write(person: number, text: string): Promise<void> {
    const id = FIRST_CHAT + person;
    this.#written += 1;
    const from = { id, is_bot: false, first_name: `Person ${person}` };
    const chat = { id, type: 'private', first_name: from.first_name };
    const message = { message_id: 1_000_000 + this.#written, date: Math.floor(Date.now() / 1_000), from, chat, text };
    await this.#deliveries.pass({ message });
  }

  async seen(): Promise<readonly SeenMessage[]> {
    const sends = this.#server.sends.slice(this.#sent);
    return sends.map(({ chatId, text, at }) => ({ person: Number(chatId) - FIRST_CHAT, text, at }));
  }

  async waiting(): Promise<number> {
    return this.#server.unconfirmed;
  }

  typing(): readonly number[] {
    const since = Date.now() - TYPING_MS;
    const typing = [...this.#server.typingAt].filter(([chat, at]) => at > since && !this.#answeredSince(chat, at));
    return typing.map(([chat]) => Number(chat) - FIRST_CHAT);
  }

  fault(kind: FaultKind, times: number): void {
    const method = 'sendMessage';
    const limit = { status: 429, description: 'Too Many Requests: retry after 1', parameters: { retry_after: 1 } };
    if (kind === 'limit') this.#server.fault({ method, times, kind: 'error', ...limit });
    if (kind === 'lose-reply') this.#server.fault({ method, times, kind: 'drop' });
    if (kind === 'slow') this.#server.fault({ method, times, kind: 'delay', delayMs: 3_000 });
    if (kind === 'disconnect') this.#server.breakConnections();
    if (kind === 'duplicate') this.#deliveries.duplicate(times);
    if (kind === 'reorder') this.#deliveries.reorder(times);
  }

  /** A message ends the state, as in the real clients. */
  #answeredSince(chat: string, at: number): boolean {
    return (this.#server.sends.findLast(({ chatId }) => chatId === chat)?.at ?? 0) >= at;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close();
  }
}

/** The Bot API, polled. `disconnect` breaks the poll and whatever call is under way. */
export async function startTelegramPlatform(): Promise<Platform> {
  return new TelegramPlatform(await startTelegramServer());
}
