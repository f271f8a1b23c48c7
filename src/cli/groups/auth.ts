import type { AuthLoginOptions } from '../commands/auth.ts';
import { type Commander, examples, type Run, reporting } from './group.ts';

export function addAuthCommands(program: Commander, run: Run): void {
  const group = program.command('auth').description('logins and keys of model providers, and tokens of channels');
  const dryRun = ['--dry-run', 'change nothing, say what would be done'] as const;
  group.addHelpText('before', examples('gatehouse auth set-key openai', 'gatehouse auth status', 'gatehouse auth logout openai'));
  reporting(group, 'login', 'log in at a provider', [
    'gatehouse auth login anthropic --paste',
    'gatehouse auth login openai-compatible --issuer https://login.example.com --client-id ID',
    'gatehouse auth login openai-compatible --issuer https://login.example.com --client-id ID --device',
  ])
    .argument('[provider]', 'default: openai')
    .option('--device', 'enter a code on any device instead of using a browser here')
    .option('--paste', 'paste a key or token')
    .option('--issuer <url>', 'OpenID issuer to log in at (default for openai: https://auth.openai.com)')
    .option('--client-id <id>', 'the client id the issuer gave to this installation')
    .option('--port <number>', 'where the browser comes back to on this machine (default: 1455)')
    .option('--no-browser', 'print the address only')
    .option(...dryRun)
    .action((provider: string | undefined, options: AuthLoginOptions, command: Commander) =>
      run(
        async () => (await import('../commands/auth.ts')).authLogin,
        { ...options, ...(provider === undefined ? {} : { provider }) },
        command,
      ),
    );
  reporting(group, 'set-key', 'store a key, typed unseen or piped in', [
    'gatehouse auth set-key openai',
    'gatehouse auth set-key groq < key.txt',
    'gatehouse auth set-key telegram',
  ])
    .argument('<name>', 'a provider such as openai, a channel such as telegram, or a variable such as TWILIO_ACCOUNT_SID')
    .option(...dryRun)
    .action((provider: string, options: { dryRun?: boolean }, command: Commander) =>
      run(async () => (await import('../commands/auth.ts')).authSetKey, { provider, ...options }, command),
    );
  reporting(group, 'status', 'list them, without secrets', ['gatehouse auth status --json']).action(
    (options: unknown, command: Commander) => run(async () => (await import('../commands/auth.ts')).authStatus, options, command),
  );
  reporting(group, 'logout', 'forget one', ['gatehouse auth logout openai --dry-run'])
    .argument('<name>', 'as listed, or as it was stored')
    .option(...dryRun)
    .action((provider: string, options: { dryRun?: boolean }, command: Commander) =>
      run(async () => (await import('../commands/auth.ts')).authLogout, { provider, ...options }, command),
    );
}
