// config -> server, asked once -> what it says, beside what was approved of it
import type { McpServerEntry } from '../../../config/sections/mcp.ts';
import { errorText, GatehouseError, isGatehouseError } from '../../core/errors.ts';
import type { McpStatus } from '../../core/status.ts';
import type { LoginState } from '../../lib/auth/store.ts';
import { counted } from '../../lib/counted.ts';
import { printable, printableBlock } from '../../lib/printable.ts';
import { spellOut } from '../../lib/spell-out.ts';
import { type Listed, probe } from '../../tools/mcp/look.ts';
import type { ServerTool, SkippedTool } from '../../tools/mcp/offered.ts';
import { type Approved, approve, approvedOf, forget, type Standing, standingOf } from '../../tools/mcp/pin.ts';
import { type Command, type CommandContext, dataDirOf, readConfig, sayWarnings } from '../context.ts';
import { askDaemon } from '../daemon-status.ts';
import { EXIT } from '../exit-codes.ts';
import { loginOf, serverOf } from '../mcp-server.ts';
import { formatTable } from '../output.ts';
import { allServers } from '../plugin-parts.ts';
import { withQuestions } from '../questions.ts';
import { openOrMake, withJournal } from '../read-journal.ts';

const BY = 'cli';
/** For the start of a program, the handshake and the list. */
const LIMIT_MS = 60_000;

interface Named {
  readonly name: string;
}

export interface ApproveOptions extends Named {
  /** Names of the server's own; absent = all. */
  readonly tool?: readonly string[];
  readonly yes?: boolean;
}

/** The servers of the config and of plugins, and how the running daemon has them. */
export const mcpList: Command<unknown> = async (context) => {
  const { out } = context;
  const loaded = await readConfig(context);
  sayWarnings(context, loaded);
  const daemon = await askDaemon(dataDirOf(context));
  const states = daemon.kind === 'up' ? (daemon.status.mcp ?? []) : [];
  const approved = await withJournal(context, async ({ pins }) => await pins.of('mcp'));
  const servers = await Promise.all(
    Object.entries(await allServers(context, loaded.config)).map(async ([name, entry]) => ({
      name,
      ...placeOf(entry),
      enabled: entry.enabled,
      approved: (approved ?? []).filter((pin) => pin.name.startsWith(`${name}/`)).length,
      ...(entry.oauth?.grant === 'authorization_code' ? { login: await loginState(context, name, entry) } : {}),
      ...stateOf(states.find(({ server }) => server === name)),
    })),
  );
  out.document({ servers });
  if (servers.length === 0) out.data('no MCP server is configured: add one under mcp_servers');
  else {
    const rows = servers.map(({ name, place, enabled, approved: count, state, login, waiting = 0, detail = '' }) => {
      const now = enabled ? (state ?? 'no daemon runs') : 'off';
      const who = login === undefined ? '' : login === 'none' ? 'no login' : `login ${login}`;
      return [name, now, `${count} approved`, waiting === 0 ? '' : `${waiting} waiting`, who, detail || place].map(printable);
    });
    out.data(formatTable([['SERVER', 'STATE', 'TOOLS', '', '', ''], ...rows]));
    const without = servers.find(({ login }) => login === 'none' || login === 'expired');
    if (without) out.say(`→ gatehouse mcp login ${without.name}`);
    if (servers.some(({ waiting = 0 }) => waiting > 0)) out.say('→ gatehouse mcp approve SERVER');
  }
  return EXIT.ok;
};

function placeOf({ command, url }: McpServerEntry): { readonly kind: 'stdio' | 'http'; readonly place: string } {
  return url === undefined ? { kind: 'stdio', place: command ?? '' } : { kind: 'http', place: new URL(url).origin };
}

/** Of an entry that a person logs in for. */
async function loginState(context: CommandContext, name: string, entry: McpServerEntry): Promise<LoginState | 'none'> {
  return (await loginOf(context, name, entry))?.state ?? 'none';
}

interface State {
  readonly state?: McpStatus['state'];
  readonly detail?: string;
  readonly offered?: number;
  readonly waiting?: number;
}

function stateOf(status: McpStatus | undefined): State {
  if (!status) return {};
  const { state, detail, waiting, offered } = status;
  return { state, ...(detail === undefined ? {} : { detail }), offered: offered.length, waiting: waiting.length };
}

/** Asks one server as the daemon would. Exit code 1 when it does not work. */
export const mcpTest: Command<Named> = async (context, { name }) => {
  const { out } = context;
  const { listed, approved } = await look(context, name);
  const tools = listed.tools.map((tool) => ({ tool, standing: standingOf(tool, approved) }));
  out.document({ server: name, ...documentOf(listed, approved) });
  for (const { tool, standing } of tools) out.data(described(tool, standing));
  saySkipped(context, listed);
  const open = tools.filter(({ standing }) => standing !== 'approved').length;
  out.say(`${out.mark('ok', 'stderr')} ${printable(name)} works: ${counted(tools.length, 'tool')}, ${open} not approved`);
  if (open > 0) out.say(`→ gatehouse mcp approve ${name}`);
  return EXIT.ok;
};

