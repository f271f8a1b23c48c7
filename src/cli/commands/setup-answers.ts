// flags, or questions on a terminal -> the answers that setup goes by
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { GatehouseError } from '../../core/errors.ts';
import { readFailureText } from '../../lib/errno.ts';
import { isLoopback } from '../../llm/catalog/price.ts';
import { findProvider } from '../../llm/providers/index.ts';
import { isForeign } from '../../llm/providers/resolve.ts';
import { openaiCompatible } from '../../llm/providers/table.ts';
import type { CommandContext } from '../context.ts';
import { type Prompts, promptsOn } from '../prompts.ts';

export interface SetupOptions {
  readonly provider?: string;
  readonly model?: string;
  readonly baseUrl?: string;
  /** Of the platform, where it is not the public one. */
  readonly apiRoot?: string;
  /** Files with a secret each, in place of the questions. */
  readonly keyFile?: string;
  readonly tokenFile?: string;
  /** Id, at the platform of the bot, of who is to send the code; in place of the last question. */
  readonly owner?: string;
  /** See `AwaitCodeOptions`. */
  readonly dropWaiting?: boolean;
  readonly service?: boolean;
  readonly force?: boolean;
}

/** Whether there is someone to ask. */
export function isTerminal({ deps: { stdio } }: CommandContext): boolean {
  return stdio.stdin.isTTY === true && stdio.stderr.isTTY === true;
}

export function prompts({ deps }: CommandContext): Prompts {
  return promptsOn(deps.stdio, deps.env);
}

/** Throws GH1001 where what is not answered by a flag cannot be asked. */
export function mustBeAnswered(context: CommandContext, { keyFile, tokenFile, owner }: SetupOptions): void {
  if (isTerminal(context) || ((keyFile ?? tokenFile) !== undefined && (tokenFile === undefined || owner !== undefined))) return;
  if (tokenFile !== undefined && owner === undefined)
    throw new GatehouseError('GH1001', '--token-file needs --owner where there is no terminal', {
      hint: 'add `--owner ID`: the id, at the platform of the bot, of who sends the code',
    });
  throw new GatehouseError('GH1001', 'setup asks on a terminal, and there is none', {
    hint: 'answer with `--key-file`, and `--token-file` with `--owner ID`; or write a config with `gatehouse init --defaults`, and store secrets with `gatehouse auth set-key NAME < file`',
  });
}

/** What a key begins with names its provider; all else is taken for OpenAI's. */
const KEYS: readonly (readonly [RegExp, string])[] = [
  [/^sk-ant-/, 'anthropic'],
  [/^sk-or-/, 'openrouter'],
  [/^AIza/, 'gemini'],
  [/^gsk_/, 'groq'],
  [/^xai-/, 'xai'],
];

/**
 * The name of the provider under which the key is stored, and with which a start sends it to the address.
 * Throws GH1001 where a start would not: a stored key of a provider goes to no server of others
 * (`foreignAddress`).
 */
export function providerOfKey(key: string, { provider, model, baseUrl }: SetupOptions): string {
  const formed = KEYS.find(([form]) => form.test(key))?.[1];
  const known = findProvider(provider ?? formed ?? 'openai');
  const name = known?.name ?? provider ?? '';
  if (baseUrl === undefined || known === undefined || !isForeign(known, baseUrl)) return name;
  if ((provider ?? formed) !== undefined && isLoopback(baseUrl)) return name;
  if (provider !== undefined)
    throw new GatehouseError('GH1001', `a key of ${name} is not sent to the server of --base-url`, {
      hint: 'use `--provider openai-compatible`, or leave --provider out',
    });
  if (model !== undefined) return openaiCompatible.name;
  throw new GatehouseError('GH1001', 'the server of --base-url needs --model', {
    hint: 'add `--model NAME`, one that it serves',
  });
}

/** Of the tokens that name their platform. */
const TOKENS: readonly (readonly [RegExp, type: string, variable: string])[] = [
  [/^\d{5,}:[\w-]{20,}$/, 'telegram', 'TELEGRAM_BOT_TOKEN'],
  [/^[\w-]{20,}\.[\w-]{6}\.[\w-]{20,}$/, 'discord', 'DISCORD_BOT_TOKEN'],
];
export const OTHER_CHANNELS = 'name another channel with `gatehouse init`';

/** Keys and tokens are shorter by far. */
const MOST_CHARS = 8_192;

/** Typed unseen on the terminal, or read from the file that a flag names. '' = left out. */
export async function secret(context: CommandContext, prompt: string, pipe: string, file: string | undefined): Promise<string> {
  const { cwd } = context.deps;
  if (file === undefined) return isTerminal(context) ? await prompts(context).secret(prompt, pipe) : '';
  const text = await readFile(resolve(cwd, file), 'utf8').catch((error: unknown) => {
    throw new GatehouseError('GH1001', `${file} cannot be read: ${readFailureText(error)}`, {
      hint: 'name a file with the secret alone',
    });
  });
  if (/\s/.test(text.trim()) || text.length > MOST_CHARS)
    throw new GatehouseError('GH1001', `${file} holds more than a secret`, {
      hint: 'name a file with the secret alone, on one line',
    });
  if (text.trim() !== '') return text.trim();
  throw new GatehouseError('GH1001', `${file} is empty`, { hint: 'name a file with the secret alone' });
}

/**
 * The token that a flag names, before anything is called. Undefined = it is asked, or left out. Throws GH1001
 * where it is none.
 */
export async function givenBot(context: CommandContext, { tokenFile }: SetupOptions): Promise<Given | undefined> {
  if (tokenFile === undefined) return undefined;
  const token = await secret(context, '', '', tokenFile);
  const form = formOf(token);
  if (form) return { token, ...form };
  throw new GatehouseError('GH1001', `${tokenFile} holds no token of Telegram or Discord`, { hint: OTHER_CHANNELS });
}

export interface Given {
  readonly token: string;
  readonly type: string;
  readonly variable: string;
}

/** Of a token whose platform is known by its form. */
export function formOf(token: string): Omit<Given, 'token'> | undefined {
  const [, type, variable] = TOKENS.find(([form]) => form.test(token)) ?? [];
  return type === undefined || variable === undefined ? undefined : { type, variable };
}
