import type { AnyChannelDescriptor } from '../src/core/channel.ts';
import { loadNodeFetch } from '../src/lib/node-fetch.ts';

/** Channel type -> its descriptor, loaded only when a config names it. The one line a new channel adds. */
export const CHANNELS: Readonly<Record<string, () => Promise<AnyChannelDescriptor>>> = {
  cli: async () => (await import('./cli/index.ts')).channel,
  telegram: async () => (await import('./telegram/index.ts')).channel,
  discord: async () => {
    loadNodeFetch();
    return (await import('./discord/index.ts')).channel;
  },
  email: async () => (await import('./email/index.ts')).channel,
  whatsapp: async () => (await import('./whatsapp/index.ts')).channel,
  wecom: async () => (await import('./wecom/index.ts')).channel,
  twilio: async () => (await import('./twilio/index.ts')).channel,
  feishu: async () => (await import('./feishu/index.ts')).channel,
  slack: async () => {
    loadNodeFetch();
    return (await import('./slack/index.ts')).channel;
  },
  irc: async () => (await import('./irc/index.ts')).channel,
};
