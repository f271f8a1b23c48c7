/** What the registry knows of IRC. Loading this file loads nothing else of the adapter. */
import type { ChannelDescriptor } from '../../src/core/channel.ts';
import { IrcSettings } from './settings.ts';

export const channel: ChannelDescriptor<IrcSettings> = {
  type: 'irc',
  settings: IrcSettings,
  groupId: /^[#&]/,
  guarantee: {
    inbound: 'C',
    inboundHow: 'a server repeats nothing',
    send: 'blind',
    loss: 'what people write while it is down',
  },
  async create(settings, deps) {
    const { IrcChannel } = await import('./channel.ts');
    return new IrcChannel(settings, deps);
  },
};
