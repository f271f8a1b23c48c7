import { z } from 'zod';
import type {
  AnyChannelDescriptor,
  Channel,
  ChannelDeps,
  ChannelHost,
  ChannelLimits,
  MediaFile,
  Receipt,
  SendOptions,
  SendResult,
} from '../core/channel.ts';
import type { InboundMessage, MediaRef, OutboundPart } from '../core/message.ts';
import { inbound } from './fakes.ts';

const LIMITS: ChannelLimits = { text: 4_000, unit: 'codepoint', caption: 1_000, uploadBytes: 1_000_000, downloadBytes: 1_000 };

/**
 * A platform in memory. `sent` is what was sent, `screen` what people see of it; `results` scripts what
 * sending comes to (default: sent). Messages can be changed only when `edit` is set: see `withEdits`.
 */
export class TestChannel implements Channel {
  readonly name: string;
  readonly type = 'test';
  readonly account: string = 'bot';
  readonly limits: ChannelLimits;
  readonly inboundClass = 'B';
  readonly sendClass = 'blind';
  readonly sent: OutboundPart[] = [];
  readonly results: SendResult[] = [];
  /** Scripts what editing comes to. Default: sent. */
  readonly editResults: SendResult[] = [];
  edit?: NonNullable<Channel['edit']>;
  buttons?: boolean;
  writesMail?: true;
  react?: NonNullable<Channel['react']>;
  earlier?: NonNullable<Channel['earlier']>;
  about?: NonNullable<Channel['about']>;
  standsInChat?: NonNullable<Channel['standsInChat']>;
  /** What `react` put, when it is set by `withReactions`. */
  readonly reactions: { readonly platformId: string; readonly emoji: string | undefined }[] = [];
  readonly files = new Map<string, Uint8Array>();
  host: ChannelHost | undefined;
  #count = 0;
  readonly #messages: { readonly platformId: string; readonly chatId: string; text: string }[] = [];

  constructor(name: string, limits: Partial<ChannelLimits> = {}) {
    this.name = name;
    this.limits = { ...LIMITS, ...limits };
  }

  async start(host: ChannelHost): Promise<void> {
    this.host = host;
    host.health('healthy');
  }

  async stop(): Promise<void> {
    this.host = undefined;
  }

  async send(part: OutboundPart, _options: SendOptions): Promise<SendResult> {
    const result = this.results.shift() ?? { kind: 'sent', platformId: `p${this.sent.length}` };
    if (result.kind === 'sent') {
      this.sent.push(part);
      this.#messages.push({ platformId: result.platformId, chatId: part.chatId, text: part.text });
    }
    return result;
  }

  /** From now on messages can be changed. */
  withEdits(): this {
    this.edit = async (platformId, part) => {
      const result = this.editResults.shift() ?? { kind: 'sent', platformId };
      const message = this.#messages.find((one) => one.platformId === platformId);
      if (!message) return { kind: 'refused', reason: 'invalid', detail: 'no such message' };
      if (result.kind === 'sent') message.text = part.text;
      return result;
    };
    return this;
  }

  /** From now on messages carry reactions. */
  withReactions(): this {
    this.react = async ({ platformId }, emoji) => {
      this.reactions.push({ platformId, emoji });
    };
    return this;
  }

  screen(chatId = 'chat-1'): string[] {
    return this.#messages.filter((message) => message.chatId === chatId).map(({ text }) => text);
  }

  async download(media: MediaRef): Promise<MediaFile> {
    const bytes = this.files.get(media.ref);
    if (!bytes) throw new Error('404');
    return {
      bytes: (async function* () {
        yield bytes;
      })(),
    };
  }

  /**
   * Delivers one message as the platform would; fields not given are a private text message of an allowed
   * person, written now.
   */
  async deliver(message: Partial<InboundMessage>, cursor?: string): Promise<Receipt> {
    if (!this.host) throw new Error('the channel is not started');
    this.#count += 1;
    const facts = { channel: this.name, platformId: `m${this.#count}`, timestamp: Date.now() };
    return await this.host.receive([inbound({ ...facts, ...message })], cursor);
  }

  texts(chatId = 'chat-1'): string[] {
    return this.sent.filter((part) => part.chatId === chatId).map((part) => part.text);
  }
}

/** A registry entry that gives out this very channel. */
export function testChannelEntry(make: (deps: ChannelDeps) => Channel, local = false): () => Promise<AnyChannelDescriptor> {
  return async () => ({
    type: 'test',
    settings: z.unknown(),
    guarantee: { inbound: 'B', inboundHow: 'as its test says', send: 'blind', loss: 'as its test says' },
    local,
    create: async (_settings: never, deps: ChannelDeps) => make(deps),
  });
}
