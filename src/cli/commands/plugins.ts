// data directory, approvals -> what each plugin has and may do, and what is decided about it
import { GatehouseError } from '../../core/errors.ts';
import { counted } from '../../lib/counted.ts';
import { printable } from '../../lib/printable.ts';
import { approvedOf, forget } from '../../tools/mcp/pin.ts';
import type { PluginCode } from '../../tools/plugins/code.ts';
import { pluginToolId } from '../../tools/plugins/manifest.ts';
import { type Approval, approvePart, forgetPart, forgetPlugin, type Part } from '../../tools/plugins/pin.ts';
import type { PluginState } from '../../tools/plugins/state.ts';
import { pluginDirectory, removePlugin, StagedPlugin } from '../../tools/plugins/store.ts';
import { type Command, type CommandContext, dataDirOf } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { formatTable } from '../output.ts';
import { pluginsHere } from '../plugin-parts.ts';
import { hookText, serverText } from '../plugin-text.ts';
import { withQuestions } from '../questions.ts';
import { openOrMake, withJournal } from '../read-journal.ts';
import { decide, type Grants, isYes, mustAsk, show } from './plugins-add.ts';

const BY = 'cli';

interface Named {
  readonly name: string;
}

interface Parts {
  readonly server?: string | undefined;
  readonly hook?: string | undefined;
}

export interface EnableOptions extends Named, Parts, Grants {}
export interface DisableOptions extends Named, Parts {}

const WORDS = { enabled: 'enabled', disabled: 'disabled', new: 'not approved', changed: 'changed', broken: 'broken' } as const;

/** Every plugin of the data directory, as the daemon would have it. */
export const pluginsList: Command<unknown> = async (context) => {
  const { out } = context;
  const states = await pluginsHere(context);
  out.document({ plugins: states.map(documentOf) });
  if (states.length === 0) out.told('there is no plugin: add one with `gatehouse plugins add PATH`');
  else {
    out.data(formatTable([['PLUGIN', 'STATE', 'VERSION', 'TOOLS', 'MAY', ''], ...states.map(cellsOf)]));
    for (const state of states) for (const line of partLines(state)) out.data(line);
    if (states.some(({ standing }) => standing === 'new' || standing === 'changed')) out.say('→ gatehouse plugins enable PLUGIN');
  }
  return EXIT.ok;
};

/** Approves a plugin as it lies in its directory, or one server or hook of an approved one. */
export const pluginsEnable: Command<EnableOptions> = async (context, { name, server, hook, ...grants }) => {
  const state = await stateOf(context, name);
  const part = partOf(state, { server, hook });
  if (part !== undefined) return await enablePart(context, state, part, grants);
  const { approval, code, standing } = state;
  if (standing === 'disabled' && approval && !grants.network && !grants.trustEffects) {
    await using opened = await openOrMake(context);
    await forgetPart(opened.journal, { name, digest: approval.digest }, 'off', BY);
    return done(context, { plugin: name, state: 'enabled' }, `${name} is enabled, as it was approved`);
  }
  if (!code) throw new GatehouseError('GH2401', `${name} is broken: ${state.detail ?? 'it cannot be read'}`);
  const isNew = grants.network || grants.trustEffects;
  if (standing === 'enabled' && !isNew) {
    return done(context, { plugin: name, state: 'enabled' }, `${name} is enabled already, and nothing of it is new or changed`);
  }
  await using staged = await StagedPlugin.of(dataDirOf(context), pluginDirectory(dataDirOf(context), name));
  if (staged.code.manifest.name !== name)
    throw new GatehouseError('GH2401', `its manifest calls it ${staged.code.manifest.name}, its directory ${name}`);
  return await decide(context, staged, withKept(grants, approval, staged), async () => {
    context.out.data(`${context.out.mark('ok')} ${name} is enabled`);
  });
};

