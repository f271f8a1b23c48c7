import type { ChannelDescriptor } from '../../src/core/channel.ts';
import { EmailSettings } from './settings.ts';

export const channel: ChannelDescriptor<EmailSettings> = {
  type: 'email',
  settings: EmailSettings,
  guarantee: {
    inbound: 'B',
    inboundHow: 'UID cursor with UIDVALIDITY',
    send: 'find',
    sendHow: 'by Message-ID in a copy to the own mailbox',
    loss: 'nothing',
  },
  async login(settings, deps, ui, signal) {
    await (await import('./login.ts')).login(settings, deps, ui, signal);
  },
  async logout(settings, deps, signal) {
    return await (await import('./logout.ts')).logout(settings, deps, signal);
  },
  async create(settings, deps) {
    const { mailAccess } = await import('./wire/access.ts');
    const access = await mailAccess(settings, deps);
    const { EmailChannel } = await import('./channel.ts');
    return new EmailChannel({ settings, deps, access });
  },
};
