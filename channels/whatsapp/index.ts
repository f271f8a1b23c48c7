import { join } from 'node:path';
import type { ChannelDescriptor } from '../../src/core/channel.ts';
import { PLATFORM_LIMITS } from './platform-limits.ts';
import { WhatsAppSettings } from './settings.ts';
import { accountOf, LoginStore } from './wire/store.ts';

export const channel: ChannelDescriptor<WhatsAppSettings> = {
  type: 'whatsapp',
  platformLimits: PLATFORM_LIMITS,
  settings: WhatsAppSettings,
  groupId: /@g\.us$/,
  guarantee: {
    inbound: 'A',
    inboundHow: 'the receipt goes out after the commit, and what was decrypted stays readable',
    send: 'idem',
    sendHow: 'by an id of our own',
    loss: 'nothing',
  },
  async login(settings, deps, ui, signal) {
    // The SDK is loaded here and not at import time: a daemon without WhatsApp does not pay for it.
    await (await import('./login.ts')).login(settings, deps, ui, signal);
  },
  async logout(_settings, deps, signal) {
    return await (await import('./logout.ts')).logout(deps, signal);
  },
  async create(settings, deps) {
    const { LOGIN_FILE, WhatsAppChannel } = await import('./channel.ts');
    using store = await LoginStore.open(join(deps.dir, LOGIN_FILE), { create: false, now: deps.clock.now() });
    return new WhatsAppChannel({ account: store && accountOf(store), settings, deps });
  },
};
