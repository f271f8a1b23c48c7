/** An entry of `mcp_servers` -> how its server is reached. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { McpServerEntry } from '../../../config/sections/mcp.ts';
import type { ReadSecret } from '../../core/channel.ts';
import type { Clock, Logger } from '../../core/ports.ts';
import { isBlockedVariable } from '../../lib/blocked-variables.ts';
import { saidLines } from '../said-lines.ts';
import { addressedFetch, limitedFetch, type McpFetch } from './http.ts';
import { authorizedFetch, unauthorizedFetch } from './oauth/authorized-fetch.ts';
import { loginFor, type ServerLogin } from './oauth/server-login.ts';
import { loadSdk } from './sdk.ts';
import type { RecordProcess } from './stdio-process.ts';
import { HttpTransport, StdioTransport, type Wire } from './transport.ts';

export interface WireOptions {
  /** Directories of servers without one are made below. */
  readonly dataDir: string;
  /** What every program is given: PATH and what is as harmless. */
  readonly env: Readonly<Record<string, string>>;
  readonly secret: ReadSecret;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Of programs that are started; see `LineProgram.record`. */
  readonly record?: RecordProcess;
  /** Where tokens come from. Default: what the entry's section `oauth` says. */
  readonly login?: ServerLogin | undefined;
  /** Default: the platform's, kept to public addresses unless the entry allows others. */
  readonly fetch?: (allowPrivate: boolean) => McpFetch;
}

/** Rejects with GH1103 where a variable is not set, and with GH2301. Nothing is started yet. */
export async function wireFor(name: string, entry: McpServerEntry, options: WireOptions): Promise<Wire> {
  return entry.command === undefined
    ? await httpWire(name, entry, options)
    : await stdioWire(name, entry.command, entry, options);
}

async function stdioWire(name: string, command: string, entry: McpServerEntry, options: WireOptions): Promise<Wire> {
  const { dataDir, secret, clock, logger } = options;
  const named = entry.env.map((variable) => [variable, secret(variable)] as const);
  const env = Object.fromEntries([...Object.entries(options.env), ...named].filter(([variable]) => !isBlockedVariable(variable)));
  const cwd = entry.cwd ?? join(dataDir, 'mcp', name);
  if (entry.cwd === undefined) await mkdir(cwd, { recursive: true, mode: 0o700 });
  return new StdioTransport({
    argv: [command, ...entry.args],
    env,
    cwd,
    clock,
    onError: saidLines({ event: 'mcp.said', about: { server: name }, logger, clock }),
    record: options.record,
  });
}

async function httpWire(name: string, entry: McpServerEntry, options: WireOptions): Promise<Wire> {
  const { secret, clock, fetch = addressedFetch, login = loginFor(name, entry, options) } = options;
  const { url = '', bearer_env: bearer, headers_env: named, allow_private: allowPrivate } = entry;
  const headers = new Headers(Object.entries(named).map(([header, variable]) => [header, secret(variable)]));
  if (bearer !== undefined) headers.set('authorization', `Bearer ${secret(bearer)}`);
  const own = bearer ?? Object.entries(named).find(([header]) => header.toLowerCase() === 'authorization')?.[1];
  const { StreamableHTTPClientTransport } = await loadSdk();
  return new HttpTransport((onBytes) => {
    const limited = limitedFetch(fetch(allowPrivate), () => clock.monotonic(), onBytes);
    return new StreamableHTTPClientTransport(new URL(url), {
      fetch: login ? authorizedFetch(limited, { server: name, url }, login) : unauthorizedFetch(limited, name, own),
      requestInit: { headers },
    });
  }, clock);
}

/**
 * Whether what a server answers may be private: a program reads what is on this machine, and a credential
 * opens what is not public.
 */
export function hasCredential(entry: McpServerEntry): boolean {
  const { command, bearer_env: bearer, headers_env: headers, oauth, allow_private: isPrivate } = entry;
  return command !== undefined || (bearer ?? oauth) !== undefined || Object.keys(headers).length > 0 || isPrivate;
}
