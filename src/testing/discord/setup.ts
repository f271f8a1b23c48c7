/** An adapter of Discord beside the simulated platform, for its tests. */
import type { Channel, ChannelDeps, ChannelDescriptor, SendResult } from '../../core/channel.ts';
import type { InboundMessage, OutboundPart } from '../../core/message.ts';
import { backoffClock, type DiscordProxy, startDiscordProxy } from '../../simulator/discord/proxy.ts';
import { channelDeps } from '../channel-deps.ts';
import { TestHost } from '../channel-host.ts';
import { MemoryLogger, outbound, until } from '../fakes.ts';

export const ADA = '201000000000000001';
export const DM = '301000000000000001';
/** Of what `interact` does. */
export const TOKEN = 'interaction-token';
export const CALLBACK = /^POST \/interactions\/\d+\/interaction-token\/callback$/;
export const ORIGINAL = `PATCH /webhooks/135000000000000001/${TOKEN}/messages/@original`;

const EPOCH_MS = 1_420_070_400_000;

export interface DiscordSetup extends AsyncDisposable {
  readonly proxy: DiscordProxy;
  readonly host: TestHost;
  readonly logger: MemoryLogger;
  /** A channel of the server. */
  readonly room: string;
  readonly channel: Channel;
  /** A new adapter on what the journal holds, as after a kill. */
  again(): Promise<Channel>;
  /**
   * Ada writes in the server's channel; the message once it was accepted. `place` overrides where, and by
   * whom.
   */
  say(content: string, place?: object): Promise<InboundMessage>;
  /**
   * Ada gives a command or presses something in the server's channel. `fields` override those of the event.
   */
  interact(fields: object): void;
  /** A part of the answer to a message. */
  partOf(to: InboundMessage, part?: Partial<OutboundPart>): OutboundPart;
  /** The platform's id of what was sent; throws for anything else. */
  sent(result: Promise<SendResult>): Promise<string>;
}

export interface DiscordSetupOptions {
  readonly settings?: object;
  readonly deps?: Partial<ChannelDeps>;
}

/** The commands are not put into the platform's menu, unless the settings say so. */
export async function discordSetup<S>(
  descriptor: ChannelDescriptor<S>,
  { settings = {}, deps = {} }: DiscordSetupOptions = {},
): Promise<DiscordSetup> {
  const proxy = await startDiscordProxy();
  const [host, logger] = [new TestHost(), new MemoryLogger()];
  const { guildId, channelId: room, token } = proxy.peer;
  const base = { api_root: proxy.url, cdn_origins: [proxy.origin], slash_commands: false };
  const parsed = descriptor.settings.parse({ ...base, ...settings });
  const given = channelDeps({ name: 'discord', secret: () => token, clock: backoffClock(), logger, random: () => 0.5, ...deps });
  const started: { channel: Channel; abort: AbortController }[] = [];
  const again = async (): Promise<Channel> => {
    const channel = await descriptor.create(parsed, given);
    const abort = new AbortController();
    started.push({ channel, abort });
    await channel.start(host, abort.signal);
    return channel;
  };
  const channel = await again();
  return {
    ...{ proxy, host, logger, room, channel, again },
    async say(content, place = {}) {
      const id = await proxy.write({ guildId, channelId: room, senderId: ADA, senderName: 'Ada', content, ...place });
      return await until('it arrived', () => host.accepted.find(({ platformId }) => platformId === id));
    },
    interact(fields) {
      const id = String(BigInt(Date.now() - EPOCH_MS) << 22n);
      const base = { id, application_id: '135000000000000001', token: TOKEN, version: 1 };
      const place = { channel_id: room, guild_id: guildId, member: { user: { id: ADA, username: 'Ada' } } };
      proxy.gateway.dispatch('INTERACTION_CREATE', { ...base, ...place, ...fields });
    },
    partOf(to, part = {}) {
      const { chatId, threadId, replyContext } = to;
      const place = { channel: 'discord', account: channel.account, chatId, ...(threadId !== undefined && { threadId }) };
      return outbound({ ...place, text: 'the answer', ...(replyContext && { replyContext }), ...part });
    },
    async sent(result) {
      const outcome = await result;
      if (outcome.kind !== 'sent') throw new Error(`not sent: ${JSON.stringify(outcome)}`);
      return outcome.platformId;
    },
    async [Symbol.asyncDispose]() {
      for (const { channel: one, abort } of started.reverse()) {
        abort.abort(new Error('over'));
        await one.stop();
      }
      await proxy.close();
    },
  };
}
