/** An entry of `mcp_servers` or of a plugin, and what the command line asks its server with. */

import type { McpServerEntry } from '../../config/sections/mcp.ts';
import { Secrets } from '../app/secrets.ts';
import { GatehouseError } from '../core/errors.ts';
import type { LoginSummary } from '../lib/auth/store.ts';
import { printable } from '../lib/printable.ts';
import { programEnv } from '../lib/program-env.ts';
import { createRedactor } from '../lib/redact.ts';
import { SILENT } from '../lib/silent-logger.ts';
import type { ProbeOptions } from '../tools/mcp/look.ts';
import { loginFor, wantsLogin } from '../tools/mcp/oauth/server-login.ts';
import { loginKey, openLogins } from '../tools/mcp/oauth/stored-login.ts';
import { type CommandContext, dataDirOf, envOf, readConfig, sayWarnings } from './context.ts';
import { allServers } from './plugin-parts.ts';

export interface ServerOf {
  readonly entry: McpServerEntry;
  readonly options: ProbeOptions;
  /** Takes the secrets that were used so far out of a text. */
  readonly redact: (text: string) => string;
}

/** Shows warnings of the config. Rejects with GH1003 for a name that it has not. */
export async function serverOf(context: CommandContext, name: string): Promise<ServerOf> {
  const loaded = await readConfig(context);
  sayWarnings(context, loaded);
  const servers = await allServers(context, loaded.config);
  const entry = Object.hasOwn(servers, name) ? servers[name] : undefined;
  if (!entry)
    throw new GatehouseError('GH1003', `the config has no MCP server ${printable(name.slice(0, 80))}`, {
      hint: 'see `gatehouse mcp list`',
    });
  const options = await askingOptions(context);
  const login = loginFor(name, entry, options);
  const secrets = (): readonly string[] => [...options.secrets.all(), ...(login?.secrets() ?? [])];
  return { entry, options: { ...options, login }, redact: createRedactor(secrets) };
}

export async function askingOptions(context: CommandContext): Promise<ProbeOptions & { readonly secrets: Secrets }> {
  const { version, clock } = context.deps;
  const env = await envOf(context);
  const secrets = new Secrets(env);
  return { version, clock, dataDir: dataDirOf(context), env: programEnv(env), secret: secrets.secret, secrets, logger: SILENT };
}

/** The stored login for the address of an entry; undefined = none, or the server has no such logins. */
export async function loginOf(context: CommandContext, name: string, entry: McpServerEntry): Promise<LoginSummary | undefined> {
  if (!wantsLogin(entry) || entry.oauth.grant !== 'authorization_code') return undefined;
  await using store = openLogins({ server: name, dataDir: dataDirOf(context), clock: context.deps.clock, logger: SILENT });
  const key = loginKey({ server: name, url: entry.url });
  return (await store.list()).find(({ provider }) => provider === key);
}
