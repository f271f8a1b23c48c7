import { isKnownEntry, KNOWN_ENTRIES, meantEntry } from '../src/core/tool-groups.ts';
import { nearest } from '../src/lib/edit-distance.ts';
import { describeChoice, valueAt } from './check-value.ts';
import type { Finding } from './problem.ts';

const POLICY = 'tool_policy';
const BY_PROVIDER = 'tool_policy_by_provider';
const CLIENTS = 'mcp_clients';
const NOTIFY = ['tasks', 'notify'] as const;

interface KnownNames {
  /** As `CheckedChannels.types`. */
  readonly types: ReadonlyMap<string, string>;
  /** As `LoadOptions.providers`. */
  readonly providers: ReadonlyMap<string, string> | undefined;
  /** Providers that the config names for its models, by any of their names. */
  readonly used: readonly string[];
}

/**
 * Checks what the schema cannot: that every entry of a policy and of a hook can mean a tool, every sender a
 * person of a channel there is, and every chat of an MCP client one of a channel there is. A misspelt one
 * would protect from nothing.
 */
export function checkTools(value: unknown, original: unknown, { types, providers, used }: KnownNames): readonly Finding[] {
  const senders = Object.keys(recordAt(value, [POLICY, 'senders']));
  const places: readonly (readonly PropertyKey[])[] = [
    [POLICY],
    ...senders.map((sender) => [POLICY, 'senders', sender]),
    ...Object.keys(recordAt(value, [BY_PROVIDER])).map((name) => [BY_PROVIDER, name]),
    ...listAt(value, ['gateway', 'channels']).map((_, index) => ['gateway', 'channels', index, POLICY]),
    ...Object.keys(recordAt(value, [CLIENTS])).map((name) => [CLIENTS, name]),
  ];
  const lists = [
    ...places.flatMap((place) => ['allow', 'deny', 'members', 'guests'].map((key) => [...place, key])),
    ...listAt(value, ['hooks']).map((_, index) => ['hooks', index, 'tool_filter']),
  ];
  const servers = Object.keys(recordAt(value, ['mcp_servers']));
  return [
    ...lists.flatMap((path) =>
      listAt(value, path).flatMap((entry, index) => [
        ...checkEntry(entry, [...path, index], original, servers),
        ...checkServer(entry, [...path, index], servers),
      ]),
    ),
    ...senders.flatMap((sender) => checkSender(sender, [POLICY, 'senders', sender], types)),
    ...checkNotify(value, original, types),
    ...Object.keys(recordAt(value, [BY_PROVIDER])).flatMap((name) => checkProvider(name, providers, used)),
    ...Object.keys(recordAt(value, [CLIENTS])).flatMap((name) =>
      checkChats([CLIENTS, name, 'chats'], value, original, [...types.keys()]),
    ),
  ];
}

/** A chat on a channel that is not there would be one that comes later, whatever it is. */
function checkChats(
  path: readonly PropertyKey[],
  value: unknown,
  original: unknown,
  channels: readonly string[],
): readonly Finding[] {
  return listAt(value, path).flatMap((chat, index): Finding[] => {
    const at = [...path, index, 'channel'];
    const channel = valueAt(chat, ['channel']);
    if (typeof channel !== 'string' || channel === '' || channels.includes(channel)) return [];
    if (channels.length === 0) return []; // what is wrong with the channels is told where they stand
    const hint = 'add it under gateway.channels, or take this chat out';
    return [{ severity: 'error', path: at, hint, ...describeChoice(channels, valueAt(original, at)) }];
  });
}

/** Results would be sent to nobody, and only at the end of a task would that be seen. */
function checkNotify(value: unknown, original: unknown, types: ReadonlyMap<string, string>): readonly Finding[] {
  const channels = [...types.keys()];
  if (channels.length === 0) return [];
  return Object.entries(recordAt(value, NOTIFY)).flatMap(([sender, chat]): Finding[] => {
    const at = [...NOTIFY, sender, 'channel'];
    const channel = valueAt(chat, ['channel']);
    const isKnown = typeof channel !== 'string' || channel === '' || channels.includes(channel);
    const wrong: Finding[] = isKnown ? [] : [{ severity: 'error', path: at, ...describeChoice(channels, valueAt(original, at)) }];
    return [...checkSender(sender, [...NOTIFY, sender], types), ...wrong];
  });
}

function checkEntry(
  entry: unknown,
  path: readonly PropertyKey[],
  original: unknown,
  servers: readonly string[],
): readonly Finding[] {
  if (typeof entry !== 'string' || entry === '' || isKnownEntry(entry)) return [];
  const isQuotable = valueAt(original, path) === entry;
  const meant = isQuotable ? (ofServer(meantEntry(entry), servers) ?? nearest(entry, KNOWN_ENTRIES)) : undefined;
  const shown = isQuotable ? JSON.stringify(entry.slice(0, 60)) : 'this entry';
  const known = /^(?:mcp|plugin)__/.test(entry)
    ? 'write the whole name of a tool, or its beginning and "*" at the end'
    : `known: ${KNOWN_ENTRIES.join(', ')}`;
  const hint = meant === undefined ? known : `did you mean "${meant}"?`;
  return [{ severity: 'error', path, message: `${shown} is no tool, no beginning of one and no group`, hint }];
}

