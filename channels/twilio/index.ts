import type { ChannelDeps, ChannelDescriptor } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import { PLATFORM_LIMITS } from './platform-limits.ts';
import { TwilioSettings } from './settings.ts';

const ACCOUNT_SID = /^AC[0-9a-f]{32}$/i;

export const channel: ChannelDescriptor<TwilioSettings> = {
  type: 'twilio',
  platformLimits: PLATFORM_LIMITS,
  settings: TwilioSettings,
  guarantee: {
    inbound: 'B',
    inboundHow: 'list read from a cursor; webhooks answered after the commit',
    send: 'find',
    sendHow: 'by recipient, words and time',
    loss: 'nothing; an answer of the same words as another may be taken for it',
  },
  async create(settings, deps: ChannelDeps) {
    const accountSid = deps.secret(settings.account_sid_env);
    const authToken = deps.secret(settings.auth_token_env);
    if (!ACCOUNT_SID.test(accountSid)) {
      throw new GatehouseError('GH1101', `${settings.account_sid_env} does not hold a Twilio account SID`, {
        hint: 'copy the account SID from the Twilio console: AC and 32 hex digits (an API key, SK, does not sign webhooks)',
      });
    }
    // The SDK is loaded here and not at import time: a daemon without Twilio does not pay for it.
    const [{ TwilioClient }, { TwilioChannel }] = await Promise.all([import('./wire/client.ts'), import('./channel.ts')]);
    const client = new TwilioClient({ accountSid, authToken, apiRoot: settings.api_root.replace(/\/+$/, '') });
    return new TwilioChannel({ client, accountSid, authToken, settings, deps });
  },
};