/** More is given to the same bytes: what they may do already stays. */
function withKept(grants: Grants, approval: Approval | undefined, { code }: StagedPlugin): Grants {
  if (approval?.digest !== code.digest) return grants;
  const { network, effects } = approval;
  return { ...grants, ...(network ? { network } : {}), ...(effects ? { trustEffects: effects } : {}) };
}

async function enablePart(context: CommandContext, state: PluginState, part: Part, grants: Grants): Promise<number> {
  const { deps, out } = context;
  const { name, standing, code, approval } = state;
  if (standing !== 'enabled' || !code || !approval)
    throw new GatehouseError('GH2402', `${name} is ${WORDS[standing]}: it comes before its servers and hooks`, {
      hint: `enable it first: \`gatehouse plugins enable ${name}\``,
    });
  if (grants.network || grants.trustEffects)
    throw new GatehouseError('GH1001', '`--network` and `--trust-effects` are for the tools of a plugin', {
      hint: 'leave them out beside `--server` and `--hook`',
    });
  if (hasPart(state, part)) return done(context, { plugin: name, part }, `${part} of ${name} is approved already`);
  show(context, partText(code, part));
  if (grants.yes !== true) {
    mustAsk(deps.stdio.stdin.isTTY);
    if (!isYes(await withQuestions(deps.stdio, (question) => question(`let it run? [y/N] `)))) {
      out.say('nothing was approved');
      return EXIT.failed;
    }
  }
  await using opened = await openOrMake(context);
  await approvePart(opened.journal, { name, digest: code.digest }, part, BY);
  return done(context, { plugin: name, part, digest: code.digest }, `${part} of ${name} is approved`);
}

/** What was approved stays, and counts again once the plugin is enabled. */
export const pluginsDisable: Command<DisableOptions> = async (context, { name, server, hook }) => {
  const state = await stateOf(context, name);
  const { approval } = state;
  if (!approval) throw new GatehouseError('GH2402', `nothing of ${name} is approved`, { hint: 'see `gatehouse plugins list`' });
  const part = partOf(state, { server, hook });
  const about = { name, digest: approval.digest };
  await using opened = await openOrMake(context);
  if (part === undefined) {
    if (!approval.off) await approvePart(opened.journal, about, 'off', BY);
    return done(context, { plugin: name, state: 'disabled' }, `${name} is disabled`);
  }
  if (hasPart(state, part)) await forgetPart(opened.journal, about, part, BY);
  return done(context, { plugin: name, part, state: 'disabled' }, `${part} of ${name} is disabled`);
};

/** Approvals first: what is left of a plugin then is not run. */
export const pluginsRemove: Command<Named> = async (context, { name }) => {
  await stateOf(context, name);
  const forgotten = await withJournal(context, async (opened) => {
    // By what was approved, not by what lies there now. No other server has a name that begins so.
    const approved = (await opened.pins.of('mcp')).map((pin) => pin.name.split('/', 1)[0] ?? '');
    for (const server of new Set(approved.filter((one) => one.startsWith(`${name}_`)))) {
      const words = await approvedOf(server, opened.pins);
      if (words.size > 0) await forget(opened.journal, server, words, BY);
    }
    return await forgetPlugin(opened, name, BY);
  });
  const removed = await removePlugin(dataDirOf(context), name);
  return done(context, { plugin: name, approvals: forgotten === true, files: removed }, `${name} is removed`);
};

function done({ out }: CommandContext, document: Readonly<Record<string, unknown>>, text: string): number {
  out.document(document);
  out.data(`${out.mark('ok')} ${printable(text)}`);
  return EXIT.ok;
}

/** Rejects with GH1003 for a name that is no plugin's. */
async function stateOf(context: CommandContext, name: string): Promise<PluginState> {
  const state = (await pluginsHere(context)).find((one) => one.name === name);
  if (!state)
    throw new GatehouseError('GH1003', `there is no plugin ${printable(name.slice(0, 80))}`, {
      hint: 'see `gatehouse plugins list`; a new one comes with `gatehouse plugins add PATH`',
    });
  return state;
}

