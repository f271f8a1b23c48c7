import { join } from 'node:path';
import type { AuthMethod, Credential } from '../../lib/auth/credential.ts';
import type { Tokens } from '../../lib/auth/oauth.ts';
import type { OAuthOptions } from '../../lib/auth/oauth-client.ts';
import { type AuthStore, type LoginSummary, openAuthStore } from '../../lib/auth/store.ts';
import { printable } from '../../lib/printable.ts';
import { entryOfVariable, variableOfEntry } from '../../lib/stored-variables.ts';
import { type Command, type CommandContext, dataDirOf } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { formatRelative, isoTime } from '../format-time.ts';
import { formatTable } from '../output.ts';
import { readSecret } from '../questions.ts';
import { providerOf, usage, variablesOf } from './auth-names.ts';

export interface AuthLoginOptions {
  readonly provider?: string;
  readonly device?: boolean;
  readonly paste?: boolean;
  readonly issuer?: string;
  readonly clientId?: string;
  readonly port?: string;
  /** `--no-browser` sets it to false. */
  readonly browser?: boolean;
  readonly dryRun?: boolean;
}

export interface AuthChangeOptions {
  readonly provider: string;
  readonly dryRun?: boolean;
}

const METHODS: Readonly<Record<AuthMethod, string>> = { oauth: 'browser', device_code: 'code', paste_token: 'key' };

/** Logs in at the issuer, or stores a pasted key where the provider has no login (spec L2). */
export const authLogin: Command<AuthLoginOptions> = async (context, options) => {
  const { provider, method, server } = await planOf(context, options);
  if (options.dryRun) return wouldStore(context, provider, method, server?.issuer);
  if (!server) return await storeKey(context, provider);
  await using store = open(context);
  const oauth: OAuthOptions = { ...server, clock: context.deps.clock, signal: new AbortController().signal };
  const tokens = await logIn(context, oauth, method, options);
  return await keep(context, store, { provider, authMethod: method, ...server, ...tokens });
};

/**
 * Stores a key that is typed unseen or piped in. None comes from the command line: `ps` and the history of
 * the shell show it.
 */
export const authSetKey: Command<AuthChangeOptions> = async (context, { provider: name, dryRun }) => {
  const variables = await variablesOf(context, name.trim());
  if (variables.length > 0) return await storeVariables(context, name.trim(), variables, dryRun === true);
  const provider = await providerOf(context, name);
  return dryRun ? wouldStore(context, provider, 'paste_token') : await storeKey(context, provider);
};

/** Who is logged in, until when; no tokens. */
export const authStatus: Command<unknown> = async (context) => {
  const { deps, out } = context;
  await using store = open(context);
  const logins = await store.list();
  out.document({ file: store.path, logins: logins.map(toJson) });
  if (logins.length === 0) {
    out.data('no login or key is stored');
    out.say('→ gatehouse auth set-key PROVIDER');
    return EXIT.ok;
  }
  const now = deps.clock.now();
  const rows = logins.map(({ provider, authMethod, state, expiresAt, renews }) => {
    const expiry = expiresAt === undefined ? 'never' : formatRelative(expiresAt, now);
    return [variableOfEntry(provider) ?? provider, METHODS[authMethod], state, expiry, renews ? 'by itself' : ''].map(printable);
  });
  out.data(formatTable([['PROVIDER', 'BY', 'STATE', 'EXPIRES', 'RENEWS'], ...rows]));
  const expired = logins.find((login) => login.state === 'expired');
  if (expired) out.say(`→ gatehouse auth login ${printable(expired.provider)}`);
  return EXIT.ok;
};

export const authLogout: Command<AuthChangeOptions> = async (context, { provider: name, dryRun = false }) => {
  const { out } = context;
  await using store = open(context);
  // As stored first: an entry of a provider that is gone from the registry must still be removable.
  const stored = new Set((await store.list()).map((login) => login.provider));
  const entry = entryOfVariable(name) ?? name;
  const secrets = stored.has(entry) ? [] : (await variablesOf(context, name)).flatMap((one) => entryOfVariable(one) ?? []);
  const provider = stored.has(entry) || secrets.length > 0 ? entry : await providerOf(context, name);
  // An earlier version kept a variable that it did not know as the key of a provider of that name.
  const meant = new Set([...(secrets.length > 0 ? secrets : [provider]), name.toLowerCase()]);
  const gone = [...meant].filter((one) => stored.has(one));
  if (!dryRun) for (const one of gone) await store.remove(one, new AbortController().signal);
  if (gone.length === 0) {
    out.fail({
      code: 'GH1003',
      message: `no login or key of ${printable(provider)} is stored`,
      hint: 'see `gatehouse auth status`',
    });
    return EXIT.failed;
  }
  out.data(`${out.mark('ok')} ${variableOfEntry(provider) ?? provider} ${dryRun ? 'would be' : 'is'} forgotten here`);
  out.document({ provider, dryRun });
  return EXIT.ok;
};

interface Plan {
  readonly provider: string;
  readonly method: AuthMethod;
  /** Absent: a key is pasted. */
  readonly server?: { readonly issuer: string; readonly clientId: string };
}

