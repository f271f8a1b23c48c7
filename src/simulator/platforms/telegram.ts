import { startTelegramServer, type TelegramServer } from '../telegram/server.ts';
import { Deliveries } from './deliveries.ts';
import type { FaultKind, Platform, PlatformOptions, SeenMessage, SentFile } from './platform.ts';

/** The chat of person 0; the others follow. */
export const FIRST_CHAT = 1_001;
/** The chat of group 0; the others go down from it. */
const FIRST_GROUP = -1_001_000_000_000;

/** "The status is set for 5 seconds or less" (core.telegram.org/bots/api#sendchataction). */
const TYPING_MS = 5_000;

interface Update {
  /** Given with the first delivery and kept when the update comes again: the platform's ids ascend. */
  update_id?: number;
  readonly message: { readonly [key: string]: unknown };
}

function personOf(person: number): { readonly id: number; readonly is_bot: boolean; readonly first_name: string } {
  return { id: FIRST_CHAT + person, is_bot: false, first_name: `Person ${person}` };
}

/** Of the person whose private chat it is, or of the group. */
function numberOf(chatId: string): number {
  const id = Number(chatId);
  return id < 0 ? FIRST_GROUP - id : id - FIRST_CHAT;
}

class TelegramPlatform implements Platform {
  readonly type = 'telegram';
  readonly needsFirstStart = false;
  readonly faults: readonly FaultKind[];
  readonly #server: TelegramServer;
  readonly #mode: object;
  readonly #deliveries: Deliveries<Update>;
  #sent = 0;
  #written = 0;
  #updates = 0;

  /** `webhookPort`: where updates are pushed to; absent = they are polled. */
  constructor(server: TelegramServer, webhookPort?: number) {
    this.#server = server;
    const isPushed = webhookPort !== undefined;
    this.#mode = isPushed ? { mode: 'webhook', public_url: `http://127.0.0.1:${webhookPort}` } : { poll_timeout_secs: 1 };
    // Pushes to different chats do not wait for each other, so that their order is nothing to rely on.
    this.faults = ['limit', 'lose-reply', 'duplicate', ...(isPushed ? [] : (['reorder'] as const)), 'slow', 'disconnect'];
    this.#deliveries = new Deliveries((update) => {
      update.update_id ??= ++this.#updates;
      server.injectUpdate({ ...update });
    });
  }

  get channel() {
    const settings = { api_root: this.#server.url, rate_limits: false, ...this.#mode };
    return { type: 'telegram', allowed_senders: ['*'], allowed_groups: ['*'], settings };
  }

  get env(): Record<string, string> {
    return { TELEGRAM_BOT_TOKEN: this.#server.token };
  }

  async begin(): Promise<void> {
    this.#server.clearFaults();
    // The last daemon's webhook, and what it left.
    this.#server.hook.answer('deleteWebhook', { drop_pending_updates: true });
    this.#deliveries.clear();
    this.#sent = this.#server.sends.length;
  }

  async write(person: number, text: string): Promise<void> {
    const from = personOf(person);
    await this.#pass({ from, chat: { id: from.id, type: 'private', first_name: from.first_name }, text });
  }

  async writeInGroup(person: number, group: number, text: string, addressed = true): Promise<void> {
    const chat = { id: FIRST_GROUP - group, type: 'supergroup', title: `Group ${group}` };
    if (!addressed) return await this.#pass({ from: personOf(person), chat, text });
    const mention = `@${this.#server.username}`;
    const entities = [{ type: 'mention', offset: 0, length: mention.length }];
    await this.#pass({ from: personOf(person), chat, text: `${mention} ${text}`, entities });
  }

  async sendFile(person: number, { name, type, bytes }: SentFile, text: string): Promise<void> {
    const from = personOf(person);
    const id = `file-${this.#written + 1}`;
    this.#server.addFile(id, bytes);
    const about = { file_id: id, file_unique_id: id, file_name: name, file_size: bytes.length };
    const document = type === '' ? about : { ...about, mime_type: type };
    await this.#pass({ from, chat: { id: from.id, type: 'private' }, document, ...(text === '' ? {} : { caption: text }) });
  }

  async #pass(message: Update['message']): Promise<void> {
    this.#written += 1;
    const ids = { message_id: 1_000_000 + this.#written, date: Math.floor(Date.now() / 1_000) };
    await this.#deliveries.pass({ message: { ...ids, ...message } });
  }

  async seen(): Promise<readonly SeenMessage[]> {
    const sends = this.#server.sends.slice(this.#sent);
    return sends.map(({ chatId, text, at, file }) => ({
      ...{ person: numberOf(chatId), at },
      text: file ? [`📎 ${file.name}`, text].filter((line) => line !== '').join('\n') : text,
      ...(Number(chatId) < 0 ? { inGroup: true as const } : {}),
    }));
  }

  async waiting(): Promise<number> {
    return this.#server.unconfirmed;
  }

  typing(): readonly number[] {
    const since = Date.now() - TYPING_MS;
    const typing = [...this.#server.typingAt].filter(
      ([chat, at]) => Number(chat) > 0 && at > since && !this.#answeredSince(chat, at),
    );
    return typing.map(([chat]) => numberOf(chat));
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

/** The Bot API, pushing. What is not taken with 2xx is repeated without end. */
export async function startTelegramWebhook({ webhookPort }: PlatformOptions): Promise<Platform> {
  return new TelegramPlatform(await startTelegramServer(), webhookPort);
}
