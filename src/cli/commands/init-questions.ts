/** The questions of `gatehouse init`: what they lead to always passes `config check`. */
import { ZodObject } from 'zod';
import { errorText, isGatehouseError } from '../../core/errors.ts';
import { nearest } from '../../lib/edit-distance.ts';
import { printable } from '../../lib/printable.ts';
import { DEFAULT_MODELS } from '../../llm/catalog/catalog.ts';
import { findProvider, PROVIDERS, providerNames } from '../../llm/providers/index.ts';
import type { Provider } from '../../llm/providers/provider.ts';
import type { CliDeps } from '../deps.ts';
import { withQuestions } from '../questions.ts';
import { limitPart, limitText, paidModelOf } from './setup-limit.ts';

export interface Answers {
  readonly provider?: string;
  readonly model?: string;
  readonly base_url?: string;
  readonly budget?: { readonly daily_usd: number };
  readonly channels: readonly unknown[];
}

interface Asking {
  readonly deps: CliDeps;
  readonly question: (text: string) => Promise<string>;
  /** One line under the question. */
  readonly say: (text: string) => void;
}

/**
 * Asks three questions, each of which may be left empty, and one for each setting that a chosen channel or
 * provider cannot do without. Asks for no secret: the config only names environment variables. Rejects as
 * `withQuestions` does.
 */
export function askSetup(deps: CliDeps): Promise<Answers> {
  return withQuestions(
    deps.stdio,
    async (question) => {
      const asking: Asking = { deps, question, say: (text) => void deps.stdio.stderr.write(`  ${text}\n`) };
      const model = await askModel(asking);
      return { ...model, channels: [{ type: 'cli' }, ...(await askChannels(asking))] };
    },
    '--defaults',
  );
}

async function askModel(asking: Asking): Promise<Omit<Answers, 'channels'>> {
  const provider = await askProvider(asking);
  if (!provider) return {};
  const { deps, question, say } = asking;
  const known = provider.baseUrl ?? provider.address?.(deps.env, provider.wire, DEFAULT_MODELS[provider.name] ?? '');
  for (;;) {
    const usual = DEFAULT_MODELS[provider.name];
    const ownDefault = usual === undefined ? 'its name at your server' : `empty: ${usual}`;
    const model = await question(`Model (${ownDefault}): `);
    const address = known === undefined ? await question('Address of the server, such as http://127.0.0.1:8000/v1: ') : '';
    const answers = { provider: provider.name, ...(model ? { model } : {}), ...(address ? { base_url: address } : {}) };
    try {
      const paid = paidModelOf(answers, deps.env);
      if (paid) say(limitText(paid));
      return { ...answers, ...limitPart(paid) };
    } catch (error) {
      if (!isGatehouseError(error)) throw error;
      say(errorText(error));
    }
  }
}

/** Undefined when none is named. */
async function askProvider({ deps, question, say }: Asking): Promise<Provider | undefined> {
  for (;;) {
    const name = await question('Model provider (empty: found from your keys and local servers): ');
    if (name === '') return undefined;
    const found = findProvider(name);
    if (found) return found;
    say(`there is no provider "${printable(name.slice(0, 80))}"; there are ${providerNames()}`);
    const names = PROVIDERS.flatMap((provider) => [provider.name, ...provider.aliases]);
    const meant = nearest(name, names);
    if (deps.channelTypes.includes(name)) say('it is a channel: those are asked for below');
    else if (meant !== undefined) say(`did you mean ${meant}?`);
  }
}

async function askChannels(asking: Asking): Promise<readonly unknown[]> {
  const { deps, question, say } = asking;
  const known = deps.channelTypes.filter((type) => type !== 'cli');
  const words = await question(`Channels besides the terminal (${known.join(', ')}; empty: none): `);
  const types = new Set<string>();
  for (const word of words.split(/[\s,]+/)) {
    const type = deps.channelTypes.includes(word) ? word : nearest(word, deps.channelTypes);
    if (type !== undefined) types.add(type);
    else if (word !== '') say(`left out "${printable(word.slice(0, 80))}": there is no such channel`);
  }
  const entries: unknown[] = [];
  for (const type of types) {
    if (type === 'cli') continue;
    const settings = await askSettings(type, asking);
    if (settings) entries.push({ type, allowed_senders: [], settings });
    else say(`left out ${type}: add it to the config later, by its README`);
  }
  return entries;
}

/** Settings that the channel accepts, with no secret in them; undefined when a question was left empty. */
async function askSettings(type: string, { deps, question, say }: Asking): Promise<Record<string, unknown> | undefined> {
  const schema = await deps.channelSettings(type);
  if (!(schema instanceof ZodObject)) return {};
  const settings: Record<string, unknown> = {};
  // The names of the variables to export, where whoever opens the file looks for them.
  for (const [key, field] of Object.entries(schema.shape)) {
    const preset = field.safeParse(undefined);
    if (key.endsWith('_env') && typeof preset.data === 'string') settings[key] = preset.data;
  }
  for (;;) {
    const issue = schema.safeParse(settings).error?.issues[0];
    if (!issue) return settings;
    const key = String(issue.path[0]);
    const field = schema.shape[key];
    if (field === undefined) return undefined;
    if (key in settings) say(`${key}: ${issue.message}`);
    const { description = '' } = field.meta() ?? {};
    const answer = await question(`${type}: ${key}. ${description.replace(/\.?$/, '')} (empty: leave ${type} out): `);
    if (answer === '') return undefined;
    // Whatever is not taken as text may be a number.
    settings[key] = !field.safeParse(answer).success && field.safeParse(Number(answer)).success ? Number(answer) : answer;
  }
}
