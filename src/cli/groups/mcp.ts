import type { ApproveOptions } from '../commands/mcp.ts';
import type { McpLoginOptions } from '../commands/mcp-login.ts';
import type { McpServeOptions } from '../commands/mcp-serve.ts';
import { type Commander, examples, type Run, reporting } from './group.ts';

export function addMcpCommands(program: Commander, run: Run): void {
  const group = program.command('mcp').description('MCP servers of the config: how they are, and what of them is approved');
  group.addHelpText('before', examples('gatehouse mcp list', 'gatehouse mcp test files', 'gatehouse mcp approve files'));
  reporting(group, 'list', 'list the servers of the config', ['gatehouse mcp list']).action(
    (options: unknown, command: Commander) => run(async () => (await import('../commands/mcp.ts')).mcpList, options, command),
  );
  reporting(group, 'test', 'start or call one, and show all that it says of its tools', [
    'gatehouse mcp test files',
    'gatehouse mcp test files --json',
  ])
    .argument('<name>', 'as in mcp_servers')
    .action((name: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/mcp.ts')).mcpTest, { name }, command),
    );
  reporting(group, 'approve', 'show what is new or changed, and let the agent have it', [
    'gatehouse mcp approve files',
    'gatehouse mcp approve files --tool read_text_file --tool list_directory',
    'gatehouse mcp approve files --yes',
  ])
    .argument('<name>', 'as in mcp_servers')
    .option('--tool <name>', 'this one alone, as the server names it; may be given again', again)
    .option('--yes', 'do not ask')
    .action((name: string, options: Omit<ApproveOptions, 'name'>, command: Commander) =>
      run(async () => (await import('../commands/mcp.ts')).mcpApprove, { name, ...options }, command),
    );
  reporting(group, 'login', 'log in to one that wants OAuth, in a browser', [
    'gatehouse mcp login tickets',
    'gatehouse mcp login tickets --no-browser',
    'gatehouse mcp login tickets --scope tickets:write',
  ])
    .argument('<name>', 'as in mcp_servers')
    .option('--no-browser', 'only print the address of the page')
    .option('--scope <scope>', 'ask for this too; may be given again', again)
    .action((name: string, options: Omit<McpLoginOptions, 'name'>, command: Commander) =>
      run(async () => (await import('../commands/mcp-login.ts')).mcpLogin, { name, ...options }, command),
    );
  reporting(group, 'logout', 'forget that login, and end it at the server', ['gatehouse mcp logout tickets'])
    .argument('<name>', 'as in mcp_servers, or as it was there')
    .action((name: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/mcp-login.ts')).mcpLogout, { name }, command),
    );
  reporting(group, 'remove', 'take back all that was approved of one', ['gatehouse mcp remove files'])
    .argument('<name>', 'as in mcp_servers, or as it was there')
    .action((name: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/mcp.ts')).mcpRemove, { name }, command),
    );
  group
    .command('serve')
    .description('be an MCP server on standard input and output, for a program of yours that mcp_clients names')
    .requiredOption('--as <name>', 'as in mcp_clients')
    .addHelpText('before', examples('gatehouse mcp serve --as coder'))
    .addHelpText('after', CLIENT_HELP)
    .action((options: McpServeOptions, command: Commander) =>
      run(async () => (await import('../commands/mcp-serve.ts')).mcpServe, options, command),
    );
}

const CLIENT_HELP = `
In the config of the program, such as Claude Desktop or Cursor:
  { "mcpServers": { "gatehouse": { "command": "gatehouse", "args": ["mcp", "serve", "--as", "coder"] } } }
In the config of the daemon, which has to run:
  { "mcp_clients": { "coder": {} } }
`;

/** Of an option that may be given more than once. */
function again(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