async function planOf(context: CommandContext, options: AuthLoginOptions): Promise<Plan> {
  const { device = false, paste = false, clientId } = options;
  const provider = await providerOf(context, options.provider ?? 'openai');
  if (device && paste) throw usage('`--device` and `--paste` are two ways to log in', 'use one of them');
  if (paste) return { provider, method: 'paste_token' };
  const { DEFAULT_ISSUER } = await import('../../lib/auth/oauth.ts');
  const issuer = options.issuer ?? (provider === 'openai' ? DEFAULT_ISSUER : undefined);
  if (issuer === undefined) {
    if (!device && clientId === undefined) return { provider, method: 'paste_token' };
    throw usage(`where to log in for ${provider} is not known`, 'add `--issuer URL`, or use `--paste`');
  }
  if (!clientId && issuer === DEFAULT_ISSUER) {
    const hint = 'store an API key of https://platform.openai.com/api-keys with `gatehouse auth set-key openai`';
    throw usage(
      'OpenAI gives a client id, which a login needs, to its partners only',
      `${hint}; partners add \`--client-id ID\``,
    );
  }
  if (!clientId) {
    const hint = `add \`--client-id ID\`, or store an API key with \`gatehouse auth set-key ${provider}\``;
    throw usage(`a login at ${printable(issuer)} needs the client id it gave to this installation`, hint);
  }
  return { provider, method: device ? 'device_code' : 'oauth', server: { issuer, clientId } };
}

async function logIn(
  context: CommandContext,
  oauth: OAuthOptions,
  method: AuthMethod,
  { port, browser }: AuthLoginOptions,
): Promise<Tokens> {
  const { deps, out } = context;
  const { loginWithBrowser, loginWithDeviceCode } = await import('../../lib/auth/oauth.ts');
  if (method === 'device_code') {
    return await loginWithDeviceCode({
      ...oauth,
      show: ({ url, userCode, expiresAt }) => {
        out.say(`Open ${url} on any device and enter this code:\n\n  ${userCode}\n`);
        out.say(`It expires ${formatRelative(expiresAt, deps.clock.now())}. Waiting …`);
      },
    });
  }
  const opens = browser !== false && !out.json && deps.stdio.stderr.isTTY === true;
  return await loginWithBrowser({
    ...oauth,
    ...(port === undefined ? {} : { port: parsePort(port) }),
    show: (url) => {
      out.say(`Open this page in a browser on this machine and log in:\n\n  ${url}\n\nWaiting …`);
      // Whether it opens or not, the address is on the screen.
      if (opens) deps.openUrl(url);
    },
  });
}

function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw usage('--port is not a port', 'give a number up to 65535');
}

async function storeKey(context: CommandContext, provider: string): Promise<number> {
  const { stdio } = context.deps;
  const key = await readSecret(stdio, `Key of ${provider} (not shown): `, `gatehouse auth set-key ${provider} < key.txt`);
  await using store = open(context);
  return await keep(context, store, { provider, accessToken: key, authMethod: 'paste_token' });
}

async function keep(context: CommandContext, store: AuthStore, credential: Credential): Promise<number> {
  const { out } = context;
  await store.set(credential, new AbortController().signal);
  const { provider } = credential;
  const summary = (await store.list()).find((login) => login.provider === provider);
  out.data(`${out.mark('ok')} ${credential.authMethod === 'paste_token' ? 'stored the key of' : 'logged in to'} ${provider}`);
  out.document({ file: store.path, dryRun: false, ...(summary ? { login: toJson(summary) } : {}) });
  out.say('→ gatehouse auth status');
  return EXIT.ok;
}

/** One after the other, typed unseen; an empty one is left as it was. On a pipe there is one alone. */
async function storeVariables(
  context: CommandContext,
  channel: string,
  variables: readonly string[],
  dryRun: boolean,
): Promise<number> {
  const { deps, out } = context;
  const file = join(dataDirOf(context), 'auth.json');
  if (dryRun) {
    out.data(`would ask for ${variables.join(', ')} and store what is given in ${file}`);
    out.document({ file, dryRun, variables });
    return EXIT.ok;
  }
  const typed = deps.stdio.stdin.isTTY === true;
  const [only] = variables;
  if (!typed && variables.length > 1)
    throw usage(
      `${channel} has ${variables.length} secrets`,
      `pipe one in by its own name: gatehouse auth set-key ${only} < file`,
    );
  await using store = open(context);
  const stored: string[] = [];
  for (const variable of variables) {
    const skip = variables.length > 1 ? ', empty: leave it' : '';
    const pipe = `gatehouse auth set-key ${variable} < file`;
    const value = await readSecret(deps.stdio, `${variable} (not shown${skip}): `, pipe, variables.length > 1);
    if (value === '') continue;
    const provider = entryOfVariable(variable) ?? '';
    await store.set({ provider, accessToken: value, authMethod: 'paste_token' }, new AbortController().signal);
    out.data(`${out.mark('ok')} stored ${variable}`);
    stored.push(variable);
  }
  out.document({ file, dryRun, variables: stored });
  const shadowed = stored.filter((variable) => deps.env[variable]);
  for (const variable of shadowed) out.say(`${out.mark('warn', 'stderr')} ${variable} is exported as well, and that one is used`);
  out.say(
    variables.includes(channel)
      ? '→ gatehouse auth status; a running daemon takes it at its next start'
      : `→ restart a daemon that runs, which goes on with what it had; then gatehouse channels test ${channel}`,
  );
  return EXIT.ok;
}

function wouldStore(context: CommandContext, provider: string, method: AuthMethod, issuer?: string): number {
  const { out } = context;
  const file = join(dataDirOf(context), 'auth.json');
  const what = issuer === undefined ? `ask for the key of ${provider}` : `log in to ${provider} at ${printable(issuer)}`;
  out.data(`would ${what} and store it in ${file}`);
  out.document({ file, dryRun: true, login: { provider, authMethod: method, ...(issuer === undefined ? {} : { issuer }) } });
  return EXIT.ok;
}

function open(context: CommandContext): AuthStore {
  return openAuthStore({ dir: dataDirOf(context), clock: context.deps.clock });
}

function toJson({ expiresAt, ...login }: LoginSummary): Record<string, unknown> {
  return { ...login, ...(expiresAt === undefined ? {} : { expiresAt: isoTime(expiresAt) }) };
}
