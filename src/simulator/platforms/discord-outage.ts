import { type DiscordProxy, startDiscordProxy } from '../discord/proxy.ts';
import { DiscordPlatform } from './discord.ts';
import type { FaultKind, Platform, SeenMessage } from './platform.ts';

/** They wrote to the bot before, so that it knows their chats; the others are strangers. */
const ACQUAINTED = [0, 2, 4];

/** A message of a stranger, and the session it was pushed to. */
interface Push {
  readonly person: number;
  readonly text: string;
  readonly session: string;
}

/** Discord for a bot that comes back too late for its session. */
export class DiscordOutage implements Platform {
  readonly type = 'discord';
  readonly needsFirstStart = true;
  readonly greetings = ACQUAINTED.length;
  readonly faults: readonly FaultKind[] = [];
  readonly #proxy: DiscordProxy;
  readonly #platform: DiscordPlatform;
  /** Sent as soon as the bot is there. */
  #held: { readonly person: number; readonly text: string; readonly stranger: boolean }[] = [];
  #pushes: Push[] = [];
  /** Epoch ms of each session's begin. */
  #logins: number[] = [];
  #began = 0;
  #greeted: number | undefined;

  constructor(proxy: DiscordProxy) {
    this.#proxy = proxy;
    this.#platform = new DiscordPlatform(proxy);
    proxy.gateway.keepSessions = false;
    proxy.gateway.onReady = (session) => void this.#release(session);
  }

  get channel(): DiscordPlatform['channel'] {
    return this.#platform.channel;
  }

  get env(): Record<string, string> {
    return this.#platform.env;
  }

  async begin(): Promise<void> {
    await this.#platform.begin();
    this.#pushes = [];
    this.#logins = [];
    this.#began = this.#proxy.calls.length;
    this.#greeted = undefined;
    this.#held = ACQUAINTED.map((person) => ({ person, text: 'hello', stranger: false }));
  }

  /** While the bot is away. A stranger waits until it is there, as nothing would ever tell it of the chat. */
  async write(person: number, text: string): Promise<void> {
    this.#greeted ??= (await this.#platform.seen()).length;
    if (ACQUAINTED.includes(person)) await this.#platform.store(person, text);
    else this.#held.push({ person, text, stranger: true });
  }

  async seen(): Promise<readonly SeenMessage[]> {
    return (await this.#platform.seen()).slice(this.#greeted);
  }

  async waiting(): Promise<number> {
    return this.#held.length;
  }

  /**
   * The bot can know a chat when the message was stored before the session ended. Then it types or answers
   * there, or a later start reads the history of that chat, which offers the message once more.
   */
  async notOffered(): Promise<readonly string[]> {
    const calls = this.#proxy.calls.slice(this.#began);
    const gone = this.#pushes.filter(({ person, session }) => {
      const endedAt = this.#proxy.gateway.ended.get(session);
      if (endedAt === undefined) return false;
      // What a process that was killed had asked for may be answered after its session ended.
      const back = this.#logins.find((at) => at > endedAt) ?? Number.POSITIVE_INFINITY;
      const place = `/channels/${this.#platform.chat(person)}/`;
      return !calls.some(({ call, at }) => call.includes(place) && (call.startsWith('POST') || at > back));
    });
    return gone.map(({ text }) => text);
  }

  fault(): void {
    throw new Error('an outage is the fault of this platform; it has no others');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#platform[Symbol.asyncDispose]();
  }

  async #release(session: string): Promise<void> {
    this.#logins.push(Date.now());
    for (const { person, text, stranger } of this.#held.splice(0)) {
      const id = await this.#platform.store(person, text);
      if (stranger) this.#pushes.push({ person, text, session });
      this.#proxy.push(id);
    }
  }
}

/**
 * Every connection that ends takes its session with it. Some people write while the bot is away, in chats it
 * knows. The others write once it is back, for the first time, and are pushed to that session alone.
 */
export async function startDiscordOutage(): Promise<DiscordOutage> {
  return new DiscordOutage(await startDiscordProxy());
}
