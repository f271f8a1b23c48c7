import { randomBytes } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CHANNELS } from '../../channels/registry.ts';
import { chatDirOf, lastConfigPath } from '../../config/paths.ts';
import type { Terminal } from '../core/channel.ts';
import { errorText, GatehouseError } from '../core/errors.ts';
import type { DaemonRecord } from '../core/status.ts';
import { lockDataDir } from '../journal/lock.ts';
import { writeFileAtomic } from '../lib/atomic-file.ts';
import { type AuthStore, openAuthStore } from '../lib/auth/store.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger, type LevelLogger, type LogLevel } from '../lib/log.ts';
import { packageVersion } from '../lib/package-info.ts';
import { programEnv } from '../lib/program-env.ts';
import { createRedactor } from '../lib/redact.ts';
import { withStoredVariables } from '../lib/stored-variables.ts';
import type { Detected } from '../llm/detect.ts';
import type { Config } from './compose/options.ts';
import { type Daemon, type DaemonOptions, startDaemon } from './daemon.ts';
import { Ending } from './ending.ts';
import { type FoundModels, findModels } from './find-models.ts';
import { ConfigFollower } from './follow-config.ts';
import { includeLedger } from './include-ledger.ts';
import { checkListen, type Listening, listen } from './listen.ts';
import { createModelStack } from './model-stack.ts';
import { readyText } from './ready-text.ts';
import { freeCompilersAtOnce, releaseMemory } from './release-memory.ts';
import { livePart } from './reload.ts';
import type { RunOptions } from './run-options.ts';
import { Screen } from './screen.ts';
import { Secrets } from './secrets.ts';
import { ServiceManager } from './service-manager.ts';
import { statusRoutes } from './status.ts';
import { Strays } from './strays.ts';

/** Grace for turns and sends at the first SIGTERM; the service unit's stop time-out is longer. */
const GRACE = { turnsMs: 5_000, deliveryMs: 10_000 };
const NO_GRACE = { turnsMs: 0, deliveryMs: 0 };

/**
 * Runs the daemon until a signal, a fatal journal error, or the end of its only input. Resolves with 0, or 1
 * after a fatal error. Rejects with GH11xx when the configuration cannot work, GH12xx when the data directory
 * cannot be used.
 */
export async function runGateway(given: RunOptions): Promise<number> {
  const clock = systemClock;
  const early = openAuthStore({ dir: given.loginDir ?? given.dataDir, clock });
  const options = { ...given, env: await withStoredVariables(given.env, early) };
  const secrets = new Secrets(options.env);
  const screen = new Screen(options.stdio.stderr, isInteractive(options), options.nameCommands);
  const logger = createLogger({
    level: logLevel(options),
    destination: screen.stderr,
    pretty: (options.logFormat ?? (options.stdio.stderr.isTTY === true ? 'pretty' : 'json')) === 'pretty',
    ...{ secrets: secrets.all, inRounds: true },
  });
  await using _lock = await lockDataDir(options.dataDir, clock, (detail) => logger.warn('data-dir.open', { detail }));
  await using store = openAuthStore({ dir: options.loginDir ?? options.dataDir, clock, log: logger });
  secrets.addLater(() => store.secrets());
  const found = await findModels(options.config, options.env, store);
  secrets.addModels(found);
  refuseDemo(options, options.config.config, found.detected);
  await checkListen(options.config.config.gateway.http);

  const follower = new ConfigFollower({
    ...options,
    ...{ clock, logger },
    say: (text) => {
      if (options.stdio.stderr.isTTY && options.message === undefined) screen.say(`${text}\n`);
    },
  });
  const ending = options.ending ?? new Ending();
  // From here on, not only once it serves: a channel may take its time to start.
  // A conversation on the command line ends with its terminal, wherever its words come from.
  const onHangUp = options.stdio.stdin.isTTY || options.quiet ? undefined : () => follower.look();
  using _signals = options.ending ? undefined : ending.onSignals(logger, onHangUp);
  const strays = new Strays({ logger, end: (reason) => ending.end(1, reason, true), exit: () => process.exit(1) });
  using _strays = options.ending ? undefined : strays.watch();
  const daemon = await startDaemon(daemonOptions(options, { found, store, secrets, screen, logger, ending, follower }));
  try {
    return await serve(daemon, options, { detected: found.detected, screen, logger, ending, follower });
  } finally {
    await daemon.close(NO_GRACE);
    await rm(join(options.dataDir, 'daemon.json'), { force: true });
  }
}

