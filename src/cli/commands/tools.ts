// a person -> role and mode -> each tool with the verdict of the policy
import type { LoadedConfig } from '../../../config/load.ts';
import { isSpoofable, policySettings } from '../../app/compose/policy.ts';
import type { Authority, Role } from '../../core/authority.ts';
import { GatehouseError, isGatehouseError } from '../../core/errors.ts';
import { principalOf } from '../../core/ids.ts';
import { clientOf } from '../../core/mcp-client.ts';
import type { PersonRef } from '../../core/people.ts';
import type { PolicyRun, Verdict } from '../../core/policy.ts';
import type { ToolFacts } from '../../core/tool.ts';
import { nearest } from '../../lib/edit-distance.ts';
import { printable } from '../../lib/printable.ts';
import { namesModel } from '../../llm/detect.ts';
import { providerFor, resolveProvider } from '../../llm/providers/resolve.ts';
import { roleOf } from '../../operator/authority.ts';
import { BUILT_IN } from '../../tools/index.ts';
import { BARE } from '../../tools/look-program.ts';
import { toolId } from '../../tools/mcp/offered.ts';
import { pluginToolId } from '../../tools/plugins/manifest.ts';
import { createPolicy, modeOf } from '../../tools/policy.ts';
import { type Command, type CommandContext, dataDirOf, readConfig, sayWarnings } from '../context.ts';
import type { CliDeps } from '../deps.ts';
import { EXIT } from '../exit-codes.ts';
import { isTerminal, type KnownPerson, knownPeople, letsAllIn, personOf } from '../known-people.ts';
import { formatTable } from '../output.ts';
import { allServers, pluginsHere } from '../plugin-parts.ts';
import { withJournal } from '../read-journal.ts';
import { whyNoPrograms } from '../why-no-programs.ts';

export interface ToolsOptions {
  /** Default: the owner, at the terminal where there is one. */
  readonly as?: string;
}

type Config = LoadedConfig['config'];
type Judged = Pick<ToolFacts, 'name' | 'effect' | 'act' | 'tags' | 'needs' | 'ownerOnly' | 'rule'>;

/** Tools that need a search engine. */
const SEARCHES: readonly string[] = ['web_search', 'deep_search'];
const TERMINAL: PersonRef = { channel: 'cli', senderId: 'local' };
const WORDS: Readonly<Record<Verdict['kind'], string>> = { allow: 'yes', ask: 'asks', deny: 'no' };

/** What the config comes to for one person, before anything was read: what is read may add questions. */
export const toolsList: Command<ToolsOptions> = async (context, { as }) => {
  const { out, deps } = context;
  const loaded = await readConfig(context);
  sayWarnings(context, loaded);
  const { config } = loaded;
  const who = as === undefined ? ownerIn(config) : knownIn(config, personOf(as));
  const people = await withJournal(context, (known) => knownPeople(config.gateway, known, deps.clock.now()));
  const person = people?.find((one) => principalOf(one) === principalOf(who));
  const role = await roleIn(config, who, person);
  const outside = whyOutside(config, who, person);
  const principal = principalOf(who);
  const mode = modeOf(
    role,
    principal,
    policySettings(config, (name) => channelOf(config, name)),
  );
  const authority: Authority = { principal, role, mode, policies: [] };
  const run = { authority, channel: who.channel, model: modelFor(config, who, deps.env) };
  const whyNot = await whyNoPrograms(config, { dataDir: dataDirOf(context), clock: deps.clock });
  const known = [...BUILT_IN.map((tool) => asShutIn(config, tool)), ...(await toolsOfPlugins(context, config))];
  const tools = [...known, ...(await toolsOfServers(context, config))].map((tool) => ({
    name: tool.name,
    ...(outside ?? whyNot(tool) ?? whyNoSearch(config, tool) ?? whyNoMail(config, tool) ?? verdictOf(config, tool, run)),
  }));
  out.document({
    as: { principal, role, mode: authority.mode },
    tools: tools.map(({ name, kind, reason, key }) => ({ name, verdict: kind, reason, ...(key === undefined ? {} : { key }) })),
  });
  const rows = tools.map(({ name, kind, reason, key = '' }) => [name, WORDS[kind], reason, key].map(printable));
  out.data(formatTable([['TOOL', 'MAY', 'REASON', 'DECIDED BY'], ...rows]));
  out.say(`for ${printable(principal)}: ${outside ? 'nothing' : `${role}, mode ${authority.mode}`}`);
  return EXIT.ok;
};

