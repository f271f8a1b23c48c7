/** A started adapter on a linked account of our own server. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { channel as descriptor } from '../../../channels/whatsapp/index.ts';
import type { Channel, ChannelDeps, MediaFile } from '../../core/channel.ts';
import type { InboundMessage, MediaRef, OutboundPart } from '../../core/message.ts';
import { startWhatsAppPlatform, type WhatsAppPlatform } from '../../simulator/whatsapp/server.ts';
import { channelDeps } from '../channel-deps.ts';
import { quickClock, TestHost } from '../channel-host.ts';
import { MemoryLogger, outbound, tempDir, until } from '../fakes.ts';

export interface WhatsAppScene extends AsyncDisposable {
  readonly platform: WhatsAppPlatform;
  readonly channel: Channel;
  readonly host: TestHost;
  readonly logger: MemoryLogger;
  readonly deps: ChannelDeps;
  readonly signal: AbortSignal;
  /** The directory of the login. */
  readonly dir: string;
  /** The last message accepted once there are `count`. */
  received(count?: number): Promise<InboundMessage>;
  send(part: Partial<OutboundPart>, plain?: boolean): ReturnType<Channel['send']>;
  /** Stops the adapter and starts another on the same login, as a restart of the daemon does. */
  restart(host?: TestHost): Promise<Channel>;
}

export async function whatsAppScene(settings: object = {}, options: { started?: boolean } = {}): Promise<WhatsAppScene> {
  const platform = await startWhatsAppPlatform();
  // In memory: no test here is about the disk, and each commit waits for it.
  const temporary = await tempDir(existsSync('/dev/shm') ? '/dev/shm' : undefined);
  const dir = join(temporary.path, 'login');
  await platform.link(dir);
  const logger = new MemoryLogger();
  const deps = channelDeps({ name: 'whatsapp', dir, clock: quickClock(), logger });
  // The clock runs twenty times faster, and machines that test are busy.
  const patient = { send_timeout_secs: 300, upload_timeout_secs: 480 };
  const parsed = descriptor.settings.parse({
    web_socket_url: platform.url,
    media_root: platform.httpUrl,
    ...patient,
    ...settings,
  });
  const { signal } = new AbortController();
  let channel = await descriptor.create(parsed, deps);
  const host = new TestHost();
  if (options.started !== false) await channel.start(host, signal);
  return {
    ...{ platform, host, logger, deps, signal, dir },
    get channel() {
      return channel;
    },
    received: (count = 1) =>
      until(`${count} messages arrived`, () => (host.accepted.length >= count ? host.accepted.at(-1) : undefined)),
    send: (part, plain = false) =>
      channel.send(outbound({ channel: 'whatsapp', account: channel.account, chatId: '15551110000', ...part }), {
        plain,
        signal,
      }),
    async restart(next = host) {
      await channel.stop();
      channel = await descriptor.create(parsed, deps);
      await channel.start(next, signal);
      return channel;
    },
    async [Symbol.asyncDispose]() {
      await channel.stop();
      await platform[Symbol.asyncDispose]();
      await temporary[Symbol.asyncDispose]();
    },
  };
}

export async function readMedia(channel: Channel, media: MediaRef | undefined, signal: AbortSignal): Promise<Buffer> {
  if (!media || !channel.download) throw new Error('no file to fetch');
  const file: MediaFile = await channel.download(media, signal);
  const chunks: Uint8Array[] = [];
  for await (const chunk of file.bytes) chunks.push(chunk);
  return Buffer.concat(chunks);
}
