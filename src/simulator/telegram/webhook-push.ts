/**
 * Updates that are pushed instead of polled (https://core.telegram.org/bots/webhooks). Of one chat the next
 * is sent when the one before was taken; chats do not wait for each other. What is not taken with 2xx comes
 * again.
 */
import { Refusal } from './refusal.ts';
import type { UpdateQueue } from './update-queue.ts';
import { type JsonObject, obj, str } from './wire.ts';

/** The platform waits a second before the first repeat, then twice as long; a test has less time. */
const FIRST_REPEAT_MS = 20;
const LONGEST_REPEAT_MS = 500;
const SECRET = /^[\w-]{1,256}$/;
/** Keys of an update that hold the message, or what holds it. */
const HOLDERS = ['message', 'edited_message', 'channel_post', 'edited_channel_post', 'message_reaction', 'callback_query'];

export class WebhookPush {
  /** Empty: updates are polled. */
  url = '';
  lastError: string | undefined;
  readonly #updates: UpdateQueue;
  readonly #busy = new Set<string>();
  #secret: string | undefined;
  #isClosed = false;

  constructor(updates: UpdateQueue) {
    this.#updates = updates;
    updates.onAdd = () => this.push();
  }

  answer(method: string, params: JsonObject): unknown {
    if (method === 'getWebhookInfo') {
      const error =
        this.lastError === undefined
          ? {}
          : { last_error_date: Math.floor(Date.now() / 1_000), last_error_message: this.lastError };
      return { url: this.url, has_custom_certificate: false, pending_update_count: this.#updates.unconfirmed, ...error };
    }
    const url = method === 'setWebhook' ? (str(params['url']) ?? '') : '';
    const secret = str(params['secret_token']);
    if (secret !== undefined && !SECRET.test(secret))
      throw new Refusal(400, 'Bad Request: secret token contains unallowed characters');
    // A server of one's own (`--local`) takes any address; the platform wants HTTPS.
    if (url !== '' && !/^https?:\/\//.test(url))
      throw new Refusal(400, 'Bad Request: bad webhook: An HTTPS URL must be provided for webhook');
    // "Pass True to drop all pending updates" (https://core.telegram.org/bots/api#setwebhook).
    if (params['drop_pending_updates'] === true) this.#updates.clear();
    this.url = url;
    this.#secret = secret;
    this.push();
    return true;
  }

  /** Throws while updates are pushed. */
  refusePolls(): void {
    if (this.url === '') return;
    throw new Refusal(
      409,
      "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
    );
  }

  /** Sends what waits, of each chat the oldest. */
  push(): void {
    if (this.url === '' || this.#isClosed) return;
    for (const update of this.#updates.waiting) {
      const chat = chatOf(update);
      if (this.#busy.has(chat)) continue;
      this.#busy.add(chat);
      void this.#send(update, 0).finally(() => {
        this.#busy.delete(chat);
        this.push();
      });
    }
  }

  close(): void {
    this.#isClosed = true;
  }

  async #send(update: JsonObject, attempt: number): Promise<void> {
    const { url } = this;
    if (this.#isClosed || url === '' || !this.#updates.waiting.includes(update)) return;
    if (await this.#isTaken(url, update)) return this.#updates.confirm(update);
    await new Promise((resolve) => setTimeout(resolve, Math.min(FIRST_REPEAT_MS * 2 ** attempt, LONGEST_REPEAT_MS)));
    await this.#send(update, attempt + 1);
  }

  async #isTaken(url: string, update: JsonObject): Promise<boolean> {
    const headers = {
      'content-type': 'application/json',
      ...(this.#secret !== undefined && { 'x-telegram-bot-api-secret-token': this.#secret }),
    };
    try {
      const { ok, status } = await fetch(url, { method: 'POST', headers, body: JSON.stringify(update), redirect: 'manual' });
      if (!ok) this.lastError = `Wrong response from the webhook: ${status}`;
      return ok;
    } catch {
      this.lastError = 'Connection refused';
      return false;
    }
  }
}

function chatOf(update: JsonObject): string {
  const holder = obj(HOLDERS.map((key) => update[key]).find((value) => value !== undefined));
  return String(obj(obj(holder['message'])['chat'])['id'] ?? obj(holder['chat'])['id'] ?? '');
}
