import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CHANNELS } from '../../channels/registry.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { Terminal } from '../core/channel.ts';
import { errorText, GatehouseError } from '../core/errors.ts';
import type { Emit } from '../core/events.ts';
import type { Journal } from '../core/journal.ts';
import type { Logger } from '../core/ports.ts';
import type { DaemonRecord } from '../core/status.ts';
import type { Tool } from '../core/tool.ts';
import { type HttpServer, startHttpServer } from '../http/server.ts';
import { lockDataDir } from '../journal/lock.ts';
import { writeFileAtomic } from '../lib/atomic-file.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger } from '../lib/log.ts';
import { packageVersion } from '../lib/package-info.ts';
import { createRedactor } from '../lib/redact.ts';
import { createModel } from '../llm/create.ts';
import { type Detected, detectModel } from '../llm/detect.ts';
import type { Registry } from './channels.ts';
import { type Daemon, makeDataDir, startDaemon } from './daemon.ts';
import { followConfig } from './follow-config.ts';
import { readyText } from './ready-text.ts';
import { statusRoutes } from './status.ts';

export interface Stdio {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean };
}

export interface RunOptions {
  readonly config: LoadedConfig;
  readonly dataDir: string;
  readonly stdio: Stdio;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly requireModel: boolean;
  readonly verbose: boolean;
  /** One message instead of the terminal's input; the ready text is left out. */
  readonly message?: string;
  /** Sees every event of the run. */
  readonly observe?: Emit;
  /** Reads the config file again; given together with `config.file`, changes are followed while the daemon runs (F40). */
  readonly reload?: () => Promise<LoadedConfig>;
  /** How often the config file is looked at. Default: that of `watchConfig`. */
  readonly reloadEveryMs?: number;
  /** Tests put in their own channel, a tool, or a journal that breaks. */
  readonly registry?: Registry;
  readonly extraTools?: readonly Tool[];
  readonly wrapJournal?: (journal: Journal) => Journal;
}

/** Exit codes of `gateway`: 0 stopped or input ended, 1 failed, 78 the configuration cannot work (sysexits EX_CONFIG). */
const EX_CONFIG = 78;
/** Grace for turns and sends at the first SIGTERM; the service unit's stop time-out is longer. */
const GRACE = { turnsMs: 5_000, deliveryMs: 10_000 };

/** Runs the daemon until a signal, a fatal journal error, or the end of its only input. Resolves with the exit code. */
export async function runGateway(options: RunOptions): Promise<number> {
  const { config, env, stdio } = options;
  const clock = systemClock;
  const secrets = new Set<string>();
  const logger = createLogger({
    level: options.verbose ? 'debug' : config.config.log.level,
    destination: stdio.stderr,
    pretty: stdio.stderr.isTTY ?? false,
    secrets: () => [...secrets],
  });
  const secret = (variable: string): string => {
    const value = env[variable];
    if (!value)
      throw new GatehouseError('GH1103', `environment variable ${variable} is not set`, { hint: `export ${variable}=…` });
    secrets.add(value);
    return value;
  };

  await makeDataDir(options.dataDir);
  await using _lock = await lockDataDir(options.dataDir, clock);
  const detected = await detectModel({ config: modelConfig(config), env, fetch, clock, signal: AbortSignal.timeout(2_000) });
  const apiKey = detected.apiKey();
  if (apiKey) secrets.add(apiKey);
  if (detected.source === 'demo' && (options.requireModel || config.config.require_model)) {
    // What was looked for and what to do next; the first line only says that the demo would answer.
    throw new GatehouseError('GH1104', 'no model is configured, and one is required', {
      hint: detected.lines.slice(1).join('; '),
    });
  }

  const ending = new Ending();
  // From here on, not only once it serves: a channel may take its time to start.
  using _signals = ending.onSignals(logger);
  const daemon = await startDaemon({
    config: config.config,
    dataDir: options.dataDir,
    registry: options.registry ?? CHANNELS,
    model: createModel(detected, modelOptions(config, logger)),
    secret,
    redact: createRedactor(() => [...secrets]),
    terminal: terminal(options),
    ...(options.observe ? { observe: options.observe } : {}),
    clock,
    logger,
    onFatal: (error) => {
      logger.error('journal.fatal', { code: error.code, detail: errorText(error), hint: error.hint });
      ending.end(1);
    },
    onAllEnded: () => ending.inputEnded(),
    stop: ending.signal,
    ...(options.extraTools ? { extraTools: options.extraTools } : {}),
    ...(options.wrapJournal ? { wrapJournal: options.wrapJournal } : {}),
  });
  try {
    if (daemon.channels.channels.size === 0) {
      stdio.stderr.write('no channel could be started; see the lines above\n');
      return EX_CONFIG;
    }
    await using http = await listen(config, daemon, clock.now());
    // `performance.now()` counts from the start of the process: what a person waits for.
    await announce(options, daemon, http, detected, performance.now());
    await using _config = followConfig(options, daemon, clock, logger);
    ending.whenInputEnds(() => daemon.gateway.idle());
    const code = await ending.code;
    logger.info('stopping');
    await daemon.close(GRACE);
    return code;
  } finally {
    await daemon.close({ turnsMs: 0, deliveryMs: 0 });
    await rm(join(options.dataDir, 'daemon.json'), { force: true });
  }
}