/** Undefined = the plugin itself. Rejects with GH1003 for what the plugin does not have. */
function partOf({ name, code, approval }: PluginState, { server, hook }: Parts): Part | undefined {
  if (server !== undefined && hook !== undefined)
    throw new GatehouseError('GH1001', '`--server` and `--hook` are approved one by one', { hint: 'give one of them' });
  const missing = (what: string): GatehouseError =>
    new GatehouseError('GH1003', `${name} has no ${printable(what.slice(0, 80))}`, { hint: 'see `gatehouse plugins list`' });
  if (server !== undefined) {
    if (!Object.hasOwn(code?.manifest.mcp_servers ?? {}, server) && !approval?.servers.has(server))
      throw missing(`server ${server}`);
    return `server/${server}`;
  }
  if (hook === undefined) return undefined;
  const at = /^\d{1,3}$/.test(hook) ? Number(hook) : Number.NaN;
  if (code?.manifest.hooks[at] === undefined && !approval?.hooks.has(at)) throw missing(`hook ${hook}`);
  return `hook/${at}`;
}

function hasPart({ approval }: PluginState, part: Part): boolean {
  const [kind, id = ''] = part.split('/');
  return (kind === 'server' ? approval?.servers.has(id) : approval?.hooks.has(Number(id))) ?? false;
}

function partText({ manifest }: PluginCode, part: Part): string {
  const [kind, id = ''] = part.split('/');
  const [server, hook] = [manifest.mcp_servers[id], manifest.hooks[Number(id)]];
  if (kind === 'server' && server) return serverText(id, server);
  return hook ? hookText(Number(id), hook) : '';
}

function cellsOf({ name, standing, code, approval, detail = '' }: PluginState): readonly string[] {
  const { version = '', tools = [], requires_network: network = false, env = [] } = code?.manifest ?? {};
  const isApproved = standing === 'enabled' || standing === 'disabled';
  const may = [
    ...(network ? [isApproved && approval?.network ? 'network' : 'no network (wants it)'] : []),
    ...(isApproved && approval?.effects ? ['effects believed'] : []),
    ...env,
  ].join(', ');
  return [name, WORDS[standing], version, counted(tools.length, 'tool'), may, detail].map(printable);
}

function partLines(state: PluginState): readonly string[] {
  const { name, code, standing } = state;
  const { mcp_servers: servers = {}, hooks = [] } = code?.manifest ?? {};
  const is = (part: Part): string => (standing === 'enabled' && hasPart(state, part) ? 'approved' : 'off');
  return [
    ...Object.keys(servers).map((server) => `${name}: server ${server}, ${is(`server/${server}`)}`),
    ...hooks.map(({ event }, at) => `${name}: hook ${at} (${event}), ${is(`hook/${at}`)}`),
  ].map(printable);
}

function documentOf(state: PluginState): Readonly<Record<string, unknown>> {
  const { name, standing, detail, code, approval } = state;
  const isCurrent = approval !== undefined && approval.digest === code?.digest;
  return {
    ...{ name, state: standing, ...(detail === undefined ? {} : { detail }) },
    ...(code ? { version: code.manifest.version, digest: code.digest, env: code.manifest.env } : {}),
    tools: code?.manifest.tools.map((tool) => pluginToolId(name, tool.name)) ?? [],
    network: { wanted: code?.manifest.requires_network ?? false, allowed: isCurrent && approval.network },
    trustsEffects: isCurrent && approval.effects,
    servers: Object.keys(code?.manifest.mcp_servers ?? {}).map((server) => ({
      server,
      approved: hasPart(state, `server/${server}`),
    })),
    hooks: (code?.manifest.hooks ?? []).map(({ event }, hook) => ({ hook, event, approved: hasPart(state, `hook/${hook}`) })),
  };
}
