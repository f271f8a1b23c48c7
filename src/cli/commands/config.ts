import { type ChannelSettings, configJsonSchema, renderJsonSchema } from '../../../config/json-schema.ts';
import { ConfigError, type Finding, formatProblem } from '../../../config/problem.ts';
import type { Config } from '../../../config/schema.ts';
import { age, warningsOf } from '../../app/catalog-warnings.ts';
import { isGatehouseError } from '../../core/errors.ts';
import { counted } from '../../lib/counted.ts';
import { installCommand } from '../../lib/optional-packages.ts';
import { entryOfVariable } from '../../lib/stored-variables.ts';
import { namesModel } from '../../llm/detect.ts';
import { limitsFrom } from '../../llm/money/limits.ts';
import { PROVIDERS } from '../../llm/providers/index.ts';
import { type KeyNeed, resolveKey, type StoredKey } from '../../llm/providers/key.ts';
import { type ModelConfig, resolveProvider } from '../../llm/providers/resolve.ts';
import { configFailure, problemDocument, problemsDocument, sayProblems } from '../config-problems.ts';
import { type Command, dataDirOf, envOf, readConfig } from '../context.ts';
import type { CliDeps } from '../deps.ts';
import { EXIT } from '../exit-codes.ts';
import { channelSecrets } from './config-secrets.ts';

/** Names and aliases, each with the name that its calls have, for `readConfig`. */
export const PROVIDER_NAMES: ReadonlyMap<string, string> = new Map(
  PROVIDERS.flatMap(({ name, aliases }) => [name, ...aliases].map((one) => [one, name] as const)),
);

export interface CheckOptions {
  /** A warning fails it too. */
  readonly strict?: boolean;
  /** Only what `config/check-security.ts` finds; each is worth exit code 1. */
  readonly only?: 'security';
}

/**
 * Checks the config and names every problem at once. With `strict` a warning fails the check too: for a
 * script that must not roll out a file with a typo in it.
 */
export const configCheck: Command<CheckOptions> = async (context, { strict = false, only }) => {
  const { out } = context;
  try {
    const stored = (provider: string) => context.deps.storedKey(dataDirOf(context), provider);
    // A file of logins that cannot be trusted is told by the commands that need it.
    const env = await envOf(context).catch(() => context.deps.env);
    const judge = async (config: Config) => [
      ...judgeModels(config, { env, clock: context.deps.clock }),
      ...(await missingKeys(config, env, stored)),
      ...(await channelSecrets(context, config)),
      ...missingPackages(config),
    ];
    const { file, warnings: all } = await readConfig(context, { providers: PROVIDER_NAMES, judge });
    const warnings = only === undefined ? all : all.filter(({ message }) => / \[[a-z-]+\]$/.test(message));
    for (const warning of warnings) out.say(`${out.mark('warn', 'stderr')} ${formatProblem(warning)}`);
    if ((strict || only) && warnings.length > 0) {
      const message = `${counted(warnings.length, 'warning')} in ${file ?? 'the config'}${only ? '' : ', and --strict takes none'}`;
      const hint = only ? 'mend the lines named above, or name what you mean in security.accept' : STRICT_HINT;
      out.fail({ code: 'GH1101', message, hint }, { file: file ?? null, problems: warnings.map(problemDocument) });
      return only ? EXIT.failed : EXIT.config;
    }
    const count = warnings.length === 0 ? '' : `, ${counted(warnings.length, 'warning')}`;
    out.data(`${out.mark('ok')} ${file ?? 'no config file: the defaults apply'}${file === undefined ? '' : ' is valid'}${count}`);
    out.document({ file: file ?? null, problems: warnings.map(problemDocument) });
    return EXIT.ok;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    sayProblems(out, error.problems);
    out.fail(configFailure(error), problemsDocument(error));
    return EXIT.config;
  }
};

const STRICT_HINT = 'fix the lines named above, or leave out --strict';

