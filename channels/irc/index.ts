import type { ChannelDescriptor } from '../../src/core/channel.ts';
import { IrcSettings } from './settings.ts';

export const channel: ChannelDescriptor<IrcSettings> = {
  type: 'irc',
  settings: IrcSettings,
  guarantee: { inbound: 'C', inboundHow: 'a server repeats nothing', send: 'blind', loss: 'what people write while it is down' },
  create: async (settings, deps) => (await import('./client.ts')).createIrcChannel(settings, deps),
};
