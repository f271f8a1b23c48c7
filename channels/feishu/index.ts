import type { ChannelDeps, ChannelDescriptor } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import { PLATFORM_LIMITS } from './platform-limits.ts';
import { FeishuSettings } from './settings.ts';

/** The only form the SDK connects with; it is public and immutable, so it serves as the account. */
const APP_ID = /^cli_[0-9a-fA-F]{16}$/;

const API_ROOTS = { cn: 'https://open.feishu.cn', global: 'https://open.larksuite.com' } as const;

export const channel: ChannelDescriptor<FeishuSettings> = {
  type: 'feishu',
  platformLimits: PLATFORM_LIMITS,
  settings: FeishuSettings,
  guarantee: {
    inbound: 'A',
    inboundHow: 'acknowledged after the commit',
    send: 'idem',
    sendHow: 'one key for an hour',
    loss: 'nothing within an hour',
  },
  async create(options, deps: ChannelDeps) {
    const appId = deps.secret(options.app_id_env);
    if (!APP_ID.test(appId)) {
      throw new GatehouseError('GH1101', `${options.app_id_env} does not hold an App ID`, {
        hint: 'copy it from "Credentials & Basic Info" of the developer console: cli_ and 16 digits or letters',
      });
    }
    const appSecret = deps.secret(options.app_secret_env);
    // A webhook needs both keys: one makes the signature, with the other the first request proves itself.
    const webhook =
      options.mode === 'webhook'
        ? { encryptKey: deps.secret(options.encrypt_key_env), verificationToken: deps.secret(options.verification_token_env) }
        : undefined;
    // The SDK takes 120 MB and is loaded here, not at import time.
    const [{ FeishuClient }, { FeishuChannel }] = await Promise.all([import('./wire/client.ts'), import('./channel.ts')]);
    const apiRoot = (options.api_root ?? API_ROOTS[options.region]).replace(/\/+$/, '');
    const client = new FeishuClient({ appId, appSecret, apiRoot });
    return new FeishuChannel({ client, account: appId, settings: options, deps, ...(webhook && { webhook }) });
  },
};
