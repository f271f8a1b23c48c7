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

/** A platform in memory. `sent` is what people saw; `results` scripts what sending comes to (default: sent). */
export class TestChannel implements Channel {
  readonly name: string;
  readonly type = 'test';
  readonly account = 'bot';
  readonly limits: ChannelLimits;
  readonly inboundClass = 'B';
  readonly sendClass = 'blind';
  readonly sent: OutboundPart[] = [];
  readonly results: SendResult[] = [];
  readonly files = new Map<string, Uint8Array>();
  host: ChannelHost | undefined;
  #count = 0;

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
    if (result.kind === 'sent') this.sent.push(part);
    return result;
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

  /** Delivers one message as the platform would; fields not given are a private text message of an allowed person. */
  async deliver(message: Partial<InboundMessage>, cursor?: string): Promise<Receipt> {
    if (!this.host) throw new Error('the channel is not started');
    this.#count += 1;
    return await this.host.receive([inbound({ channel: this.name, platformId: `m${this.#count}`, ...message })], cursor);
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
