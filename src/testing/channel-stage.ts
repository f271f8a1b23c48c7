/** The stage of the channel contract: one account, its platform, and how people and adapters act there. */
import { expect } from 'vitest';
import type { Channel, ChannelHost, Receipt, SendOptions } from '../core/channel.ts';
import type { OutboundPart } from '../core/message.ts';
import type { TestHost } from './channel-host.ts';
import { until } from './fakes.ts';

/** An account on a platform, fresh for each test. Disposing ends the platform; suites stop the adapters. */
export interface ChannelSetup extends AsyncDisposable {
  /** A new adapter on the same account, not started: calling it again plays a restart of the daemon. */
  create(): Promise<Channel>;
  /** An adapter whose credentials the platform refuses. */
  createRefused(): Promise<Channel>;
  /** Immutable ids of two people who may write, as adapters report them; the second if there can be one. */
  readonly people: readonly [string, string?];
  /** A person writes to the bot in a private chat. */
  deliver(message: PlatformMessage): Promise<void>;
  /** What people can see of us, oldest first. */
  seen(): Promise<readonly { readonly text: string; readonly fileName?: string }[]>;
  /**
   * Messages the platform would deliver again after a restart with this host's cursor. Absent for class C,
   * where it never would.
   */
  unacknowledged?(host: Pick<ChannelHost, 'cursor'>): Promise<number>;
  /** Connections from adapters that are open at the platform. */
  connections(): Promise<number>;
  /** A part addressed to a chat that exists, with everything but text set. */
  part(override?: Partial<OutboundPart>): OutboundPart;
  /** The next send is answered with "too many requests". Resolves to the wait that this states, if any. */
  limitNextSend(): Promise<{ readonly statedMs?: number }>;
  /** The next send is accepted and its answer lost. */
  loseNextReply(): Promise<void>;
  /** The next send is refused for good. */
  refuseNextSend(): Promise<void>;
  /** The platform is gone; nothing can connect. */
  goDown(): Promise<void>;
}

interface PlatformMessage {
  readonly text: string;
  /** Immutable id of the person. */
  readonly senderId: string;
  readonly senderName: string;
  readonly file?: { readonly name: string; readonly bytes: Buffer; readonly statedSize?: number };
}

interface Scene {
  readonly platform: ChannelSetup;
  readonly start: (host: TestHost, channel?: Channel) => Promise<Channel>;
  /** An answer of the host that is given later. */
  readonly hold: () => PromiseWithResolvers<Receipt>;
}

export type Case = (scene: Scene) => Promise<void>;

/** What a person writes when the case is not about who it is. */
export async function write(platform: ChannelSetup, text: string, file?: PlatformMessage['file']): Promise<void> {
  await platform.deliver({ text, senderId: platform.people[0], senderName: 'Ada', ...(file && { file }) });
}

/** Fails unless the platform still holds `count` messages. One that holds none says so with its class. */
export async function expectWaiting({ platform, host, channel }: Waiting, count: number): Promise<void> {
  if (platform.unacknowledged) expect(await platform.unacknowledged(host)).toBe(count);
  else expect(channel.inboundClass).toBe('C');
}

export async function untilAcknowledged({ platform, host }: Waiting): Promise<void> {
  await until('it is acknowledged', async () => !(await platform.unacknowledged?.(host)));
}

interface Waiting {
  readonly platform: ChannelSetup;
  readonly host: TestHost;
  readonly channel: Channel;
}

/** The same adapter, with what it was asked to show. */
export function recording(real: Channel): { channel: Channel; calls: { call: 'send' | 'edit'; text: string }[] } {
  const calls: { call: 'send' | 'edit'; text: string }[] = [];
  const channel = new Proxy(real, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (name !== 'send' && name !== 'edit') return value.bind(target);
      return async (...args: unknown[]) => {
        const result: unknown = await value.apply(target, args);
        expect(result).toMatchObject({ kind: 'sent' });
        calls.push({ call: name, text: (args[name === 'send' ? 0 : 1] as OutboundPart).text });
        return result;
      };
    },
  });
  return { channel, calls };
}

export function sending(plain = false): SendOptions {
  return { plain, signal: new AbortController().signal };
}

export async function readAll(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks);
}