interface RunParts {
  readonly found: FoundModels;
  readonly store: AuthStore;
  readonly secrets: Secrets;
  readonly screen: Screen;
  readonly logger: LevelLogger;
  readonly ending: Ending;
  readonly follower: ConfigFollower;
}

function daemonOptions(options: RunOptions, { found, store, secrets, screen, logger, ending }: RunParts): DaemonOptions {
  const { config } = options.config;
  const { env, dataDir } = options;
  const clock = systemClock;
  const { secret } = secrets;
  return {
    ...{ config, dataDir, env, secret, clock, logger },
    // The data directory of `gatehouse chat` lies in it, beside keys and conversations of the daemon.
    hiddenDir: options.loginDir ?? dataDir,
    registry: options.registry ?? CHANNELS,
    model: async (parts) => {
      const now = parts.before ? await findModels(parts, env, store) : found;
      secrets.addModels(now);
      refuseDemo(options, parts.config, now.detected);
      return await createModelStack({
        ...{ ...parts, ...now, clock, logger, env, secret },
        ...(options.retries === false ? { maxRetries: 0 } : {}),
        login: (provider, signal) => store.get(provider, signal),
        includeOthers: (budget) => includeLedger(budget, options.otherLedger ?? chatDirOf(dataDir), { clock, logger }),
      });
    },
    reloadable: [livePart('log', ['log'], ({ log }) => logger.setLevel(logLevel(options, log.level)))],
    terminal: terminal(options, screen),
    programEnv: programEnv(env),
    redact: createRedactor(secrets.all),
    addSecrets: secrets.addLater,
    ...(options.observe ? { observe: options.observe } : {}),
    onFatal: (error) => {
      logger.error('journal.fatal', { code: error.code, detail: errorText(error), hint: error.hint });
      ending.end(1, error.code);
    },
    onAllEnded: () => ending.inputEnded(),
    stop: ending.signal,
    ...(options.extraTools ? { extraTools: options.extraTools } : {}),
    ...(options.connector ? { connector: options.connector } : {}),
    ...(options.wrapJournal ? { wrapJournal: options.wrapJournal } : {}),
  };
}

/** From the first message to the end; the daemon is closed by then, unless this rejects. */
async function serve(
  daemon: Daemon,
  options: RunOptions,
  { detected, screen, logger, ending, follower }: Omit<RunParts, 'found' | 'store' | 'secrets'> & { readonly detected: Detected },
): Promise<number> {
  const { config, stdio, message } = options;
  if (daemon.channels.channels.size === 0) throw noChannel(daemon);
  const token = randomBytes(32).toString('base64url');
  const routes = statusRoutes(daemon, systemClock.now(), { config: () => follower.status(), token });
  const listening = await listen(config.config.gateway.http, routes);
  await using _http = listening.http;
  await announce(options, { daemon, listening, token, detected, screen });
  using service = new ServiceManager({ env: options.ending ? {} : options.env, clock: systemClock, logger });
  await service.ready(`${daemon.channels.channels.size} channels`);
  await using _following = follower;
  follower.start(daemon);
  // Of this process too, and a daemon within another program leaves that alone.
  if (!options.ending) {
    freeCompilersAtOnce();
    void releaseMemory({ clock: systemClock, logger, isAtRest: () => daemon.lanes.isAtRest, signal: ending.signal });
  }
  // Of a person who leaves nothing is waited for; what is summarised then is begun again at the next turn.
  ending.whenInputEnds(() => (message === undefined ? daemon.gateway.idle() : daemon.gateway.done()));
  const code = await ending.code;
  logger.info('stopping', { reason: ending.reason });
  await service.stopping(ending.reason);
  if (stdio.stderr.isTTY && message === undefined) screen.stderr.write(stoppingText(ending.reason));
  // A change that is being taken is over before the parts close.
  await follower[Symbol.asyncDispose]();
  // After a failure of the journal nothing more can be recorded: waiting would change nothing.
  await daemon.close(ending.inOrder ? GRACE : NO_GRACE);
  return code;
}

