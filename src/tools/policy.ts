// tool, run -> hard rules -> policies -> mode -> taint -> allowed, denied or to be asked
import { type Authority, lowerMode, MODES, type Mode, PRIVATE, type Role, UNTRUSTED } from '../core/authority.ts';
import { clientOf } from '../core/mcp-client.ts';
import type { Policy, PolicyCall, PolicyRun, Verdict } from '../core/policy.ts';
import type { Act, ToolFacts } from '../core/tool.ts';
import { entryFits } from '../core/tool-groups.ts';

/** Entries as `tool-groups.ts` reads them. Deny wins; an empty `allow` allows all. */
export interface PolicyRules {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  /** A tool with tags needs one of these. Absent or empty = it needs none. */
  readonly requireTags?: readonly string[];
}

export interface SenderRules extends PolicyRules {
  readonly mode?: Mode | undefined;
}

/** What the config says of tools. */
export interface PolicySettings extends PolicyRules {
  /** Of the owner; a member has at most `guarded` of it. */
  readonly mode: Mode;
  /** Entries of tools beyond those of every version that members and guests may use. */
  readonly members: readonly string[];
  readonly guests: readonly string[];
  /** By principal. */
  readonly senders: Readonly<Record<string, SenderRules>>;
  /** By `provider/model`, model or provider. */
  readonly byProvider: Readonly<Record<string, PolicyRules>>;
  readonly contextFilter: readonly string[];
  /** By name of the channel. */
  readonly channel: (name: string) => PolicyRules | undefined;
}

/** What each role may use without the config naming it. A tool that comes later is nowhere here. */
const BASIC: Readonly<Record<Exclude<Role, 'owner'>, readonly string[]>> = {
  member: ['read_file', 'write_file', 'list_dir', 'send_file', 'offer_choices', 'react'],
  guest: ['read_file', 'list_dir', 'offer_choices'],
};
/** Only names tools that are allowed anyway. Without it, those that are not described could not be used. */
const ALWAYS = 'activate_tools';
/** Acts that no config opens to guests. */
const NEVER_FOR_GUESTS: readonly Act[] = ['program', 'job', 'task', 'memory', 'skill', 'setting', 'chat'];

/** Applied in this order; the first that denies is the reason that is given. */
interface Rule extends PolicyRules {
  readonly key: string;
}

/** `settings` is asked at each use, so that a changed config holds at once. */
export function createPolicy(settings: () => PolicySettings): Policy {
  return {
    offered(tools, run) {
      const grounds = groundsOf(run, settings());
      return tools.filter((tool) => judgeTool(tool, grounds).kind !== 'deny');
    },
    decide(call, run) {
      const offer = offerOf(call.tool, run, settings());
      return offer.kind === 'deny' || isAlways(call.tool) ? offer : judgeCall(call, run, settings());
    },
  };
}

/** Whether a run is offered the tool, and why not. */
export function offerOf(tool: ToolFacts, run: PolicyRun, settings: PolicySettings): Verdict {
  return judgeTool(tool, groundsOf(run, settings));
}

/** What the tools of a run are judged by, the same for each of them. */
interface Grounds {
  readonly authority: Authority;
  readonly settings: PolicySettings;
  readonly rules: readonly Rule[];
  readonly mode: Mode;
}

function groundsOf(run: PolicyRun, settings: PolicySettings): Grounds {
  const { authority } = run;
  return { authority, settings, rules: rulesFor(run, settings), mode: effectiveMode(authority, settings) };
}

function isAlways({ name, effect }: ToolFacts): boolean {
  return name === ALWAYS && effect === 'none';
}

/** The mode that a role and the config give a person. Roles are raised by the config alone. */
export function modeOf(role: Role, principal: string, { mode, senders }: Pick<PolicySettings, 'mode' | 'senders'>): Mode {
  if (role === 'guest') return 'read-only';
  const own = Object.hasOwn(senders, principal) ? senders[principal]?.mode : undefined;
  return own ?? (role === 'owner' ? mode : lowerMode(mode, 'guarded'));
}

/** What this call comes to; with no arguments, the farthest that the tool is known to reach. */
function actOf({ act, effect }: ToolFacts, args: unknown): Act {
  const own = typeof act === 'function' ? act(args) : act;
  return own ?? ({ none: 'none', workspace: 'files', outside: 'network' } as const)[effect];
}

