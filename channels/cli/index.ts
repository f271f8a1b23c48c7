/** The terminal the daemon was started in. Its user is the owner: access is not checked. */
import type { ChannelDescriptor } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import { CliSettings } from './settings.ts';

export const channel: ChannelDescriptor<CliSettings> = {
  type: 'cli',
  settings: CliSettings,
  guarantee: {
    inbound: 'C',
    inboundHow: 'a terminal repeats nothing',
    send: 'blind',
    loss: 'the line being typed',
  },
  local: true,
  async create(_settings, deps) {
    if (!deps.terminal) throw new GatehouseError('GH1101', 'channel cli needs a terminal, and this process was given none');
    const { CliChannel } = await import('./channel.ts');
    return new CliChannel(deps.name, deps.terminal, deps.clock);
  },
};
