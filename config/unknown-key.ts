import { z } from 'zod';
import { editDistance, nearest } from '../src/lib/edit-distance.ts';
import type { Finding } from './problem.ts';

/** Keys of earlier versions that are gone, and what to do about them. */
const REMOVED_KEYS: Readonly<Record<string, string>> = {
  'adaptive_routing.qos_ranking': 'delete it: "mode": "lane" always counts speed, and "weight_latency" says how much',
};

/** Keys that people try although they never existed, with the key to use instead. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  'heartbeat.enabled': 'to turn it off, set heartbeat.every_minutes to 0',
  tools: 'its "byProvider" is called "tool_policy_by_provider", at the top of the file',
};

/**
 * Keys that limit what is spent or who is let in. A word that may be meant as one of them stops the start:
 * left out, it would lift the limit in silence.
 */
const GUARDS =
  /^(?:.*\.)?(?:\w*budget\w*|budget\..+|\w+_usd|allowed_(?:senders|groups)|sender_ids|group_mode|self_chat|\w+_(?:key|secret|token)_env|require_model|max_iterations|(?:tasks|subagents)\.max_\w+)$/;

/**
 * Sections that say what the agent may do and who may reach it; most come with later versions. A key in or
 * near one of them stops the start: an agent that runs without the protection is worse than one that does not
 * run.
 */
const PROTECTIONS = [
  'limits',
  'disk',
  'tool_policy',
  'tool_policy_by_provider',
  'context_filter',
  'tools',
  'sandbox',
  'web',
  'hooks',
  'mcp_servers',
  'mcp_clients',
  'plugins',
  'skills',
  'approvals',
  'http',
  'auth',
  'security',
];

/** What a key may be called that is meant to keep a person or a tool out, wherever it stands. */
const PROTECTS =
  /allow|den(?:y|ied)|block|forbid|restrict|permi(?:t|ssion)|polic(?:y|ies)|security|access|approv|pairing|mention/i;

/** Nearly the name of a list that does the opposite. */
const SHUTS_OUT = /^(?:block|den|ban)\w*(?:sender|user|group|people)/i;

/** Names of other programs for a list of ours. */
const OTHER_PROGRAMS: Readonly<Record<string, string>> = { allowfrom: 'allowed_senders', groupallowfrom: 'allowed_groups' };

/** A secret itself, where this file has the name of its variable. */
const SECRETS = /^(?:api_?key|(?:(?:bot|app|access|auth)_?)?token|password|(?:client_?|app_?)?secret)$/i;

const UNPROTECTED = 'unknown key: nothing is protected by it';

/** The section of `PROTECTIONS` that a key is in, or, at the top of the file, may be meant for. */
function protectionOf(path: readonly PropertyKey[], key: string): string | undefined {
  const inside = PROTECTIONS.find((section) => path.includes(section) || key === section);
  return inside ?? (path.length === 0 ? PROTECTIONS.find((section) => editDistance(key, section) <= 2) : undefined);
}

interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  /** Of a record: what each of its entries is. */
  readonly additionalProperties?: SchemaNode | boolean;
  readonly items?: SchemaNode;
}

export interface UnknownKey {
  readonly path: readonly PropertyKey[];
  readonly value: unknown;
}

