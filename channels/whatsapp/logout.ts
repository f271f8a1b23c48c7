import { join } from 'node:path';
import type { ChannelDeps } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import { LOGIN_FILE } from './channel.ts';
import { lockLogin } from './wire/lock.ts';
import { removeLogin } from './wire/store.ts';

/** Removes the stored keys. The platform lists the device until it was away for long or is removed there. */
export async function logout({ dir, clock }: ChannelDeps, signal: AbortSignal): Promise<string | undefined> {
  using lock = await lockLogin(dir, { clock, signal });
  if (!lock)
    throw new GatehouseError('GH1503', 'the daemon is using this login', { hint: 'stop the daemon, then run this again' });
  const removed = await removeLogin(join(dir, LOGIN_FILE));
  return removed ? 'On the phone: WhatsApp > Linked devices, choose this one, and log it out.' : undefined;
}
