import type { z } from 'zod';
import { CLIENT_NAMES } from '../src/core/mcp-client.ts';
import { comparableAddress } from '../src/lib/api-address.ts';
import { nearest } from '../src/lib/edit-distance.ts';
import { checkOwner, listInCapitals, type OwnersChannel } from './check-owner.ts';
import { checkValue, describeChoice, valueAt } from './check-value.ts';
import type { Finding } from './problem.ts';

const LIST = ['gateway', 'channels'] as const;
const OF_CLIENTS: readonly string[] = Object.values(CLIENT_NAMES);

export interface ChannelSchemas {
  /** The settings schema of a channel type; undefined for an unknown type. Loads the channel's descriptor. */
  readonly channelSettings: (type: string) => Promise<z.ZodType | undefined>;
  readonly channelTypes: readonly string[];
  /** See `ChannelDescriptor.groupId`. Absent: of no type it is known. */
  readonly groupIds?: ((type: string) => Promise<RegExp | undefined>) | undefined;
}

export interface CheckedChannels {
  /** Each entry's settings with defaults, by index; undefined where the entry has an error. */
  readonly settings: readonly (Readonly<Record<string, unknown>> | undefined)[];
  /** Of the instances by their names, as far as they can be told. */
  readonly types: ReadonlyMap<string, string>;
  readonly findings: readonly Finding[];
}

/**
 * Checks what the schema of the whole file cannot: types that exist, names used once, each channel's own
 * settings, and that the owner's chats are on channels there are. Takes the unchecked value, so that these
 * problems are reported together with all others.
 */
export async function checkChannels(value: unknown, original: unknown, schemas: ChannelSchemas): Promise<CheckedChannels> {
  const findings: Finding[] = [];
  const settings: (Readonly<Record<string, unknown>> | undefined)[] = [];
  const channels = new Map<string, OwnersChannel>();
  const tokens = new Map<string, PropertyKey>();
  const list = valueAt(value, LIST) ?? [{ type: 'cli' }];
  for (const [index, entry] of Array.isArray(list) ? list.entries() : []) {
    const type = valueAt(entry, ['type']);
    if (typeof type !== 'string') {
      settings.push(undefined); // the schema of the whole file reports it
      continue;
    }
    const path = [...LIST, index];
    const given = valueAt(entry, ['name']);
    findings.push(...checkName(given, type, path, channels));
    findings.push(...checkVoice(value, entry, path));
    const schema = schemas.channelTypes.includes(type) ? await schemas.channelSettings(type) : undefined;
    if (!schema) {
      const written = valueAt(original, [...path, 'type']) ?? type;
      findings.push({ severity: 'error', path: [...path, 'type'], ...describeChoice(schemas.channelTypes, written) });
      settings.push(undefined);
      continue;
    }
    const settingsPath = [...path, 'settings'];
    const checked = checkValue(schema, valueAt(entry, ['settings']) ?? {}, valueAt(original, settingsPath) ?? {});
    findings.push(...checked.findings.map((finding) => ({ ...finding, path: [...settingsPath, ...finding.path] })));
    const data = checked.data as Readonly<Record<string, unknown>> | undefined;
    settings.push(data);
    findings.push(...checkOwnAccount(entry, data, path));
    const groupId = await schemas.groupIds?.(type);
    findings.push(...checkGroups(entry, groupId, path), ...checkToken(type, data, settingsPath, tokens));
    findings.push(...listInCapitals(type, valueAt(entry, ['allowed_senders']), [...path, 'allowed_senders']));
    channels.set(typeof given === 'string' ? given : type, { type, settings: data, groupId });
  }
  findings.push(...checkOwner(value, original, channels));
  return { settings, types: new Map([...channels].map(([name, { type }]) => [name, type])), findings };
}

/** An entry that no id equals lets no group in, and one that begins with "!" keeps none out. */
function checkGroups(entry: unknown, groupId: RegExp | undefined, path: readonly PropertyKey[]): Finding[] {
  const groups = valueAt(entry, ['allowed_groups']);
  if (!groupId || !Array.isArray(groups)) return [];
  return groups.flatMap((group: unknown, index): Finding[] => {
    if (typeof group !== 'string' || group === '*' || groupId.test(group)) return [];
    const at = { severity: 'warning', path: [...path, 'allowed_groups', index] } as const;
    return [
      group.startsWith('!')
        ? {
            ...at,
            message: 'keeps no group out: the list has no exceptions',
            hint: 'remove it, and run `gatehouse people block CHANNEL:ID` with the id of the group',
          }
        : { ...at, message: 'lets no group in: it is not how this platform writes ids of groups', hint: 'write the id' },
    ];
  });
}

