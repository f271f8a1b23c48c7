/** What a name on the command line means: a provider, a channel with its secrets, or a variable. */
import type { ZodType } from 'zod';
import type { Config } from '../../../config/schema.ts';
import { GatehouseError } from '../../core/errors.ts';
import { nearest } from '../../lib/edit-distance.ts';
import { isEnvironmentName } from '../../lib/environment-name.ts';
import { printable } from '../../lib/printable.ts';
import { entryOfVariable } from '../../lib/stored-variables.ts';
import type { Provider } from '../../llm/providers/provider.ts';
import { type CommandContext, readConfig } from '../context.ts';
import { needsOf, variablesIn } from './service-variables.ts';

/** No provider's name comes near; most keys are longer. */
const LONGEST_NAME = 24;

/**
 * The variables with secrets that a name means: itself, where it has the form of one or the config names it;
 * else those of a channel of the config, by its name, or by its type where it is the only one of that; of a
 * type that the config does not have, those that it reads by default. Empty for a provider, which the
 * variable of its key means too, and for what is neither. Rejects with GH1001 for the type of several
 * channels that all have names of their own.
 */
export async function variablesOf(context: CommandContext, name: string): Promise<readonly string[]> {
  // A secret can be stored before the config is right.
  const config = (await readConfig(context).catch(() => undefined))?.config;
  if (entryOfVariable(name) !== undefined && isEnvironmentName(name)) {
    const isRead = readAsVariable(context, config, name) || isGivenToOthers(config, name);
    if (/_(?:TOKEN|SECRET|PASSWORD)$/.test(name) || isRead) return [name];
    if ((await findProvider(name)) !== undefined) return [];
    if (name.includes('_') || variablesIn(config).includes(name)) return [name];
  }
  if ((await findProvider(name)) !== undefined) return [];
  const channels = config?.gateway.channels ?? [];
  const ofType = channels.filter(({ type }) => type === name);
  const [only] = ofType.length === 1 ? ofType : [];
  const entry = channels.find((channel) => (channel.name ?? channel.type) === name) ?? only;
  if (!entry && ofType.length > 0) {
    const names = ofType.map((channel) => printable(channel.name ?? channel.type)).join(', ');
    throw usage(`several channels of the config are of the type ${name}`, `name the one that is meant: ${names}`);
  }
  const schema = await context.deps.channelSettings(entry?.type ?? name);
  if (!schema || !('shape' in schema)) return [];
  const settings: Readonly<Record<string, unknown>> = entry?.settings ?? {};
  return Object.entries(schema.shape as Readonly<Record<string, ZodType>>).flatMap(([key, field]) => {
    if (!key.endsWith('_env')) return [];
    const value = settings[key] ?? field.safeParse(undefined).data;
    return typeof value === 'string' && entryOfVariable(value) !== undefined ? [value] : [];
  });
}

/** Whether a model of the config takes its key from the variable, and takes no stored key of its provider. */
function readAsVariable({ deps }: CommandContext, config: Config | undefined, name: string): boolean {
  const needs = config === undefined ? [] : needsOf(config, deps.env);
  return needs.some((need) => (need.keyForAddress || need.foreignAddress) && need.keyEnvs.includes(name));
}

/**
 * Whether something of the config that is no model is given the variable: it takes no stored key of a
 * provider.
 */
function isGivenToOthers(config: Config | undefined, name: string): boolean {
  if (config === undefined) return false;
  const { mcp_servers: servers, web, gateway } = config;
  return [...variablesIn([servers, web, gateway]), ...Object.values(servers).flatMap(({ env }) => env)].includes(name);
}

/**
 * The provider's own name for any of its names; one that is not known here is taken as it is, with a word
 * about it.
 */
export async function providerOf({ out }: CommandContext, name: string): Promise<string> {
  const wanted = name.trim().toLowerCase();
  const known = await findProvider(name);
  if (known !== undefined) return known;
  const { PROVIDERS } = await import('../../llm/providers/index.ts');
  const meant = nearest(
    wanted,
    PROVIDERS.map((provider) => provider.name),
  );
  const { isProviderName } = await import('../../lib/auth/credential.ts');
  // Whatever is longer is a key in the wrong place: it must not be repeated or become a name.
  if (!isProviderName(wanted) || wanted.length > LONGEST_NAME)
    throw usage('this is not a provider name', 'use the name of the config, such as openai');
  out.say(
    `${out.mark('warn', 'stderr')} no provider is called ${wanted}${meant === undefined ? '' : `; did you mean ${meant}?`}`,
  );
  return wanted;
}

/**
 * The provider's own name for any of its names, and for the variable of its key. A cloud's variables are
 * looked at together (`credentials`), so each of those is itself.
 */
async function findProvider(name: string): Promise<string | undefined> {
  const wanted = name.trim().toLowerCase();
  const { PROVIDERS } = await import('../../llm/providers/index.ts');
  const isMeant = ({ name: own, aliases, keyEnv, credentials }: Provider): boolean =>
    own === wanted || aliases.includes(wanted) || (keyEnv === name.trim() && credentials === undefined);
  return PROVIDERS.find(isMeant)?.name;
}

export function usage(message: string, hint: string): GatehouseError {
  return new GatehouseError('GH1001', message, { hint });
}
