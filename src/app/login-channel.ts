import type { LoadedConfig } from '../../config/load.ts';
import type { ChannelDeps, LoginUi } from '../core/channel.ts';
import { GatehouseError } from '../core/errors.ts';
import { systemClock } from '../lib/clock.ts';
import { unsetVariable } from '../lib/environment-name.ts';
import { giveToOwner } from '../lib/give-to-owner.ts';
import { SILENT } from '../lib/silent-logger.ts';
import { mustBeInstalled } from './channel-life.ts';
import { channelDir, type Registry } from './channels.ts';

/** Which channel of which installation. */
export interface LogoutOptions {
  readonly config: LoadedConfig['config'];
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly registry: Registry;
  /** As in the config. */
  readonly name: string;
  readonly signal: AbortSignal;
}

export interface LoginOptions extends LogoutOptions {
  readonly ui: LoginUi;
}

/**
 * Links the account of one configured channel. Rejects with GH1003 for a name that is not configured, with
 * GH1001 for a channel whose login is a key in the environment, and as the channel does.
 */
export async function loginChannel(options: LoginOptions): Promise<void> {
  const { type, settings, descriptor } = await linkedChannel(options);
  if (!descriptor?.login) throw notLinked(type);
  const deps = depsOf(options);
  try {
    await descriptor.login(settings as never, deps, options.ui, options.signal);
  } finally {
    await giveToOwner(options.dataDir, deps.dir);
  }
}

/**
 * Forgets the stored login of one configured channel. Resolves and rejects as the channel does, or as
 * `loginChannel` before that.
 */
export async function logoutChannel(options: LogoutOptions): Promise<string | undefined> {
  const { type, settings, descriptor } = await linkedChannel(options);
  if (!descriptor?.logout) throw notLinked(type);
  return await descriptor.logout(settings as never, depsOf(options), options.signal);
}

/** GH1003 with the names there are. */
export function noSuchChannel({ gateway }: LoadedConfig['config'], name: string): GatehouseError {
  const names = gateway.channels.map((one) => one.name ?? one.type).join(', ');
  return new GatehouseError('GH1003', `the config has no channel "${name.slice(0, 80)}"`, { hint: `it has: ${names || 'none'}` });
}

async function linkedChannel({ config, registry, name }: LogoutOptions) {
  const entry = config.gateway.channels.find((one) => (one.name ?? one.type) === name);
  if (!entry) throw noSuchChannel(config, name);
  mustBeInstalled(entry.type);
  return { ...entry, descriptor: await registry[entry.type]?.() };
}

function notLinked(type: string): GatehouseError {
  return new GatehouseError('GH1001', `a ${type} channel is not linked this way: its login is in the config`, {
    hint: `see channels/${type}/README.md`,
  });
}

function depsOf({ env, dataDir, name }: LogoutOptions): ChannelDeps {
  return {
    name,
    secret: (variable) => {
      const value = env[variable];
      if (value) return value;
      throw unsetVariable(variable);
    },
    clock: systemClock,
    logger: SILENT,
    random: Math.random,
    dir: channelDir(dataDir, name),
    commands: [],
    webhooks: { serve: () => Promise.reject(new GatehouseError('GH1004', 'no address is served while an account is linked')) },
  };
}
