import type { ChannelDeps, ChannelDescriptor } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import { shortHash } from '../../src/core/ids.ts';
import { manifestCommands } from './in/slash-commands.ts';
import { PLATFORM_LIMITS } from './platform-limits.ts';
import { SlackSettings } from './settings.ts';

export const channel: ChannelDescriptor<SlackSettings> = {
  type: 'slack',
  platformLimits: PLATFORM_LIMITS,
  settings: SlackSettings,
  groupId: /^[CG]/,
  manifest: manifestCommands,
  guarantee: {
    inbound: 'A',
    inboundHow: 'acknowledged after the commit, with a catch-up over the history after each outage',
    send: 'find',
    sendHow: "by our key in the message's metadata",
    loss: 'a button, command or shortcut while the daemon is not connected; a deletion, reaction or a reply in an old thread while it was away for minutes; a file taken and not shown, and an answer to one person whose sending was cut off, is UNKNOWN',
  },
  async create(settings, deps: ChannelDeps) {
    const botToken = tokenOf(deps, settings.bot_token_env, /^(?:xoxe\.)?xoxb-/, 'the bot token, which begins with xoxb-');
    const secrets =
      settings.mode === 'socket'
        ? { appToken: tokenOf(deps, settings.app_token_env, /^xapp-/, 'the app-level token, which begins with xapp-') }
        : { signingSecret: deps.secret(settings.signing_secret_env) };
    // The SDK is loaded here and not at import time: a daemon without Slack does not pay for it.
    const [{ SlackClient }, { SlackChannel }] = await Promise.all([import('./wire/client.ts'), import('./channel.ts')]);
    const client = new SlackClient({ botToken, apiRoot: settings.api_root.replace(/\/+$/, ''), clock: deps.clock });
    return new SlackChannel({ client, account: accountOf(botToken), settings, deps, ...secrets });
  },
};

function tokenOf(deps: ChannelDeps, variable: string, form: RegExp, what: string): string {
  const token = deps.secret(variable);
  if (form.test(token)) return token;
  throw new GatehouseError('GH1101', `${variable} does not hold a Slack token of the right kind`, {
    hint: `put ${what} into it; both kinds are on the pages of your app at https://api.slack.com/apps`,
  });
}

/**
 * `xoxb-<workspace>-<bot>-<secret>`: the two numbers in front are public and stay when the token is made
 * anew.
 */
function accountOf(botToken: string): string {
  const numbers = /^xoxb-(\d{6,20})-(\d{6,20})-./.exec(botToken);
  return numbers ? `${numbers[1]}-${numbers[2]}` : shortHash(botToken);
}
