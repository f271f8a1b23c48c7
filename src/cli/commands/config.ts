import { type ChannelSettings, configJsonSchema, renderJsonSchema } from '../../../config/json-schema.ts';
import type { LoadedConfig } from '../../../config/load.ts';
import { ConfigError, formatProblem, type Problem } from '../../../config/problem.ts';
import { priceUnknown } from '../../app/catalog-warnings.ts';
import { isGatehouseError } from '../../core/errors.ts';
import { namesModel } from '../../llm/detect.ts';
import { PROVIDERS } from '../../llm/providers/index.ts';
import { type ModelConfig, resolveProvider } from '../../llm/providers/resolve.ts';
import { configFailure, plural, sayProblems } from '../config-problems.ts';
import { type Command, readConfig } from '../context.ts';
import type { CliDeps } from '../deps.ts';
import { EXIT } from '../exit-codes.ts';

const PROVIDER_NAMES = PROVIDERS.flatMap(({ name, aliases }) => [name, ...aliases]);

/** Checks the config and names every problem at once. */
export const configCheck: Command<unknown> = async (context) => {
  const { out } = context;
  try {
    const { file, config, warnings: found } = await readConfig(context, PROVIDER_NAMES);
    const warnings = [...found, ...unknownPrices(config)];
    for (const warning of warnings) out.say(`${out.mark('warn', 'stderr')} ${formatProblem(warning)}`);
    const count = warnings.length === 0 ? '' : `, ${plural(warnings.length, 'warning')}`;
    out.data(`${out.mark('ok')} ${file ?? 'no config file: the defaults apply'}${file === undefined ? '' : ' is valid'}${count}`);
    out.document({ file: file ?? null, problems: warnings.map(toJson) });
    return EXIT.ok;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    sayProblems(out, error.problems);
    out.fail(configFailure(error), { file: error.file ?? null, problems: error.problems.map(toJson) });
    return EXIT.config;
  }
};

/** A model that a limit would stop at its first call. */
function unknownPrices({ fallback_models: spare, ...config }: LoadedConfig['config']): Problem[] {
  const entries: [string, ModelConfig][] = [
    ...(namesModel(config) ? [['model', config] as [string, ModelConfig]] : []),
    ...spare.map((entry, at): [string, ModelConfig] => [`fallback_models[${at}]`, entry]),
  ];
  return entries.flatMap(([path, entry]) => {
    try {
      const { provider, model, facts } = resolveProvider(entry);
      const message = priceUnknown(`${provider.name}/${model}`);
      return facts.price === null ? [{ severity: 'warning' as const, path, message }] : [];
    } catch (error) {
      // What cannot work at all is told by the start.
      if (isGatehouseError(error)) return [];
      throw error;
    }
  });
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

function toJson({ severity, path, message, hint, file, line, col }: Problem): Record<string, unknown> {
  return { severity, path, message, hint: hint ?? null, file: file ?? null, line: line ?? null, col: col ?? null };
}
