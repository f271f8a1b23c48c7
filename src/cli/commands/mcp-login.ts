// mcp login: link for the person -> answer of the browser, or pasted -> login on disk -> the daemon looks
import { createInterface } from 'node:readline';
import { isServerName } from '../../../config/sections/mcp.ts';
import { errorText, GatehouseError, isGatehouseError } from '../../core/errors.ts';
import { counted } from '../../lib/counted.ts';
import { printable } from '../../lib/printable.ts';
import type { LoginUi } from '../../tools/mcp/oauth/answer.ts';
import { scopesOf } from '../../tools/mcp/oauth/challenge.ts';
import { logIn } from '../../tools/mcp/oauth/log-in.ts';
import { logOut } from '../../tools/mcp/oauth/log-out.ts';
import { type Command, type CommandContext, readConfig } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { formatRelative, isoTime } from '../format-time.ts';
import { askingOptions, serverOf } from '../mcp-server.ts';
import { openOrMake } from '../read-journal.ts';
import { hintFor } from './mcp.ts';

const BY = 'cli';

export interface McpLoginOptions {
  readonly name: string;
  /** `--no-browser` sets it to false. */
  readonly browser?: boolean;
  /** Asked for beside what the server asks for. */
  readonly scope?: readonly string[];
}

/** Logs in as a person does, with a browser anywhere. Exit code 1 when that fails. */
export const mcpLogin: Command<McpLoginOptions> = async (context, { name, browser, scope = [] }) => {
  const { deps, out } = context;
  const wrong = scope.find((one) => scopesOf(one)[0] !== one);
  if (wrong !== undefined)
    throw new GatehouseError('GH1001', '--scope is no scope', { hint: 'name one scope; the option may be given again' });
  const { entry, options, redact } = await serverOf(context, name);
  const opens = browser !== false && !out.json && deps.stdio.stderr.isTTY === true;
  const { signal } = new AbortController();
  const login = await logIn(name, entry, { ...options, signal, scopes: scope, ui: uiOf(context, opens) }).catch(
    (error: unknown) => {
      if (isGatehouseError(error)) throw error;
      throw new GatehouseError(
        'GH2302',
        `${printable(name)} cannot be asked how to log in: ${printable(redact(errorText(error)))}`,
        {
          hint: hintFor(entry, error),
          cause: error,
        },
      );
    },
  );
  const host = new URL(login.issuer).host;
  await record(context, 'mcp.logged-in', name, { issuer: host });
  const { expiresAt, renews } = login;
  out.document({
    ...{ server: name, issuer: login.issuer, scopes: scopesOf(login.scope), renews },
    ...(expiresAt === undefined ? {} : { expiresAt: isoTime(expiresAt) }),
  });
  const until = renews || expiresAt === undefined ? '' : `, until ${formatRelative(expiresAt, deps.clock.now())}`;
  out.data(`${out.mark('ok')} logged in to ${printable(name)} at ${printable(host)}${until}`);
  out.say(`→ gatehouse mcp test ${name}`);
  return EXIT.ok;
};

/** Forgets the login here, and ends it there where the authorization server offers that. */
export const mcpLogout: Command<{ readonly name: string }> = async (context, { name }) => {
  const { out } = context;
  if (!isServerName(name))
    throw new GatehouseError('GH1001', 'this is not the name of an MCP server', { hint: 'see `gatehouse mcp list`' });
  const entry = await readConfig(context).then(
    ({ config: { mcp_servers: servers } }) => (Object.hasOwn(servers, name) ? servers[name] : undefined),
    () => undefined,
  );
  const { signal } = new AbortController();
  const { forgotten, revoked, kept } = await logOut(name, entry, { ...(await askingOptions(context)), signal });
  if (forgotten === 0)
    throw new GatehouseError('GH1003', `no login at an MCP server ${name} is stored`, { hint: 'see `gatehouse mcp list`' });
  await record(context, 'mcp.logged-out', name, { logins: forgotten });
  out.document({ server: name, forgotten, revoked, kept });
  out.data(
    `${out.mark('ok')} ${counted(forgotten, 'login')} at ${name} forgotten${revoked.length > 0 ? ', and ended there' : ''}`,
  );
  for (const why of kept) out.say(`${out.mark('warn', 'stderr')} not ended at ${printable(why)}`);
  return EXIT.ok;
};

function uiOf({ deps, out }: CommandContext, opens: boolean): LoginUi {
  return {
    show: ({ server, issuer, scopes, link }) => {
      out.say(`Server        ${printable(server)}`);
      out.say(
        `Log in at     ${printable(new URL(link).host)}${new URL(link).origin === new URL(issuer).origin ? '' : ` (for ${printable(issuer)})`}`,
      );
      out.say(`It may do     ${printable(scopes.join(', ')) || 'what the server gives by itself'}`);
      out.say(`\nIf you know both, open this page and log in:\n\n  ${link}\n`);
      out.say('If that browser is not on this machine, paste here the address that it ends at, or the code.');
      // Whether it opens or not, the address is on the screen.
      if (opens) deps.openUrl(link);
    },
    lines: (signal) => linesOf(deps.stdio.stdin, signal),
    refuse: (why) => out.say(`${out.mark('warn', 'stderr')} ${why}; paste it again, or finish in the browser`),
  };
}

async function* linesOf(input: NodeJS.ReadableStream, signal: AbortSignal): AsyncGenerator<string> {
  using lines = createInterface({ input, signal });
  yield* lines;
}

/** What was done, for people; the running daemon sees that something changed, and asks the server again. */
async function record(
  context: CommandContext,
  kind: string,
  name: string,
  data: Readonly<Record<string, string | number>>,
): Promise<void> {
  await using opened = await openOrMake(context);
  await opened.journal.commit([{ kind: 'audit', entry: { kind, subject: `mcp:${name}`, by: BY, data } }]);
}
