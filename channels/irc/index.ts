/** What the registry knows of IRC. Loading this file loads nothing else of the adapter. */
import type { ChannelDescriptor } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import { PLATFORM_LIMITS } from './platform-limits.ts';
import { IrcSettings } from './settings.ts';
import { CHANNEL } from './wire/line.ts';

export const channel: ChannelDescriptor<IrcSettings> = {
  type: 'irc',
  platformLimits: PLATFORM_LIMITS,
  settings: IrcSettings,
  groupId: CHANNEL,
  guarantee: {
    inbound: 'C',
    inboundHow: 'a server repeats nothing, a bouncer or a server with history what was missed',
    send: 'blind',
    loss: 'what people write while it is down, without a bouncer or history',
  },
  async create(settings, deps) {
    const { IrcChannel } = await import('./channel.ts');
    const secret = (variable: string | undefined): string | undefined => {
      const value = variable && deps.secret(variable);
      if (!value || !/\p{Cc}/u.test(value)) return value;
      const hint = 'write the password alone into it, on one line';
      throw new GatehouseError('GH1101', `${variable} holds a line break or another control character`, { hint });
    };
    const passwords = {
      account: secret(settings.password_env),
      server: secret(settings.server_password_env),
      nickserv: secret(settings.nickserv_password_env),
    };
    return new IrcChannel(settings, passwords, deps);
  },
};
