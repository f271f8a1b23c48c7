import { TOKEN_SETTINGS } from '../../config/check-channels.ts';
import { valueAt } from '../../config/check-value.ts';
import type { ReadSecret } from '../core/channel.ts';
import { GatehouseError } from '../core/errors.ts';
import { comparableAddress } from '../lib/api-address.ts';
import type { ChannelEntry } from './channel-options.ts';

/**
 * Throws GH1101 where two channels of one type were given the token of one bot, each by a variable of its
 * own: the platform would give a message to either of them, or to both, and it would be answered twice. That
 * one variable is named twice is told by `checkChannels`, which reads no value. Called before channels are
 * made, at the start and for a changed config.
 */
export function refuseSharedTokens(entries: Iterable<ChannelEntry>, secret: ReadSecret): void {
  const holders = new Map<string, string>();
  for (const { name, type, settings } of entries) {
    for (const key of TOKEN_SETTINGS) {
      const variable = valueAt(settings, [key]);
      const token = typeof variable === 'string' ? tokenIn(variable, secret) : undefined;
      if (token === undefined) continue;
      // At another address it is the token of another bot.
      const bot = JSON.stringify([type, token, comparableAddress(valueAt(settings, ['api_root']))]);
      const holder = holders.get(bot);
      if (holder !== undefined) throw shared(name, String(variable), holder);
      holders.set(bot, name);
    }
  }
}

/** Without white space around it. Undefined where it is not set: the channel that needs it says so. */
function tokenIn(variable: string, secret: ReadSecret): string | undefined {
  try {
    return secret(variable).trim();
  } catch {
    return undefined;
  }
}

function shared(name: string, variable: string, holder: string): GatehouseError {
  return new GatehouseError(
    'GH1101',
    `channel ${name}: ${variable} holds the token of channel ${holder}: the two would take or answer the same messages`,
    { hint: 'give each bot a token of its own, or remove one of the channels' },
  );
}
