import type { LoadedConfig } from '../../config/load.ts';
import type { ChannelDeps, LoginUi } from '../core/channel.ts';
import { GatehouseError } from '../core/errors.ts';
import type { Logger } from '../core/ports.ts';
import { systemClock } from '../lib/clock.ts';
import { channelDir, type Registry } from './channels.ts';

export interface LoginOptions {
  readonly config: LoadedConfig['config'];
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly registry: Registry;
  /** As in the config. */
  readonly name: string;
  readonly ui: LoginUi;
  readonly signal: AbortSignal;
}

const SILENT: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => SILENT,
};

/**
 * Links the account of one configured channel. Rejects with GH1003 for a name that is not configured, with GH1001 for a channel whose
 * login is a key in the environment, and as the channel does.
 */
export async function loginChannel(options: LoginOptions): Promise<void> {
  const { config, dataDir, env, registry, name, ui, signal } = options;
  const entry = config.gateway.channels.find((one) => (one.name ?? one.type) === name);
  if (!entry) {
    const names = config.gateway.channels.map((one) => one.name ?? one.type).join(', ');
    throw new GatehouseError('GH1003', `the config has no channel "${name.slice(0, 80)}"`, {
      hint: `it has: ${names || 'none'}`,
    });
  }
  const descriptor = await registry[entry.type]?.();
  if (!descriptor?.login) {
    throw new GatehouseError('GH1001', `a ${entry.type} channel is not linked this way: its login is in the config`, {
      hint: `see channels/${entry.type}/README.md`,
    });
  }
  const deps: ChannelDeps = {
    name,
    secret: (variable) => {
      const value = env[variable];
      if (value) return value;
      throw new GatehouseError('GH1103', `environment variable ${variable} is not set`, { hint: `export ${variable}=…` });
    },
    clock: systemClock,
    logger: SILENT,
    random: Math.random,
    dir: channelDir(dataDir, name),
    webhooks: { serve: () => Promise.reject(new GatehouseError('GH1004', 'no address is served while an account is linked')) },
  };
  await descriptor.login(entry.settings as never, deps, ui, signal);
}