function judgeTool(tool: ToolFacts, { authority, settings, rules, mode }: Grounds): Verdict {
  if (isAlways(tool)) return { kind: 'allow', reason: 'it changes nothing' };
  const act = actOf(tool, undefined);
  if (authority.role === 'guest' && NEVER_FOR_GUESTS.includes(act)) return deny('it is not for guests');
  if (tool.ownerOnly && authority.role !== 'owner') return deny('it is the owner’s alone');
  const unnamed = notNamed(tool, authority, settings);
  if (unnamed) return unnamed;
  for (const rule of rules) {
    const denied = deniedBy(tool, rule);
    if (denied) return denied;
  }
  for (const { allow, deny: not, because = 'the run that began this one may not use it' } of authority.policies) {
    if (deniedBy(tool, { key: '', allow, deny: not })) return deny(because);
  }
  if (mode === 'read-only' && neededMode(tool, act, authority.role) !== 'read-only')
    return deny(`it changes something, and the mode is ${mode}`, modeKey(authority, settings));
  return { kind: 'allow', reason: `allowed for the ${authority.role}` };
}

function judgeCall({ tool, args, taint }: PolicyCall, { authority }: PolicyRun, settings: PolicySettings): Verdict {
  const act = actOf(tool, args);
  if (authority.role === 'guest' && NEVER_FOR_GUESTS.includes(act)) return deny('it is not for guests');
  const hard = tool.rule?.(args);
  if (hard?.kind === 'deny') return deny(hard.reason);
  const mode = effectiveMode(authority, settings);
  const needed = neededMode(tool, act, authority.role);
  const key = modeKey(authority, settings);
  if (MODES.indexOf(mode) < MODES.indexOf(needed)) {
    if (mode === 'read-only') return deny(`it changes something, and the mode is ${mode}`, key);
    const by = authority.role === 'owner' ? 'requester' : 'owner';
    return { kind: 'ask', reason: `${ACTS[act]} needs a yes in mode ${mode}`, ...(key ? { key } : {}), by };
  }
  if (hard) return { kind: 'ask', reason: hard.reason, by: 'requester' };
  if (isStopped(tool, act, { mode, taint })) {
    const read = taint & PRIVATE ? 'untrusted and private' : 'untrusted';
    return { kind: 'ask', reason: `${ACTS[act]} needs a yes: ${read} things were read`, by: gatedBy(authority.role) };
  }
  return { kind: 'allow', reason: `allowed in mode ${mode}` };
}

/** A guest may be the very stranger whose words are not trusted. */
function gatedBy(role: Role): 'requester' | 'owner' {
  return role === 'guest' ? 'owner' : 'requester';
}

const BOTH = UNTRUSTED | PRIVATE;

const ACTS: Readonly<Record<Act, string>> = {
  none: 'a look',
  look: 'a look that the page can notice',
  files: 'a change of files',
  home: 'a word in this chat',
  program: 'a program',
  network: 'what reaches other systems',
  chat: 'a word in another chat',
  job: 'a job',
  task: 'a task in the background',
  memory: 'a change of memory',
  skill: 'a change of a skill',
  setting: 'a change of a setting',
};

/** The least mode that needs no question for it. */
function neededMode({ effect }: ToolFacts, act: Act, role: Role): Mode {
  switch (act) {
    case 'none':
      return 'read-only';
    case 'look':
    case 'files':
    case 'home':
    case 'task':
      return 'guarded';
    case 'program':
      return effect === 'outside' ? 'full' : 'workspace';
    case 'network':
      // What it fetches into the workspace changes nothing elsewhere.
      return effect === 'none' ? 'read-only' : effect === 'workspace' ? 'guarded' : 'full';
    case 'job':
      return role === 'owner' ? 'guarded' : 'full';
    default:
      return 'full';
  }
}

/**
 * Whether what was read calls for a question. Below mode `full` the words of strangers alone do for a job:
 * they may have asked for it, and it acts again and again.
 */
