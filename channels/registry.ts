import type { ChannelDescriptor } from '../src/core/channel.ts';

/** Channel type -> its descriptor, loaded only when a config names it. The one line a new channel adds. */
export const CHANNELS: Readonly<Record<string, () => Promise<ChannelDescriptor<never>>>> = {
  cli: async () => (await import('./cli/index.ts')).channel,
};
