// directory or archive -> a private copy, of which nothing is run -> shown -> a yes -> plugins/NAME, approved
import { realpath, rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { GatehouseError } from '../../core/errors.ts';
import { isErrno } from '../../lib/errno.ts';
import { printable } from '../../lib/printable.ts';
import { unpack } from '../../tools/plugins/archive.ts';
import type { PluginCode } from '../../tools/plugins/code.ts';
import { approvalsOf, approvePlugin } from '../../tools/plugins/pin.ts';
import { missingProgram, pluginState } from '../../tools/plugins/state.ts';
import { pluginRoot, removeCopies, StagedPlugin, unpackDirectory } from '../../tools/plugins/store.ts';
import { type Command, type CommandContext, dataDirOf } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { pluginText } from '../plugin-text.ts';
import { withQuestions } from '../questions.ts';
import { openOrMake, withJournal } from '../read-journal.ts';

export interface Grants {
  readonly network?: boolean;
  readonly trustEffects?: boolean;
  readonly yes?: boolean;
}

export interface AddOptions extends Grants {
  readonly path: string;
}

const BY = 'cli';

/** Takes a plugin in. Nothing of it is kept where the answer is no. */
export const pluginsAdd: Command<AddOptions> = async (context, { path, ...grants }) => {
  const { deps } = context;
  // A47: what is taken in lies on this machine, where it can be looked at first.
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path))
    throw new GatehouseError('GH1001', 'a plugin is never fetched from an address', {
      hint: 'fetch it yourself, look at it, and give the directory or the .tar.gz',
    });
  const dataDir = dataDirOf(context);
  const source = await realPath(resolve(deps.cwd, path));
  // Its directory may be the first of them.
  await using _ = await openOrMake(context);
  if ((await stat(source)).isDirectory()) return await takeIn(context, source, grants);
  if (!/\.(?:tar\.gz|tgz)$/i.test(source))
    throw new GatehouseError('GH2403', `${printable(path)} is neither a directory nor a .tar.gz`);
  const unpacked = await unpackDirectory(dataDir);
  try {
    await unpack(source, unpacked);
    return await takeIn(context, await pluginRoot(unpacked), grants);
  } finally {
    await rm(unpacked, { recursive: true, force: true });
  }
};

async function realPath(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR'))
      throw new GatehouseError('GH1003', `there is no ${printable(path)}`, { hint: 'give the path of a directory or a .tar.gz' });
    throw error;
  }
}

async function takeIn(context: CommandContext, source: string, grants: Grants): Promise<number> {
  const { out } = context;
  await using staged = await StagedPlugin.of(dataDirOf(context), source);
  const { name, version } = staged.code.manifest;
  const before = await withJournal(context, async ({ pins }) => {
    const approvals = await approvalsOf(pins);
    return await pluginState(dataDirOf(context), name, approvals.get(name));
  });
  if (before?.code)
    out.say(`${out.mark('warn', 'stderr')} takes the place of ${name} ${printable(before.code.manifest.version)}`);
  return await decide(context, staged, grants, async () => {
    await staged.install();
    out.data(`${out.mark('ok')} ${name} ${printable(version)} was added and is enabled`);
  });
}

/** Shows a plugin, asks, and approves exactly what was shown. `first` comes before the approval. */
export async function decide(
  context: CommandContext,
  staged: StagedPlugin,
  grants: Grants,
  first: () => Promise<void>,
): Promise<number> {
  const { out } = context;
  const { code } = staged;
  const { name, requires_network: wantsNetwork } = code.manifest;
  show(context, pluginText(code));
  if (grants.trustEffects) show(context, '  what it says its tools change is believed, while it is shut in');
  const missing = await missingProgram(code);
  if (missing !== undefined) out.say(`${out.mark('warn', 'stderr')} ${missing}: until it is, none of its tools is offered`);
  if (grants.network === true && !wantsNetwork)
    throw new GatehouseError('GH1001', `${name} does not want the network`, { hint: 'leave out `--network`' });
  const asked = await ask(context, code, grants);
  if (!asked.yes) {
    out.say('nothing was approved');
    return EXIT.failed;
  }
  const flags = [...(asked.network ? (['network'] as const) : []), ...(grants.trustEffects ? (['effects'] as const) : [])];
  await first();
  await staged.keep();
  await using opened = await openOrMake(context);
  await approvePlugin(opened, code, { flags, by: BY });
  await removeCopies(dataDirOf(context), name, code.digest);
  out.document({ plugin: name, digest: code.digest, network: asked.network, trustsEffects: grants.trustEffects === true });
  const parts = Object.keys(code.manifest.mcp_servers).length + code.manifest.hooks.length;
  const now = (await approvalsOf(opened.pins)).get(name);
  const approved = now ? now.servers.size + now.hooks.size : 0;
  if (wantsNetwork && !asked.network) out.say(`it has no network: → gatehouse plugins enable ${name} --network`);
  if (parts > approved)
    out.say(`${approved > 0 ? 'other' : 'its'} servers and hooks are off until you approve each: → gatehouse plugins list`);
  return EXIT.ok;
}

/** What is decided on is seen also where standard output has a document. */
export function show({ out }: CommandContext, text: string): void {
  if (out.json) out.say(text);
  else out.data(text);
}

async function ask(
  { deps }: CommandContext,
  { manifest }: PluginCode,
  { network = false, yes = false }: Grants,
): Promise<{ readonly yes: boolean; readonly network: boolean }> {
  if (yes) return { yes, network };
  mustAsk(deps.stdio.stdin.isTTY);
  return await withQuestions(deps.stdio, async (question) => {
    if (!isYes(await question(`let the agent use ${manifest.name}? [y/N] `))) return { yes: false, network: false };
    if (!manifest.requires_network || network) return { yes: true, network };
    return { yes: true, network: isYes(await question('let it have the network? [y/N] ')) };
  });
}

/** Rejects where no person can answer. */
export function mustAsk(isTty: boolean | undefined): void {
  if (isTty !== true)
    throw new GatehouseError('GH1001', 'there is no terminal to ask on', {
      hint: 'look at what is shown above, then add `--yes`',
    });
}

export function isYes(answer: string): boolean {
  return /^y(?:es)?$/i.test(answer);
}
