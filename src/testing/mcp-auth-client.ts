/**
 * Our client in the scenarios of the conformance suite of MCP about logins: as the daemon and the command
 * line have it.
 */
import { mcpServers } from '../../config/sections/mcp.ts';
import { systemClock } from '../lib/clock.ts';
import { McpConnection } from '../tools/mcp/client.ts';
import { ScopeNeeded } from '../tools/mcp/oauth/challenge.ts';
import { logIn } from '../tools/mcp/oauth/log-in.ts';
import { wireFor } from '../tools/mcp/wire.ts';
import { MemoryLogger, tempDir } from './fakes.ts';

export interface AuthScenario {
  readonly url: string;
  readonly scenario: string;
  /** What the suite tells of the client that its authorization server knows. */
  readonly context: Readonly<Record<string, string>>;
}

/** The suite expects this one, and serves it nowhere. */
const DOCUMENT = 'https://conformance-test.local/client-metadata.json';
/** A person who is asked for more each time gives up. */
const MOST_LOGINS = 3;

/** Logs in where the server wants that, lists, and calls; rejects as our client does. */
export async function playAuthScenario({ url, scenario, context }: AuthScenario): Promise<void> {
  await using dir = await tempDir();
  const oauth = await sectionFor(url, scenario, context);
  const entry = mcpServers.parse({ peer: { url, allow_private: true, oauth } })['peer'];
  if (!entry) throw new Error('no entry');
  const { signal } = new AbortController();
  const about = {
    ...{ version: '1', dataDir: dir.path, env: {}, clock: systemClock, logger: new MemoryLogger(), signal },
    secret: (name: string) => context[name] ?? '',
  };
  let scopes: readonly string[] = [];
  for (let logins = 0; ; logins += 1) {
    const isOwn = entry.oauth?.grant === 'client_credentials';
    if (!isOwn) await logIn('peer', entry, { ...about, scopes, ui: { show: ({ link }) => void openLink(link) } });
    try {
      await useServer();
      return;
    } catch (error) {
      if (!(error instanceof ScopeNeeded) || logins + 1 === MOST_LOGINS) throw error;
      ({ scopes } = error);
    }
  }

  async function useServer(): Promise<void> {
    if (!entry) return;
    await using connection = await McpConnection.open(await wireFor('peer', entry, about), {
      ...about,
      onListChanged: () => undefined,
      onRefused: () => undefined,
    });
    await connection.listTools(signal);
    await connection.call('test-tool', {}, { timeoutMs: 20_000, signal });
  }
}

/** What an operator would write. */
async function sectionFor(url: string, scenario: string, context: AuthScenario['context']): Promise<Record<string, unknown>> {
  if (scenario === 'auth/basic-cimd') return { client_metadata_url: DOCUMENT };
  const { client_id: id } = context;
  if (id === undefined) return {};
  const issuer = await issuerOf(url);
  const grant = scenario.startsWith('auth/client-credentials') ? { grant: 'client_credentials' } : {};
  const proof =
    context['private_key_pem'] === undefined ? { client_secret_env: 'client_secret' } : { private_key_env: 'private_key_pem' };
  return { client_id: id, issuer, ...grant, ...proof };
}

/** The operator knows it from where the client was registered; the suite does not tell it. */
async function issuerOf(url: string): Promise<unknown> {
  const { origin, pathname } = new URL(url);
  const answer = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  return ((await answer.json()) as { authorization_servers: unknown[] }).authorization_servers[0];
}

/** The suite's authorization servers agree to everything at once. */
async function openLink(link: string): Promise<void> {
  const answer = await fetch(link, { redirect: 'manual' });
  const back = answer.headers.get('location');
  if (back !== null) await (await fetch(back)).text();
}
