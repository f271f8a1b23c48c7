import { join } from 'node:path';
import type { BinaryNode } from '@whiskeysockets/baileys';
import { silenceSignalLibrary } from '../../../channels/whatsapp/wire/quiet.ts';
import { shown, userOf, wordsOf } from '../whatsapp/readers.ts';
import { type WhatsAppPlatform as Server, startWhatsAppPlatform as startServer } from '../whatsapp/server.ts';
import { Deliveries } from './deliveries.ts';
import type { FaultKind, Platform, SeenMessage } from './platform.ts';

/** The number of person 0; the others follow. */
const FIRST_NUMBER = 15_551_000_000;

class WhatsAppPlatform implements Platform {
  readonly type = 'whatsapp';
  readonly needsFirstStart = false;
  readonly faults: readonly FaultKind[] = ['limit', 'lose-reply', 'duplicate', 'reorder', 'slow', 'disconnect'];
  /** The login is a file, and there is no secret beside it. */
  readonly env = {};
  readonly channel;
  readonly people?: number;
  readonly #server: Server;
  readonly #isSelf: boolean;
  readonly #deliveries: Deliveries<BinaryNode>;

  /** `isSelf`: the account's own person writes, in the chat with themself; no other person is let in. */
  constructor(server: Server, isSelf: boolean) {
    this.#server = server;
    this.#isSelf = isSelf;
    this.#deliveries = new Deliveries((node) => server.post(node));
    const settings = { web_socket_url: server.url, media_root: server.httpUrl, rate_limits: false };
    this.channel = isSelf
      ? { type: 'whatsapp', settings: { ...settings, self_chat: true } }
      : { type: 'whatsapp', allowed_senders: ['*'], settings };
    if (isSelf) this.people = 1;
  }

  async begin(dataDir: string): Promise<void> {
    this.#deliveries.clear();
    this.#server.forget();
    await this.#server.link(join(dataDir, 'channels', this.type));
  }

  async write(person: number, text: string): Promise<void> {
    const from = this.#isSelf ? this.#server.owner : this.#server.person(String(FIRST_NUMBER + person), `Person ${person}`);
    const written = { from, toSelf: this.#isSelf, message: { conversation: text } };
    await this.#deliveries.pass(await this.#server.compose(written));
  }

  async seen(): Promise<readonly SeenMessage[]> {
    return shown(this.#server.seen).map(({ to, message, at }) => {
      const phone = this.#server.phone(userOf(to));
      const person = this.#isSelf && phone === this.#server.owner ? 0 : Number(phone?.phone) - FIRST_NUMBER;
      return { person, text: wordsOf(message), at };
    });
  }

  async waiting(): Promise<number> {
    return this.#server.unacknowledged;
  }

  fault(kind: FaultKind, times: number): void {
    const next = (fault: Server['faults'][number]): void => {
      for (let time = 0; time < times; time += 1) this.#server.faults.push(fault);
    };
    if (kind === 'limit') next({ kind: 'refuse', code: 429 });
    if (kind === 'lose-reply') next({ kind: 'cut' });
    if (kind === 'slow') next({ kind: 'hold', ms: 3_000 });
    if (kind === 'disconnect') this.#server.cut();
    if (kind === 'duplicate') this.#deliveries.duplicate(times);
    if (kind === 'reorder') this.#deliveries.reorder(times);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}

/** WhatsApp Web. As at the platform a `limit` names no wait: the adapter then waits a minute of its own. */
export async function startWhatsAppPlatform(): Promise<Platform> {
  // The phones here are made of the same library as the adapter, which prints its sessions.
  silenceSignalLibrary();
  return new WhatsAppPlatform(await startServer(), false);
}

/** The same for an account that is the operator's own, who writes to themself: one person, one chat. */
export async function startWhatsAppSelf(): Promise<Platform> {
  silenceSignalLibrary();
  return new WhatsAppPlatform(await startServer(), true);
}