function isStopped(tool: ToolFacts, act: Act, { mode, taint }: { readonly mode: Mode; readonly taint: number }): boolean {
  if (act === 'job' && mode !== 'full' && (taint & UNTRUSTED) !== 0) return true;
  return (taint & BOTH) === BOTH && isGated(tool, act);
}

/**
 * Whether it carries what was read out of the chat, or into what later runs act on. A request that only reads
 * does, too: in its address.
 */
function isGated({ effect }: ToolFacts, act: Act): boolean {
  // A task knows what its run has read, and is asked itself.
  if (act === 'none' || act === 'files' || act === 'home' || act === 'task') return false;
  return act !== 'program' || effect === 'outside';
}

function effectiveMode({ role, principal, mode }: Authority, settings: PolicySettings): Mode {
  return lowerMode(mode, modeOf(role, principal, settings));
}

/** Of guests no key decides: their role does. */
function modeKey({ role, principal }: Authority, { senders }: PolicySettings): string | undefined {
  if (role === 'guest') return undefined;
  const hasOwn = Object.hasOwn(senders, principal) && senders[principal]?.mode !== undefined;
  return hasOwn ? `${senderKey(principal)}.mode` : 'tool_policy.mode';
}

function notNamed({ name }: ToolFacts, { role, principal }: Authority, settings: PolicySettings): Verdict | undefined {
  if (role === 'owner') return undefined;
  const { members, guests, senders } = settings;
  const ofSender = role === 'member' && Object.hasOwn(senders, principal) ? (senders[principal]?.allow ?? []) : [];
  const named = [...BASIC[role], ...(role === 'member' ? members : guests), ...ofSender];
  if (named.some((entry) => entryFits(entry, name))) return undefined;
  return deny(
    `a ${role} gets it only where the config names it`,
    role === 'member' ? 'tool_policy.members' : 'tool_policy.guests',
  );
}

/** `rules` that apply to the run, from the widest to the narrowest. */
function rulesFor({ channel, model, authority }: PolicyRun, settings: PolicySettings): readonly Rule[] {
  const { principal } = authority;
  // A run without a chat keeps the rules of the channel that its person came through.
  const channels = new Set([channel, principal.slice(0, Math.max(0, principal.indexOf(':')))]);
  const provider = providerKey(model, settings.byProvider);
  return [
    { ...settings, key: 'tool_policy' },
    { allow: [], deny: [], requireTags: settings.contextFilter, key: 'context_filter' },
    ...(provider === undefined ? [] : keyed(settings.byProvider[provider], `tool_policy_by_provider.${provider}`)),
    ...[...channels].flatMap((name) => keyed(settings.channel(name), `gateway.channels.${name}.tool_policy`)),
    ...(Object.hasOwn(settings.senders, principal) ? keyed(settings.senders[principal], senderKey(principal)) : []),
  ];
}

function keyed(rules: PolicyRules | undefined, key: string): readonly Rule[] {
  return rules ? [{ ...rules, key }] : [];
}

function senderKey(principal: string): string {
  const client = clientOf(principal);
  return client === undefined ? `tool_policy.senders.${principal}` : `mcp_clients.${client}`;
}

/** The exact model goes before its provider (spec F2). */
function providerKey(id: string, byProvider: PolicySettings['byProvider']): string | undefined {
  const slash = id.indexOf('/');
  return [id, id.slice(slash + 1), id.slice(0, Math.max(0, slash))].find((key) => Object.hasOwn(byProvider, key));
}

function deniedBy({ name, tags }: ToolFacts, { key, allow, deny: not, requireTags = [] }: Rule): Verdict | undefined {
  const entry = not.find((one) => entryFits(one, name));
  if (entry !== undefined) return deny(`"${entry}" forbids it`, `${key}.deny`);
  if (allow.length > 0 && !allow.some((one) => entryFits(one, name)))
    return deny('it is not among what is allowed', `${key}.allow`);
  if (requireTags.length === 0 || tags.length === 0 || tags.some((tag) => requireTags.includes(tag))) return undefined;
  return deny(`it has none of the tags ${requireTags.join(', ')}`, key === 'context_filter' ? key : `${key}.require_tags`);
}

function deny(reason: string, key?: string): Verdict {
  return { kind: 'deny', reason, ...(key === undefined ? {} : { key }) };
}