/**
 * Settings that name the variable of a bot's token. Two connections with one token take each other's
 * messages.
 */
export const TOKEN_SETTINGS: readonly string[] = ['token_env', 'bot_token_env'];

function checkToken(type: string, settings: unknown, path: readonly PropertyKey[], tokens: Map<string, PropertyKey>): Finding[] {
  return TOKEN_SETTINGS.flatMap((key): Finding[] => {
    const variable = valueAt(settings, [key]);
    if (typeof variable !== 'string') return [];
    // At another address it is the token of another bot.
    const id = JSON.stringify([type, variable, comparableAddress(valueAt(settings, ['api_root']))]);
    const first = tokens.get(id);
    if (first === undefined) {
      tokens.set(id, path.at(-2) ?? 0);
      return [];
    }
    const message = `${variable} is the token of gateway.channels[${String(first)}] already: the two would take each other's messages`;
    return [
      { severity: 'error', path: [...path, key], message, hint: 'give each bot a token of its own, in a variable of its own' },
    ];
  });
}

/** On the operator's own account everyone who writes is a friend, and takes the agent for the operator. */
function checkOwnAccount(entry: unknown, settings: unknown, path: readonly PropertyKey[]): Finding[] {
  const senders = valueAt(entry, ['allowed_senders']);
  if (valueAt(settings, ['self_chat']) !== true || !Array.isArray(senders) || !senders.includes('*')) return [];
  return [
    {
      severity: 'warning',
      path: [...path, 'allowed_senders'],
      message: 'has "*" on your own account ("self_chat"): the agent answers in your name to everyone who writes to you',
      hint: 'name those whom the agent may answer, or leave it empty for messages to yourself alone',
    },
  ];
}

/** Words that nobody writes down, or that are compared with nothing, would be paid for and never answered. */
function checkVoice(value: unknown, entry: unknown, path: readonly PropertyKey[]): Finding[] {
  if (valueAt(entry, ['group_voice']) !== true) return [];
  const at = { severity: 'error', path: [...path, 'group_voice'] } as const;
  const patterns = valueAt(entry, ['group_patterns']);
  const missing: Finding[] = [];
  if (valueAt(value, ['transcription']) === undefined) {
    missing.push({ ...at, message: 'needs the section "transcription"', hint: 'add it, or remove group_voice' });
  }
  if (!Array.isArray(patterns) || patterns.length === 0) {
    missing.push({
      ...at,
      message: 'needs "group_patterns"',
      hint: 'add what the agent is called, for example "\\\\brobot\\\\b"',
    });
  }
  return missing;
}

function checkName(given: unknown, type: string, path: readonly PropertyKey[], channels: Map<string, OwnersChannel>): Finding[] {
  const name = typeof given === 'string' ? given : type;
  if (OF_CLIENTS.includes(name)) {
    const message = `"${name}" is what MCP clients go by: a person of this channel could pass for one`;
    return [{ severity: 'error', path: [...path, 'name'], message, hint: 'give the channel another "name"' }];
  }
  if (!channels.has(name)) {
    channels.set(name, { type });
    return [];
  }
  return [
    {
      severity: 'error',
      path: given === undefined ? path : [...path, 'name'],
      message: `a channel named "${name}" exists already`,
      hint: 'give each channel of the same type its own "name"',
    },
  ];
}

/** The usual misplacement: a setting of the channel written next to `type` instead of inside `settings`. */
export async function hintMisplacedSetting(finding: Finding, value: unknown, schemas: ChannelSchemas): Promise<Finding> {
  const [section, list, index, key, ...rest] = finding.path;
  if (finding.atKey !== true || section !== 'gateway' || list !== 'channels' || rest.length > 0 || key === undefined)
    return finding;
  const type = valueAt(value, [section, list, index ?? 0, 'type']);
  if (typeof type !== 'string' || !schemas.channelTypes.includes(type)) return finding;
  const schema = await schemas.channelSettings(type);
  const settings = schema && 'shape' in schema && typeof schema.shape === 'object' ? Object.keys(schema.shape ?? {}) : [];
  const meant = settings.includes(String(key)) ? String(key) : undefined;
  const near = finding.hint?.startsWith('did you mean') ? undefined : nearest(String(key), settings);
  const setting = meant ?? near;
  return setting === undefined ? finding : { ...finding, hint: `"${setting}" belongs in "settings" of this channel` };
}