/** What was approved of the MCP servers of the config; a server that takes a tool back offers it no more. */
async function toolsOfServers(context: CommandContext, config: Config): Promise<readonly Judged[]> {
  const servers = await allServers(context, config);
  const approved = (await withJournal(context, async ({ pins }) => await pins.of('mcp'))) ?? [];
  return approved.flatMap(({ name }) => {
    const [server = '', ...rest] = name.split('/');
    if (!Object.hasOwn(servers, server) || servers[server]?.enabled !== true) return [];
    return [{ name: toolId(server, rest.join('/')), effect: 'outside', act: 'network', tags: ['mcp', `mcp:${server}`] } as const];
  });
}

/** Of plugins that are enabled. What the operator believes of their effects counts in a sandbox alone. */
async function toolsOfPlugins(context: CommandContext, config: Config): Promise<readonly Judged[]> {
  return (await pluginsHere(context)).flatMap(({ name, standing, code, approval }) => {
    if (standing !== 'enabled' || !code || !approval) return [];
    const isBelieved = isShutIn(config) && approval.effects && !(approval.network && code.manifest.requires_network);
    return code.manifest.tools.map(({ name: tool, effect }): Judged => {
      const about = { act: 'program', needs: 'sh', tags: ['plugin', `plugin:${name}`] } as const;
      return { ...about, name: pluginToolId(name, tool), effect: isBelieved ? effect : 'outside' };
    });
  });
}

/** As the daemon takes it: what a program does that is shut in stays in the workspace. */
function asShutIn(config: Config, tool: Judged): Judged {
  if (tool.needs === 'rg' || tool.needs === 'git') return { ...tool, ...(config.sandbox?.mode === 'none' ? BARE : {}) };
  return tool.act === 'program' && isShutIn(config) ? { ...tool, effect: 'workspace' } : tool;
}

function isShutIn({ sandbox }: Config): boolean {
  return sandbox !== undefined && sandbox.mode !== 'none' && !sandbox.allow_network;
}

function whyNoSearch({ web }: Config, { name }: Judged): Verdict | undefined {
  if (!SEARCHES.includes(name) || Object.values(web.web_search).some((engine) => engine !== undefined)) return undefined;
  return { kind: 'deny', reason: 'no search engine is configured', key: 'web.web_search' };
}

function whyNoMail({ gateway }: Config, { name }: Judged): Verdict | undefined {
  if (name !== 'send_email' || gateway.channels.some(({ type }) => type === 'email')) return undefined;
  return { kind: 'deny', reason: 'no channel of type email is configured', key: 'gateway.channels' };
}

function verdictOf(config: Config, tool: Judged, run: PolicyRun): Verdict {
  const policy = createPolicy(() => policySettings(config, (name) => channelOf(config, name)));
  // Without arguments the farthest that it can reach is judged.
  return policy.decide({ tool: { parameters: {}, description: '', outputBytes: 0, ...tool }, args: undefined, taint: 0 }, run);
}