/** Approves what was seen here: a server that says something else to the daemon is not believed there. */
export const mcpApprove: Command<ApproveOptions> = async (context, { name, tool: only, yes = false }) => {
  const { deps, out } = context;
  const { listed, approved } = await look(context, name);
  const missing = only?.find((one) => listed.tools.every((tool) => tool.name !== one));
  if (missing !== undefined)
    throw new GatehouseError('GH1003', `${printable(name)} has no tool ${printable(missing)} that could be offered`, {
      hint: `see \`gatehouse mcp test ${name}\``,
    });
  const wanted = listed.tools.filter((tool) => only === undefined || only.includes(tool.name));
  const open = wanted.flatMap((tool) => {
    const standing = standingOf(tool, approved);
    return standing === 'approved' ? [] : [{ tool, standing }];
  });
  for (const { tool, standing } of open) out.data(described(tool, standing));
  saySkipped(context, listed);
  const finish = (tools: readonly ServerTool[]): number => {
    out.document({ server: name, approved: tools.map(({ id, digest }) => ({ tool: id, digest })) });
    return EXIT.ok;
  };
  if (open.length === 0) {
    out.data(`${out.mark('ok')} nothing of ${printable(name)} is new or changed`);
    return finish([]);
  }
  if (!yes && deps.stdio.stdin.isTTY !== true)
    throw new GatehouseError('GH1001', 'there is no terminal to ask on', {
      hint: 'look at what is shown above, then add `--yes`',
    });
  const isYes = yes || (await withQuestions(deps.stdio, (ask) => ask(`approve ${counted(open.length, 'tool')}? [y/N] `)));
  if (isYes !== true && !/^y(?:es)?$/i.test(isYes)) {
    out.say('nothing was approved');
    return EXIT.failed;
  }
  const tools = open.map(({ tool }) => tool);
  await using opened = await openOrMake(context);
  await approve(opened.journal, name, tools, BY);
  out.data(`${out.mark('ok')} ${counted(tools.length, 'tool')} of ${printable(name)} approved`);
  return finish(tools);
};

/** Takes back every approval, also of a server that is in the config no more. */
export const mcpRemove: Command<Named> = async (context, { name }) => {
  const { out } = context;
  const removed = await withJournal(context, async ({ journal, pins }) => {
    const approved = await approvedOf(name, pins);
    if (approved.size > 0) await forget(journal, name, approved, BY);
    return approved.size;
  });
  if (!removed)
    throw new GatehouseError('GH1003', `nothing of an MCP server ${printable(name)} is approved`, {
      hint: 'see `gatehouse mcp list`',
    });
  out.document({ server: name, removed });
  out.data(`${out.mark('ok')} ${counted(removed, 'tool')} of ${printable(name)} approved no more`);
  const entry = await readConfig(context).then(
    ({ config }) => config.mcp_servers[name],
    () => undefined,
  );
  if (entry) out.say(`it is still in mcp_servers${entry.pin === 'first-use' ? ', and "first-use" there approves it again' : ''}`);
  return EXIT.ok;
};

async function look(context: CommandContext, name: string): Promise<{ readonly listed: Listed; readonly approved: Approved }> {
  const { out } = context;
  const { entry, options, redact } = await serverOf(context, name);
  // What is renewed on the way must reach the disk.
  await using _login = options.login;
  out.say(`asking ${printable(name)} …`);
  const listed = await probe(name, entry, options, AbortSignal.timeout(LIMIT_MS)).catch((error: unknown) => {
    if (isGatehouseError(error)) throw error;
    throw new GatehouseError('GH2302', `${printable(name)} does not work: ${printable(redact(errorText(error)))}`, {
      hint: hintFor(entry, error),
      cause: error,
    });
  });
  const approved = await withJournal(context, ({ pins }) => approvedOf(name, pins));
  return { listed, approved: approved ?? new Map() };
}

/** What helps where a server cannot be asked. */
export function hintFor({ url }: Pick<McpServerEntry, 'url'>, error: unknown): string {
  if (url === undefined) return 'check its entry in mcp_servers, and what the program says where it is started by hand';
  if (errorText(error).includes('EPRIVATE'))
    return 'the address is in a private network or of this machine: if it is meant, add `"allow_private": true` to its entry';
  return 'check "url" in its entry of mcp_servers, and that the server runs there';
}

function documentOf({ tools, skipped, cut }: Listed, approved: Approved): Readonly<Record<string, unknown>> {
  return {
    tools: tools.map((tool) => {
      const { id, name, description, parameters, digest, isReadOnly } = tool;
      return { id, name, standing: standingOf(tool, approved), description, parameters, readOnly: isReadOnly, digest };
    }),
    skipped,
    ...(cut === undefined ? {} : { cut }),
  };
}

/** All that the model is told of it; what a person would not see is spelt out. */
function described({ id, description, parameters }: ServerTool, standing: Standing): string {
  return printableBlock(
    [`${id} (${standing})`, ...description.split('\n').map(spelt), ...spellOut(parameters).split('\n')].join('\n  '),
  );
}

/** As JSON spells it, where a person would not see all of it. */
function spelt(line: string): string {
  const text = spellOut(line);
  return text === JSON.stringify(line) ? line : text;
}

function saySkipped({ out }: CommandContext, { skipped, cut }: Listed): void {
  const line = ({ name, reason }: SkippedTool): string => `${printable(name)} is not offered: ${printable(reason)}`;
  for (const text of [...skipped.map(line), ...(cut === undefined ? [] : [printable(cut)])])
    out.say(`${out.mark('warn', 'stderr')} ${text}`);
}
