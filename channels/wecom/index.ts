import type { ChannelDescriptor } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import { PLATFORM_LIMITS } from './platform-limits.ts';
import { WecomSettings } from './settings.ts';

export const channel: ChannelDescriptor<WecomSettings> = {
  type: 'wecom',
  platformLimits: PLATFORM_LIMITS,
  settings: WecomSettings,
  guarantee: {
    inbound: 'A',
    inboundHow: 'the callback is answered after the commit; the platform repeats for about 20 s',
    send: 'idem',
    sendHow: 'within 4 hours, by the duplicate check',
    loss: 'what was written while the daemon was down for longer',
  },
  async create(settings, deps) {
    const corpId = settings.corp_id ?? deps.secret(settings.corp_id_env);
    const token = deps.secret(settings.verification_token_env);
    const secret = deps.secret(settings.agent_secret_env);
    const encoded = deps.secret(settings.encoding_aes_key_env);
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(corpId)) {
      throw new GatehouseError('GH1101', `${settings.corp_id_env} does not hold the id of a company`, {
        hint: 'copy "Company ID" from "My Company" in the admin console; it begins with ww',
      });
    }
    const [{ WecomChannel }, { WecomClient }, { parseAesKey }] = await Promise.all([
      import('./channel.ts'),
      import('./wire/client.ts'),
      import('./in/request.ts'),
    ]);
    const aesKey = parseAesKey(encoded, settings.encoding_aes_key_env);
    const client = new WecomClient({ corpId, secret, apiRoot: settings.api_root.replace(/\/+$/, ''), clock: deps.clock });
    return new WecomChannel({ client, keys: { token, aesKey, receiveId: corpId }, settings, deps });
  },
};
