import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Config } from '../../../config/schema.ts';
import { budgetSection } from '../../../config/sections/model.ts';
import { GatehouseError } from '../../core/errors.ts';
import { namesModel } from '../../llm/detect.ts';
import { DEFAULT_DAILY_USD } from '../../llm/money/limits.ts';
import { resolveKey } from '../../llm/providers/key.ts';
import { providerFor, resolveProvider } from '../../llm/providers/resolve.ts';
import { type Command, type CommandContext, dataDirOf, envOf, readConfig, sayWarnings } from '../context.ts';
import { countOf } from '../count-option.ts';
import { PROVIDER_NAMES } from './config.ts';

export interface ChatOptions {
  readonly message?: string;
  /** Where the config is looked for. Default: here. */
  readonly cwd?: string;
  readonly provider?: string;
  readonly model?: string;
  readonly baseUrl?: string;
  readonly maxIterations?: string;
  /** Default true. */
  readonly retry?: boolean;
  readonly log?: 'pretty' | 'json';
}

export const chat: Command<ChatOptions> = async (context, options) => {
  const { deps, globals, out } = context;
  if (options.message?.trim() === '')
    throw new GatehouseError('GH1001', 'the message is empty', { hint: 'write `gatehouse chat -m "hello"`' });
  mustHaveWords(options);
  const here =
    options.cwd === undefined ? context : { ...context, deps: { ...deps, cwd: await directory(deps.cwd, options.cwd) } };
  const loaded = await readConfig(here, { providers: PROVIDER_NAMES });
  sayWarnings(here, loaded);
  const config = { ...loaded, config: await limited(here, loaded.config, instead(loaded.config, options)) };
  return deps.runChat({
    config,
    dataDir: dataDirOf(here),
    stdio: deps.stdio,
    nameCommands: out.nameCommands,
    env: deps.env,
    requireModel: config.config.require_model || deps.env['GATEHOUSE_REQUIRE_MODEL'] === '1',
    verbose: globals.verbose === true,
    ...(options.message === undefined ? {} : { message: options.message }),
    ...(options.retry === false ? { retries: false } : {}),
    ...(options.log === undefined ? {} : { logFormat: options.log }),
  });
};

/** A variable of the shell that is not set must not choose another model than was meant. */
function mustHaveWords({ cwd, provider, model, baseUrl }: ChatOptions): void {
  for (const [option, value] of Object.entries({ cwd, provider, model, 'base-url': baseUrl }))
    if (value?.trim() === '')
      throw new GatehouseError('GH1001', `--${option} is empty`, { hint: `name one, or leave out --${option}` });
}

async function directory(cwd: string, path: string): Promise<string> {
  const found = resolve(cwd, path);
  const isDirectory = await stat(found).then(
    (it) => it.isDirectory(),
    () => false,
  );
  if (isDirectory) return found;
  throw new GatehouseError('GH1001', `--cwd ${path} is no directory`, { hint: 'name a directory that is there' });
}

/** What the config says of its model does not hold for another one, nor its key for another address. */
function instead(config: Config, { provider, model, baseUrl, maxIterations }: ChatOptions): Config {
  const most = maxIterations === undefined ? {} : { max_iterations: countOf('--max-iterations', maxIterations) };
  if ((provider ?? model ?? baseUrl) === undefined) return { ...config, ...most };
  const address = baseUrl === undefined ? {} : { base_url: checkedUrl(baseUrl) };
  if ((provider ?? model ?? config.provider ?? config.model) === undefined)
    throw new GatehouseError('GH1001', '--base-url needs the name of a model that is served there', {
      hint: 'add `--model NAME`',
    });
  const { model_hints: _, ...kept } = config;
  const isElsewhere = (provider ?? baseUrl) !== undefined || isOfAnother(config, model);
  const { api_key_env: __, api_key_envs: ___, base_url: ____, api_type: _____, ...more } = kept;
  const { extra_headers: ______, extra_body: _______, ...alone } = more;
  return {
    ...(isElsewhere ? alone : kept),
    ...(isElsewhere ? { fallback_models: [] } : {}),
    ...(provider === undefined ? {} : { provider, model: undefined }),
    ...(model === undefined ? {} : { model }),
    ...address,
    ...most,
  };
}

/** A flag tries a model, and lifts no limit that a key has which was found. */
async function limited(context: CommandContext, config: Config, tried: Config): Promise<Config> {
  if (config.budget || namesModel(config) || !namesModel(tried)) return tried;
  const budget = budgetSection.parse({ daily_usd: DEFAULT_DAILY_USD });
  if (!(await isKeyless(context, tried))) return { ...tried, budget };
  // The price of this model alone: what else the config names is still refused without one.
  return { ...tried, budget, model_hints: { price: { in: 0, out: 0 } } };
}

/** Such a server is one's own, and costs nothing. The start says what is wrong with the model. */
async function isKeyless(context: CommandContext, config: Config): Promise<boolean> {
  const storedKey = (provider: string) => context.deps.storedKey(dataDirOf(context), provider);
  try {
    const env = await envOf(context);
    const target = resolveProvider(config, env);
    return !target.credentials && (await resolveKey(target, { env, storedKey })) === undefined;
  } catch {
    return false;
  }
}

/** Where the config names no provider, the name of the model alone decides whose server is called. */
function isOfAnother({ provider, base_url, model }: Config, named: string | undefined): boolean {
  if (named === undefined || model === undefined || (provider ?? base_url) !== undefined) return false;
  return ownerOf(named) !== ownerOf(model);
}

/** Undefined where none is known: the start says so. */
function ownerOf(model: string): string | undefined {
  try {
    return providerFor({ model }).name;
  } catch {
    return undefined;
  }
}

/** A password, and what stands in a query, may be secrets. */
function shown(text: string, url: URL | null): string {
  return /[@?#]/.test(text) ? `of ${JSON.stringify(url?.host ?? '')}` : JSON.stringify(text);
}

function checkedUrl(text: string): string {
  const url = URL.parse(text);
  if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return text;
  throw new GatehouseError('GH1001', `--base-url ${shown(text, url)} is no address of a server`, {
    hint: 'write http://HOST/v1 or https://HOST/v1, without a user name or password',
  });
}