function refuseDemo({ requireModel }: RunOptions, config: Config, { source, lines }: Detected): void {
  if (source !== 'demo' || !(requireModel || config.require_model)) return;
  // What was looked for and what to do next; the first line only says that the demo would answer.
  throw new GatehouseError('GH1104', 'no model is configured, and one is required', { hint: lines.slice(1).join('; ') });
}

function stoppingText(reason: string): string {
  return `stopping: ${reason}${reason === 'SIGINT' ? '; Ctrl-C again stops at once, and nothing is lost' : ''}\n`;
}

function isInteractive({ stdio, env, message }: RunOptions): boolean {
  return message === undefined && env['TERM'] !== 'dumb' && (stdio.stdin.isTTY ?? false) && (stdio.stdout.isTTY ?? false);
}

/**
 * Where a person talks to the agent, the log of each message would stand between question and answer:
 * warnings only, unless `-v`.
 */
function logLevel(options: RunOptions, level = options.config.config.log.level): LogLevel {
  if (options.verbose) return 'debug';
  return isQuiet(options, level) ? 'warn' : level;
}

function isQuiet({ stdio, config: { config }, quiet, verbose }: RunOptions, level = config.log.level): boolean {
  const talking = quiet || (stdio.stderr.isTTY === true && config.gateway.channels.some(({ type }) => type === 'cli'));
  return talking && !verbose && level === 'info';
}

/** By the locale; a terminal of Windows and of macOS has UTF-8 whatever it says. */
function isUtf8(env: RunOptions['env']): boolean {
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'];
  return process.platform === 'win32' || process.platform === 'darwin' || /utf-?8/i.test(locale ?? '');
}

function terminal(options: RunOptions, screen: Screen): Terminal {
  const { stdio, dataDir, message, env } = options;
  const once = message === undefined ? {} : { message };
  return {
    input: stdio.stdin,
    output: stdio.stdout,
    interactive: isInteractive(options),
    colors: !env['NO_COLOR'],
    unicode: isUtf8(env),
    historyFile: join(dataDir, 'history'),
    onPrompt: screen.onPrompt,
    tell: (line) => screen.say(`! ${line}\n`),
    ...once,
  };
}

function noChannel({ channels }: Daemon): GatehouseError {
  // The code stands in front of the whole.
  const why = channels.status().map(({ name, detail }) => `${name}: ${detail?.replace(/^GH1101: /, '') ?? 'failed'}`);
  return why.length === 0
    ? new GatehouseError('GH1101', 'gateway.channels is empty, so there is nothing to do', {
        hint: 'add {"type": "cli"}, or see `gatehouse init`',
      })
    : new GatehouseError('GH1101', `no channel could be started: ${why.join('; ')}`, {
        hint: 'mend what is named above and start again',
      });
}

interface Announced {
  readonly daemon: Daemon;
  readonly listening: Listening;
  readonly token: string;
  readonly detected: Detected;
  readonly screen: Screen;
}

async function announce(options: RunOptions, { daemon, listening, token, detected, screen }: Announced): Promise<void> {
  const { http } = listening;
  const about: DaemonRecord = {
    pid: process.pid,
    host: http.host,
    port: http.port,
    startedAt: systemClock.now(),
    version: packageVersion(),
    token,
  };
  await writeFileAtomic(join(options.dataDir, 'daemon.json'), `${JSON.stringify(about)}\n`, { mode: 0o600 });
  await keepConfigPath(options);
  if (options.message !== undefined) return;
  const hints = [
    ...(isInteractive(options) ? ['type a message, or /help; Ctrl-C stops'] : []),
    ...(isQuiet(options) ? ['only warnings are logged here; start with -v to see every step'] : []),
  ];
  const { dataDir } = options;
  // `performance.now()` counts from the start of the process: what a person waits for.
  const tookMs = performance.now();
  screen.say(readyText({ daemon, listening, modelLines: detected.lines, dataDir, tookMs, now: about.startedAt, hints }));
}

/**
 * For commands that are called from another directory. What comes through a pipe is no file to be read again.
 */
async function keepConfigPath({ dataDir, config: { file } }: RunOptions): Promise<void> {
  if (
    file === undefined ||
    !(await stat(file).then(
      (it) => it.isFile(),
      () => false,
    ))
  )
    return;
  await writeFileAtomic(lastConfigPath(dataDir), `${file}\n`, { mode: 0o600 });
}