/** The same of the server that it most likely means. */
function ofServer(entry: string | undefined, servers: readonly string[]): string | undefined {
  const meant = misspeltServer(entry, servers);
  return meant === undefined ? entry : entry?.replace(/^(mcp__)[A-Za-z0-9-]+/, `$1${meant}`);
}

/**
 * An entry may name a server that is not there now. A name that is nearly that of one there is an error,
 * because it most likely means that one.
 */
function checkServer(entry: unknown, path: readonly PropertyKey[], servers: readonly string[]): readonly Finding[] {
  const meant = misspeltServer(entry, servers);
  if (meant === undefined) return [];
  const message = `"${serverOf(entry)}" is no MCP server`;
  return [{ severity: 'error', path, message, hint: `did you mean "mcp__${meant}__…"?` }];
}

function misspeltServer(entry: unknown, servers: readonly string[]): string | undefined {
  const server = serverOf(entry);
  return server === undefined || servers.includes(server) ? undefined : nearest(server, servers);
}

function serverOf(entry: unknown): string | undefined {
  return typeof entry === 'string' ? /^mcp__([A-Za-z0-9-]+)__/.exec(entry)?.[1] : undefined;
}

function checkSender(sender: string, path: readonly PropertyKey[], types: ReadonlyMap<string, string>): readonly Finding[] {
  const colon = sender.indexOf(':');
  const about = { severity: 'error', path, atKey: true } as const;
  if (colon < 1 || colon === sender.length - 1)
    return [{ ...about, message: 'must be a channel, ":" and a sender id', hint: 'for example "telegram:4711"' }];
  // Variables are read in values alone: this would be about a person who is never there.
  if (sender.includes('${')) return [{ ...about, message: 'holds a variable, which no key may', hint: 'put the id itself here' }];
  const [channel, id] = [sender.slice(0, colon), sender.slice(colon + 1)];
  const type = types.get(channel);
  if (type === undefined) return [{ ...about, ...describeChoice([...types.keys()], channel) }];
  const wrong = idProblem(type, id);
  if (wrong === undefined) return [];
  const { message, right } = wrong;
  const hint = right ? `write ${JSON.stringify(`${channel}:${right}`)}` : 'name each person by their id';
  return [{ ...about, message: `is no person: ${message}`, hint }];
}

/** Why no person can have this id, and the one that was meant. Other forms are the platform’s to judge. */
function idProblem(type: string, id: string): { message: string; right?: string } | undefined {
  if (id === '*') return { message: 'a rule of a person is for one id' };
  const bare = id.trim();
  const right = type === 'email' ? bare.toLowerCase() : bare;
  if (bare !== id) return { message: 'no id begins or ends with a blank', right };
  return right === id ? undefined : { message: 'addresses of mail are compared in small letters', right };
}

/** The name of a model can be any; what is nearly the name of a provider is meant as one. */
function checkProvider(
  name: string,
  providers: ReadonlyMap<string, string> = new Map(),
  used: readonly string[],
): readonly Finding[] {
  const [provider = ''] = name.split('/', 1);
  const about = { severity: 'error', path: [BY_PROVIDER, name], atKey: true } as const;
  const own = providers.get(provider);
  // Calls have the provider's own name.
  if (own !== undefined && own !== name && provider === name)
    return [{ ...about, message: `a rule for "${name}" is never in force`, hint: `write "${own}", the provider's own name` }];
  // With a `/` it may be a model that a gateway names so, as OpenRouter does with "google/…".
  if (own !== undefined && own !== provider && used.some((one) => providers.get(one) === own)) {
    const message = `a rule for "${name}" is in force only for a gateway, such as OpenRouter, that names a model so`;
    const hint = `for calls to ${own} itself write "${own}${name.slice(provider.length)}"`;
    return [{ ...about, severity: 'warning', message, hint }];
  }
  const meant = own === undefined ? nearest(provider, providers.keys()) : undefined;
  if (meant === undefined) return [];
  return [{ ...about, message: `${JSON.stringify(provider.slice(0, 60))} is no provider`, hint: `did you mean "${meant}"?` }];
}

function recordAt(value: unknown, path: readonly PropertyKey[]): object {
  const found = valueAt(value, path);
  return typeof found === 'object' && found !== null && !Array.isArray(found) ? found : {};
}

function listAt(value: unknown, path: readonly PropertyKey[]): readonly unknown[] {
  const found = valueAt(value, path);
  return Array.isArray(found) ? found : [];
}
