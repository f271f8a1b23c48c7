/**
 * Programs that the operator lets in by name, as MCP clients (`mcp_clients` of the config): what is theirs.
 */
import { inKeys } from './ids.ts';

/**
 * Begin the principals and the run keys of clients, as they would those of a channel. No channel may be
 * called so: a person there could have the principal of a client.
 */
export const CLIENT_NAMES = { principal: 'mcp', key: 'api' } as const;

/** Name of a client: it stands in principals, keys and file names as it is. */
export const CLIENT_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,30}[A-Za-z0-9])?$/;

/** Who asks, where a client does: `mcp:NAME`. */
export function clientPrincipal(name: string): string {
  return `${CLIENT_NAMES.principal}:${name}`;
}

/** The client of a principal; undefined where it is a person, or a job. */
export function clientOf(principal: string): string | undefined {
  const start = clientPrincipal('');
  return principal.startsWith(start) ? principal.slice(start.length) : undefined;
}

/** A conversation of a client, `mcp:NAME` or `mcp:NAME#TOPIC`. No chat has such a key. */
export function clientSession(name: string, topic?: string): string {
  return topic === undefined ? clientPrincipal(name) : `${clientPrincipal(name)}#${inKeys(topic)}`;
}

/** One lane for each conversation. `#` stands in no topic of a lane. */
export function clientLane(name: string, topic?: string): string {
  const { key } = CLIENT_NAMES;
  return topic === undefined ? `${key}/${name}/#` : `${key}/${name}/${inKeys(topic)}`;
}

/** The same key of a client is the same run. */
export function clientRunKey(name: string, key: string): string {
  return `${CLIENT_NAMES.key}/${name}/${inKeys(key)}`;
}

/** As `clientRunKey`, of words that the client sends to a chat. */
export function clientSendKey(name: string, key: string): string {
  return `${CLIENT_NAMES.key}/${name}/send/${inKeys(key)}`;
}
