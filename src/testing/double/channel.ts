import { z } from 'zod';
import type { Channel, ChannelDeps, ChannelDescriptor, ChannelHost, SendResult } from '../../core/channel.ts';
import { messageKey } from '../../core/ids.ts';
import type { OutboundPart } from '../../core/message.ts';
import type { DoubleMessage } from '../../simulator/double/server.ts';

const settings = z.strictObject({ url: z.string(), poll_ms: z.int().default(20) });

/** The adapter of `DoublePlatform`: what a channel looks like when a platform has every guarantee. */
export const doubleChannel: ChannelDescriptor<z.infer<typeof settings>> = {
  type: 'double',
  settings,
  guarantee: { inbound: 'A', inboundHow: 'acknowledged after the commit', send: 'idem', loss: 'nothing' },
  create: async ({ url, poll_ms }, deps) => new DoubleChannel(url, poll_ms, deps),
};

class DoubleChannel implements Channel {
  readonly name: string;
  readonly type = 'double';
  readonly account = 'bot';
  readonly limits = { text: 200, unit: 'codepoint', caption: 0, uploadBytes: 0, downloadBytes: 0 } as const;
  readonly inboundClass = 'A';
  readonly sendClass = 'idem';
  readonly #url: string;
  readonly #pollMs: number;
  readonly #deps: ChannelDeps;
  #polling: Promise<void> | undefined;

  constructor(url: string, pollMs: number, deps: ChannelDeps) {
    this.name = deps.name;
    this.#url = url;
    this.#pollMs = pollMs;
    this.#deps = deps;
  }

  async start(host: ChannelHost, signal: AbortSignal): Promise<void> {
    host.health('healthy');
    this.#polling = this.#poll(host, signal);
  }

  async stop(): Promise<void> {
    await this.#polling;
  }

  async send(part: OutboundPart, { signal }: { signal: AbortSignal }): Promise<SendResult> {
    try {
      const { id } = await this.#call('/send', { key: part.key, chatId: part.chatId, text: part.text }, signal);
      return { kind: 'sent', platformId: String(id) };
    } catch (error) {
      return { kind: 'unknown', detail: String(error) };
    }
  }

  async #poll(host: ChannelHost, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const { messages } = (await this.#call('/poll', {}, signal)) as { messages: DoubleMessage[] };
        const batch = messages.map((message) => this.#inbound(message));
        if (batch.length > 0 && (await host.receive(batch)).kind === 'accepted') {
          for (const { id } of messages) await this.#call('/ack', { id }, signal);
        }
      } catch (error) {
        if (!signal.aborted) host.health('degraded', String(error));
      }
      await this.#deps.clock.sleep(this.#pollMs, signal).catch(() => undefined);
    }
  }

  #inbound(message: DoubleMessage) {
    const place = { channel: this.name, account: this.account, chatId: message.chatId, platformId: message.id };
    const { senderId, text, quoted } = message;
    const reply = quoted === undefined ? {} : { replyTo: { platformId: 'quoted', text: quoted, fromBot: true } };
    const base = {
      kind: 'message',
      senderName: senderId,
      media: [],
      isGroup: false,
      mentionsBot: false,
      timestamp: this.#deps.clock.now(),
    } as const;
    return { id: messageKey(place), ...place, ...base, ...reply, senderId, text };
  }

  async #call(path: string, body: unknown, signal: AbortSignal): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.#url}${path}`, { method: 'POST', body: JSON.stringify(body), signal });
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return (await response.json()) as Record<string, unknown>;
  }
}
