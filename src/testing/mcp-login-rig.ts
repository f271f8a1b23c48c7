/** An MCP server that wants a login, and a person who logs in to it. Never shipped. */
import { type McpServerEntry, mcpServers } from '../../config/sections/mcp.ts';
import { isGatehouseError } from '../core/errors.ts';
import type { Clock } from '../core/ports.ts';
import { systemClock } from '../lib/clock.ts';
import { addressedFetch, type McpFetch } from '../tools/mcp/http.ts';
import { probe } from '../tools/mcp/look.ts';
import type { LoginUi } from '../tools/mcp/oauth/answer.ts';
import { type LoggedIn, type LogInOptions, logIn } from '../tools/mcp/oauth/log-in.ts';
import { MemoryLogger, tempDir } from './fakes.ts';
import { followLink, type McpPeer, startMcpPeer } from './mcp-peer.ts';

export interface LoginRig extends AsyncDisposable {
  readonly peer: McpPeer;
  readonly dir: string;
  readonly entry: McpServerEntry;
  readonly logger: MemoryLogger;
  /** What the daemon and the command line give to what they start. */
  readonly about: Omit<LogInOptions, 'ui'>;
  /** What the person was shown. */
  readonly shown: Parameters<LoginUi['show']>[0][];
  /** `browser`: what opens the link; by default it agrees to everything. */
  login(options?: Partial<LogInOptions>, browser?: (link: string) => unknown): Promise<LoggedIn>;
  /** Names of the server's tools, asked as the daemon does. */
  tools(entry?: McpServerEntry): Promise<readonly string[]>;
}

export interface RigOptions {
  /** Of the entry, beside its address. */
  readonly entry?: Record<string, unknown>;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  /** The server is at https://mcp.example.org, and private addresses are refused. */
  readonly isPublic?: true;
}

export const PUBLIC = 'https://mcp.example.org';

export function entryFor(url: string, more: Record<string, unknown> = {}): McpServerEntry {
  const entry = mcpServers.parse({ notes: { url, oauth: {}, ...more } })['notes'];
  if (!entry) throw new Error('no entry');
  return entry;
}

export async function loginRig({
  entry: more = {},
  secrets = {},
  clock = systemClock,
  isPublic,
}: RigOptions = {}): Promise<LoginRig> {
  const dir = await tempDir();
  const peer = await startMcpPeer(isPublic ? PUBLIC : undefined);
  const logger = new MemoryLogger();
  const { signal } = new AbortController();
  const about = {
    ...{ version: '1', dataDir: dir.path, env: {}, clock, logger, signal },
    secret: (name: string) => secrets[name] ?? name,
    ...(isPublic ? { fetch: (allowPrivate: boolean) => resolving(peer.local, addressedFetch(allowPrivate)) } : {}),
  };
  const entry = entryFor(peer.url, { allow_private: !isPublic, ...more });
  const shown: LoginRig['shown'] = [];
  return {
    ...{ peer, about, entry, shown, logger, dir: dir.path },
    login: (options = {}, browser = (link) => followLink(link.replace(PUBLIC, peer.local))) => {
      const { ui, ...rest } = options;
      const show: LoginUi['show'] = (what) => {
        shown.push(what);
        browser(what.link);
      };
      return logIn('notes', entry, { ...about, ...rest, ui: { show, ...ui } });
    },
    tools: async (other = entry) => (await probe('notes', other, about, signal)).tools.map(({ name }) => name),
    [Symbol.asyncDispose]: async () => {
      await peer[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

/** As if the public name led to the peer; every other address is looked up and checked as always. */
function resolving(local: string, base: McpFetch): McpFetch {
  return (url, init) => (new URL(url).origin === PUBLIC ? fetch(String(url).replace(PUBLIC, local), init) : base(url, init));
}

/** Code, message and hint of what fails with an error of ours. */
export async function failureOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => new Error('it did not fail'),
    (thrown: unknown) => thrown,
  );
  if (!isGatehouseError(error)) throw error;
  return `${error.code} ${error.message} → ${error.hint}`;
}
