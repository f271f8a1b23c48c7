import { z } from 'zod';
import type { ChannelDescriptor } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';

const settings = z.strictObject({}).describe('The terminal has no settings.');

/** The terminal the daemon was started in. Its user is the owner: access is not checked. */
export const channel: ChannelDescriptor<z.infer<typeof settings>> = {
  type: 'cli',
  settings,
  guarantee: {
    inbound: 'C',
    inboundHow: 'a terminal repeats nothing',
    send: 'blind',
    loss: 'the line being typed',
  },
  local: true,
  async create(_settings, deps) {
    if (!deps.terminal) throw new GatehouseError('GH1101', 'channel cli needs a terminal, and this process was given none');
    const { CliChannel } = await import('./client.ts');
    return new CliChannel(deps.name, deps.terminal, deps.clock);
  },
};
