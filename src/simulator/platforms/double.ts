import { type DoubleMessage, DoublePlatform } from '../double/server.ts';
import { Deliveries } from './deliveries.ts';
import type { FaultKind, Platform, SeenMessage } from './platform.ts';

class BestPlatform implements Platform {
  readonly type = 'double';
  readonly needsFirstStart = false;
  readonly env = {};
  readonly faults: readonly FaultKind[] = ['duplicate', 'reorder'];
  readonly channel;
  readonly #platform: DoublePlatform;
  readonly #deliveries: Deliveries<DoubleMessage>;
  #daemon = 0;
  #written = 0;

  constructor(platform: DoublePlatform, url: string) {
    this.#platform = platform;
    this.#deliveries = new Deliveries((message) => platform.deliver(message));
    this.channel = { type: 'double', allowed_senders: ['*'], settings: { url } };
  }

  async begin(): Promise<void> {
    this.#deliveries.clear();
    this.#daemon += 1;
  }

  async write(person: number, text: string): Promise<void> {
    this.#written += 1;
    const chatId = `${this.#daemon}-${person}`;
    await this.#deliveries.pass({ id: `m${this.#written}`, chatId, senderId: `person-${person}`, text });
  }

  async seen(): Promise<readonly SeenMessage[]> {
    const prefix = `${this.#daemon}-`;
    const posted = this.#platform.posted.filter(({ chatId }) => chatId.startsWith(prefix));
    return posted.map(({ chatId, text, at }) => ({ person: Number(chatId.slice(prefix.length)), text, at }));
  }

  async waiting(): Promise<number> {
    return this.#platform.unacknowledged;
  }

  fault(kind: FaultKind, times: number): void {
    if (kind === 'duplicate') this.#deliveries.duplicate(times);
    if (kind === 'reorder') this.#deliveries.reorder(times);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#platform[Symbol.asyncDispose]();
  }
}

/** A platform with the best guarantees there are: what a channel of class A that knows its keys can reach. */
export async function startDoublePlatform(): Promise<Platform> {
  const platform = new DoublePlatform();
  return new BestPlatform(platform, await platform.start());
}