/** The file may be checked elsewhere than where the daemon and its packages are, so this only warns. */
export function missingPackages({ gateway }: Pick<Config, 'gateway'>, has?: (name: string) => boolean): Finding[] {
  return gateway.channels.flatMap(({ type }, at): Finding[] => {
    const command = installCommand('channels', type, has);
    if (command === undefined) return [];
    const message = `the package of channel type ${type} is not installed`;
    return [{ severity: 'warning', path: ['gateway', 'channels', at, 'type'], message, hint: `run \`${command}\`` }];
  });
}

/**
 * What keeps a model of the config from working, as the start would say it, and what the catalog warns of.
 */
function judgeModels(config: Config, { env, clock }: Pick<CliDeps, 'env' | 'clock'>): Finding[] {
  const entries = entriesOf(config);
  const now = clock.now();
  const limits = limitsFrom(config.budget, { foundKey: false });
  const old = entries.length === 0 ? [] : age(now);
  const about = entries.flatMap(([at, entry]): Finding[] => {
    const path = [...at, entry.model === undefined ? 'provider' : 'model'];
    try {
      return warningsOf(resolveProvider(entry, env), now, limits).map((message) => ({ severity: 'warning', path, message }));
    } catch (error) {
      if (!isGatehouseError(error)) throw error;
      const { message, hint } = error;
      // The file may be checked elsewhere than where the daemon and its environment are.
      return [{ severity: hint.startsWith('export ') ? 'warning' : 'error', path, message, hint }];
    }
  });
  return [...about, ...old.map((message): Finding => ({ severity: 'warning', path: [], message }))];
}

function entriesOf(config: Config): readonly [PropertyKey[], ModelConfig][] {
  const { fallback_models: spare, models } = config;
  return [
    ...(namesModel(config) ? [[[], config] as [PropertyKey[], ModelConfig]] : []),
    ...spare.map((entry, at): [PropertyKey[], ModelConfig] => [['fallback_models', at], entry]),
    ...Object.entries(models).map(([name, entry]): [PropertyKey[], ModelConfig] => [['models', name], entry]),
  ];
}

/**
 * Keys that models need, and that are neither stored nor in this environment, which may not be the
 * daemon's.
 */
async function missingKeys(config: Config, env: CliDeps['env'], storedKey: StoredKey): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (const [at, entry] of entriesOf(config)) {
    const path = [...at, entry.api_key_env === undefined ? 'provider' : 'api_key_env'];
    let stores: string | undefined;
    try {
      const target = resolveProvider(entry, env);
      stores = storedAs(target);
      await resolveKey(target, { env, storedKey });
    } catch (error) {
      if (!isGatehouseError(error) || error.code !== 'GH1103') continue; // `judgeModels` tells all else
      const hint = stores === undefined ? error.hint : `${error.hint}, or \`gatehouse auth set-key ${stores}\``;
      found.push({ severity: 'warning', path, message: error.message, hint });
    }
  }
  return found;
}

/**
 * What `auth set-key` is given for a key that is used: the provider, or the variable where the address is of
 * others, to whom a stored key is not sent. Undefined: no name that it takes.
 */
function storedAs({ provider, keyEnvs: [variable = ''], keyForAddress, foreignAddress }: KeyNeed): string | undefined {
  if (!keyForAddress && !foreignAddress) return provider.name;
  return entryOfVariable(variable) === undefined ? undefined : variable;
}

/** Prints the JSON Schema of the config with the settings of every channel type. */
export const configSchema: Command<unknown> = async ({ deps, out }) => {
  const schema = configJsonSchema(await allChannelSettings(deps));
  if (out.json) out.document({ schema });
  else out.raw(renderJsonSchema(schema));
  return EXIT.ok;
};

/** Every channel type with its settings schema, in the order of the registry. */
export async function allChannelSettings(deps: Pick<CliDeps, 'channelTypes' | 'channelSettings'>): Promise<ChannelSettings[]> {
  const channels: ChannelSettings[] = [];
  for (const type of deps.channelTypes) {
    const settings = await deps.channelSettings(type);
    if (settings) channels.push({ type, settings });
  }
  return channels;
}