/** Why the daemon ends; the first reason wins. */
class Ending {
  readonly code: Promise<number>;
  readonly #ended = new AbortController();
  #resolve: (code: number) => void = () => undefined;
  #inputEnded = false;
  #whenIdle: (() => Promise<void>) | undefined;

  constructor() {
    this.code = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Aborts as soon as there is a reason. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  end(code: number): void {
    this.#resolve(code);
    this.#ended.abort(new Error('the daemon is stopping'));
  }

  inputEnded(): void {
    this.#inputEnded = true;
    this.#check();
  }

  /** After EOF the last answer is still printed. */
  whenInputEnds(idle: () => Promise<void>): void {
    this.#whenIdle = idle;
    this.#check();
  }

  #check(): void {
    if (!this.#inputEnded || !this.#whenIdle) return;
    this.#whenIdle().then(
      () => this.end(0),
      () => this.end(1),
    );
  }

  /** First signal: stop in order. Second: end at once, which is as safe as a kill. */
  onSignals(logger: { warn(event: string): void }): Disposable {
    let signals = 0;
    const handle = (): void => {
      signals += 1;
      if (signals > 1) {
        logger.warn('stopped at once; unfinished work resumes at the next start');
        process.exit(1);
      }
      this.end(0);
    };
    process.on('SIGTERM', handle);
    process.on('SIGINT', handle);
    return {
      [Symbol.dispose]: () => {
        process.off('SIGTERM', handle);
        process.off('SIGINT', handle);
      },
    };
  }
}

function modelConfig({ config }: LoadedConfig): Parameters<typeof detectModel>[0]['config'] {
  const { provider, model, base_url, api_key_env, model_hints } = config;
  return { provider, model, base_url, api_key_env, context_window: model_hints?.context_window };
}

function modelOptions({ config }: LoadedConfig, logger: Logger): Parameters<typeof createModel>[1] {
  return {
    timeouts: { connectMs: config.gateway.llm_connect_timeout_secs * 1_000, totalMs: config.gateway.llm_timeout_secs * 1_000 },
    clock: systemClock,
    random: Math.random,
    onRetry: ({ model, failure, attempt, waitMs }) =>
      logger.warn('model.retry', { model, code: failure.code, detail: failure.message, attempt, waitMs }),
  };
}

function terminal({ stdio, dataDir, message }: RunOptions): Terminal {
  const interactive = message === undefined && (stdio.stdin.isTTY ?? false) && (stdio.stdout.isTTY ?? false);
  const once = message === undefined ? {} : { message };
  return { input: stdio.stdin, output: stdio.stdout, interactive, historyFile: join(dataDir, 'history'), ...once };
}

/** The configured port; the default port may be taken by another gatehouse, and then any free one will do. */
async function listen({ config }: LoadedConfig, daemon: Daemon, startedAt: number): Promise<HttpServer> {
  const { host, port } = config.gateway.http;
  const routes = statusRoutes(daemon, startedAt);
  try {
    return await startHttpServer({ host, port, routes });
  } catch (error) {
    if (port !== 7780 || !(error instanceof GatehouseError) || error.code !== 'GH1004') throw error;
    return await startHttpServer({ host, port: 0, routes });
  }
}

async function announce(
  options: RunOptions,
  daemon: Daemon,
  http: HttpServer,
  detected: Detected,
  tookMs: number,
): Promise<void> {
  const about: DaemonRecord = {
    pid: process.pid,
    host: http.host,
    port: http.port,
    startedAt: systemClock.now(),
    version: packageVersion(),
  };
  await writeFileAtomic(join(options.dataDir, 'daemon.json'), `${JSON.stringify(about)}\n`, { mode: 0o600 });
  if (options.message !== undefined) return;
  options.stdio.stderr.write(readyText({ daemon, http, modelLines: detected.lines, dataDir: options.dataDir, tookMs }));
}