/** What is said of a key that the schema does not have. `whole`: the schema is that of the whole file. */
export function unknownKey(schema: z.ZodType, { path: full, value }: UnknownKey, whole: boolean): Finding {
  const [path, key] = [full.slice(0, -1), String(full.at(-1))];
  const about = { severity: 'warning', path: full, atKey: true } as const;
  const name = about.path.map(String).join('.');
  const removed = Object.hasOwn(REMOVED_KEYS, name) ? REMOVED_KEYS[name] : undefined;
  if (removed !== undefined) return { ...about, message: 'this key was removed and does nothing', hint: removed };
  const otherName = Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : undefined;
  if (otherName !== undefined) {
    const protects = path.length === 0 && PROTECTIONS.includes(key);
    if (protects) return { ...about, severity: 'error', message: UNPROTECTED, hint: otherName };
    return { ...about, message: 'unknown key, ignored', hint: otherName };
  }
  const root = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as SchemaNode;
  const holder = path.reduce<SchemaNode | undefined>(
    (node, step) => (typeof step === 'number' ? node?.items : (node?.properties?.[String(step)] ?? entryOf(node))),
    root,
  );
  const known = Object.keys(holder?.properties ?? {});
  const home = sectionOf(root, key);
  const ofOthers = OTHER_PROGRAMS[key.toLowerCase().replaceAll('_', '')] ?? '';
  const meant = known.includes(ofOthers) ? ofOthers : nearest(key, known);
  if (SHUTS_OUT.test(key))
    return { ...about, severity: 'error', message: UNPROTECTED, hint: 'shut people out with `gatehouse people block`' };
  let hint = `known here: ${known.join(', ')}`;
  if (home !== undefined) hint = home === '' ? `"${key}" belongs at the top level` : `"${key}" belongs under "${home}"`;
  else if (meant !== undefined) hint = `did you mean "${meant}"?`;
  const place = home === undefined ? [...path, meant ?? key] : [home, key].filter((step) => step !== '');
  // A whole section under a name of its own: {"limits": {"daily_usd": 1}}.
  const isGuard = GUARDS.test(place.join('.')) || /"(?:\w+_usd|max_tokens\w*)":/.test(JSON.stringify(value));
  if (isGuard) return { ...about, severity: 'error', message: 'unknown key: no limit is set by it', hint };
  const isMisplaced = home?.endsWith('tool_policy') === true || (meant !== undefined && PROTECTIONS.includes(meant));
  const section = whole ? (protectionOf(path, key) ?? (isMisplaced ? key : undefined)) : undefined;
  if (section === undefined && home === undefined && PROTECTS.test(key)) {
    const near = path.length === 0 && /polic/i.test(key) ? 'tool_policy' : meant;
    const advice = near === undefined ? `this version has no "${key}" here: remove the key` : `did you mean "${near}"?`;
    return { ...about, severity: 'error', message: UNPROTECTED, hint: advice };
  }
  if (section !== undefined) {
    const isInside = PROTECTIONS.includes(String(path[0])) && known.length > 0;
    const unknown = home === undefined && meant === undefined && !isInside;
    const advice = unknown ? `this version has no "${section}" here: remove the key, or use a version that has it` : hint;
    return { ...about, severity: 'error', message: UNPROTECTED, hint: advice };
  }
  if (SECRETS.test(key) && typeof value === 'string' && value !== '')
    return { ...about, message: 'unknown key, ignored; it holds a secret', hint: secretHint(known) };
  return { ...about, message: 'unknown key, ignored', hint };
}

function entryOf(node: SchemaNode | undefined): SchemaNode | undefined {
  return typeof node?.additionalProperties === 'object' ? node.additionalProperties : undefined;
}

/** The section in which a key of this exact name exists; where two have it, the one nearer to the top. */
function sectionOf(node: SchemaNode, key: string, path = ''): string | undefined {
  const properties = Object.entries(node.properties ?? {});
  if (properties.some(([name]) => name === key)) return path;
  const below = (name: string): string => (path === '' ? name : `${path}.${name}`);
  const near = properties.find(([, child]) => Object.hasOwn(child.properties ?? {}, key));
  if (near) return below(near[0]);
  for (const [name, child] of properties) {
    const found = sectionOf(child, key, below(name));
    if (found !== undefined) return found;
  }
  return node.items ? sectionOf(node.items, key, `${path}[]`) : undefined;
}

function secretHint(known: readonly string[]): string {
  const places = known.filter((name) => name.endsWith('_env'));
  const place = places.length === 0 ? 'a key that ends in _env' : places.map((name) => `"${name}"`).join(' or ');
  return `remove the secret from this file: store it with \`gatehouse auth set-key NAME\`, or name its variable in ${place}`;
}
