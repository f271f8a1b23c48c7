import { homedir, userInfo } from 'node:os';
import { resolve, sep } from 'node:path';
import { CHANNELS } from '../../channels/registry.ts';
import { GatehouseError } from '../core/errors.ts';
import { systemClock } from '../lib/clock.ts';
import { packageRoot, packageVersion } from '../lib/package-info.ts';
import type { CliDeps } from './deps.ts';
import { openUrl } from './open-url.ts';
import { shellWord } from './shell-word.ts';

/** For the renewal of a login that expired. */
const LOGIN_MS = 20_000;

/** The real collaborators of this process. Heavy parts are imported by the command that needs them. */
export function processDeps(): CliDeps {
  return {
    stdio: { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr },
    env: process.env,
    cwd: currentDir(),
    // An empty $HOME (cron, some containers) is no home; the user database knows it.
    home: resolve(homedir() || userInfo().homedir),
    clock: systemClock,
    version: packageVersion(),
    command: commandLine(),
    commandHere: commandHere(),
    packageRoot: packageRoot(),
    channelTypes: Object.keys(CHANNELS),
    channelSettings: async (type) => (await CHANNELS[type]?.())?.settings,
    groupIds: async (type) => (await CHANNELS[type]?.())?.groupId,
    runGateway: async (options) => {
      // A terminal that is gone ends its channel, which sees the failed write, but no daemon that serves
      // others.
      process.stdout.removeAllListeners('error').on('error', () => undefined);
      // The daemon of a simulator ends with it.
      if (process.env['GATEHOUSE_ENDS_WITH_PARENT'] === '1')
        process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
      return (await import('../app/run-gateway.ts')).runGateway(options);
    },
    runChat: async (options) => (await import('../app/run-chat.ts')).runChat(options),
    createModel: async (target, { apiKey, timeouts }) => {
      const { createWire } = await import('../llm/create.ts');
      return createWire(target, apiKey, { timeouts, clock: systemClock });
    },
    storedKey: async (dataDir, provider) => {
      const { openAuthStore } = await import('../lib/auth/store.ts');
      await using store = openAuthStore({ dir: dataDir, clock: systemClock });
      return await store.get(provider, AbortSignal.timeout(LOGIN_MS));
    },
    openUrl: (url) => openUrl(url, process.env),
    tryChannels: async (options) => (await import('../app/try-channels.ts')).tryChannels({ ...options, registry: CHANNELS }),
    awaitCode: async (options) => {
      return await untilInterrupted(async (stop) => {
        const { awaitCode } = await import('../app/await-code.ts');
        return await awaitCode({ ...options, stop, registry: CHANNELS });
      });
    },
    loginChannel: async (options) => (await import('../app/login-channel.ts')).loginChannel({ ...options, registry: CHANNELS }),
    logoutChannel: async (options) => (await import('../app/login-channel.ts')).logoutChannel({ ...options, registry: CHANNELS }),
    simulate: async (options, onReady) => (await simulator()).runSimulator(options, onReady, process.env['PATH']),
    demo: async (say) => (await simulator()).tasksDemo(say, process.env['PATH']),
    openJournal: async (options) => (await import('../journal/open.ts')).openJournal({ ...options, sync: 'in-commit' }),
  };
}

/** Ctrl-C ends the wait, and a second one the program. */
async function untilInterrupted<T>(wait: (stop: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  process.once('SIGINT', onSignal);
  try {
    return await wait(stop.signal);
  } finally {
    process.off('SIGINT', onSignal);
  }
}

/** A checkout has no command of its own, and its Node may be one that only npm finds. */
function commandLine(): string {
  if (!import.meta.filename.endsWith('.ts')) return 'gatehouse';
  return `npm run -s --prefix ${shellWord(packageRoot())} gatehouse --`;
}

/** As the README writes it, where the terminal is in the checkout. npm says where that is. */
function commandHere(): string {
  const root = packageRoot();
  const from = process.env['INIT_CWD'] ?? currentDir();
  const isWithin = from === root || from.startsWith(`${root}${sep}`);
  return commandLine() === 'gatehouse' || !isWithin ? commandLine() : 'npm run -s gatehouse --';
}

/** Rejects a directory that was removed under us with what to do, where Node only has a stack trace. */
function currentDir(): string {
  try {
    return process.cwd();
  } catch (error) {
    throw new GatehouseError('GH1004', 'the current directory does not exist any more', {
      hint: 'change to another directory',
      cause: error,
    });
  }
}

/** The one place of the program that reaches into src/simulator (layers.test.ts), on demand. */
async function simulator() {
  return await import('../simulator/run.ts');
}