/** As a message of theirs would be judged. Where they are paired in one account, that is taken for all. */
async function roleIn(config: Config, who: PersonRef, person: KnownPerson | undefined): Promise<Role> {
  if (clientIn(config, who)) return 'member';
  const { gateway } = config;
  return await roleOf(
    { ...who, account: '' },
    {
      owner: { isOwnersId: (one) => isOwners(config, one) },
      pairing: { decided: async () => (person?.standing === 'paired' ? 'approved' : undefined) },
      isLocal: (channel) => isTerminal(gateway, channel),
      allowedSenders: (channel) => channelOf(config, channel)?.allowed_senders ?? [],
      isSpoofable: (channel) => isSpoofable(channelOf(config, channel)),
    },
  );
}

function isOwners({ gateway }: Config, { channel, senderId }: PersonRef): boolean {
  return gateway.owner.some((one) => one.channel === channel && [one.chat_id, ...one.sender_ids].includes(senderId));
}

/** The person at the terminal where there is one, else the first owner. Throws GH1001 without either. */
function ownerIn({ gateway }: Config): PersonRef {
  if (isTerminal(gateway, TERMINAL.channel)) return TERMINAL;
  const [owner] = gateway.owner;
  if (owner) return { channel: owner.channel, senderId: owner.sender_ids[0] ?? owner.chat_id };
  throw new GatehouseError('GH1001', 'no channel of the config is a terminal, and gateway.owner names no person', {
    hint: 'say for whom, as in `--as telegram:42`',
  });
}

/** Throws GH1003 for a channel that is not configured. Clients have none. */
function knownIn(config: Config, who: PersonRef): PersonRef {
  const { channel } = who;
  if (channelOf(config, channel) || isTerminal(config.gateway, channel) || clientOf(principalOf(who)) !== undefined) return who;
  const names = config.gateway.channels.map(({ name, type }) => name ?? type);
  const near = nearest(channel, names);
  throw new GatehouseError('GH1003', `no channel ${printable(channel)} is configured`, {
    hint:
      near === undefined
        ? `there is: ${printable(names.join(', '))}`
        : `did you mean ${printable(near)}:${printable(who.senderId)}?`,
  });
}

/** Whose messages are not taken at all has no tools. */
function whyOutside(config: Config, who: PersonRef, person: KnownPerson | undefined): Verdict | undefined {
  const { gateway } = config;
  if (isTerminal(gateway, who.channel)) return undefined;
  if (person?.standing === 'blocked') return { kind: 'deny', reason: 'the person is blocked' };
  if (clientIn(config, who)) return undefined;
  const listed = channelOf(config, who.channel)?.allowed_senders.includes(who.senderId) ?? false;
  if (listed || person?.standing === 'paired' || letsAllIn(gateway, who.channel)) return undefined;
  return { kind: 'deny', reason: 'the person is not let in', key: 'gateway.channels[].allowed_senders' };
}

function channelOf({ gateway }: Config, name: string): Config['gateway']['channels'][number] | undefined {
  return gateway.channels.find((one) => (one.name ?? one.type) === name);
}

/** Where that is a program and no person. */
function clientIn({ mcp_clients: clients }: Config, who: PersonRef): Config['mcp_clients'][string] | undefined {
  const client = clientOf(principalOf(who));
  return client !== undefined && Object.hasOwn(clients, client) ? clients[client] : undefined;
}

/** `provider/model` that answers the person first, as calls name it; `/` where a start has to find one. */
function modelFor(config: Config, who: PersonRef, env: CliDeps['env']): string {
  const { channel: name, senderId } = who;
  const channel = channelOf(config, name);
  const named = clientIn(config, who)?.model ?? channel?.sender_models?.[senderId] ?? channel?.model;
  const entry = (named === undefined ? undefined : config.models[named]) ?? config;
  if (!namesModel(entry)) return '/';
  try {
    const { provider, model } = resolveProvider(entry, env);
    return `${provider.name}/${model}`;
  } catch (error) {
    // The address of a cloud account may be in the environment of the daemon alone.
    if (isGatehouseError(error) && error.hint.startsWith('export ')) return `${providerFor(entry).name}/${entry.model ?? ''}`;
    throw error;
  }
}
