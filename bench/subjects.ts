// The processes of one setup: Telegram server, model server, and the program under test.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Child } from './child.ts';
import { isFailure, type Load, type LoadAnswer, type LoadResult } from './load.ts';

export const ROOT = join(import.meta.dirname, '..');
export const SECRETS = { BENCH_BOT_TOKEN: '', BENCH_MODEL_KEY: 'sk-bench' };

export type DaemonBuild = 'dist' | 'sources';
export type BotMode = 'in-turn' | 'at-once' | 'ten-at-once';

export interface Platform extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  /** Rejects when an answer is missing, doubled or wrong. */
  run(load: Load): Promise<LoadResult>;
}

export async function startPlatform(): Promise<Platform> {
  const child = new Child({ args: [join(ROOT, 'bench/telegram-process.ts')] });
  const [, url = '', token = ''] = await child.waitFor(/listening (\S+) (\S+)\n/);
  return {
    url,
    token,
    async run(load) {
      const answer = await child.ask<LoadAnswer>(load, load.timeoutMs + 5_000);
      if (isFailure(answer)) throw new Error(answer.error);
      return answer;
    },
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

export interface ModelProcess extends AsyncDisposable {
  readonly baseUrl: string;
}

export async function startModel(latencyMs: number): Promise<ModelProcess> {
  const child = new Child({ args: [join(ROOT, 'src/testing/model-server.ts'), '--port', '0', '--latency', String(latencyMs)] });
  const [, url = ''] = await child.waitFor(/(http:\S+)\n/);
  return { baseUrl: `${url}/v1`, [Symbol.asyncDispose]: () => child[Symbol.asyncDispose]() };
}

export function startBareBot(options: { platform: Platform; model: ModelProcess; mode: BotMode }): Child {
  const { platform, model, mode } = options;
  return new Child({
    args: [join(ROOT, 'bench/bare-bot.ts'), platform.url, model.baseUrl, mode],
    env: { ...SECRETS, BENCH_BOT_TOKEN: platform.token },
  });
}

/** The ready line names the health address; both together say that it is up. */
export const DAEMON_READY = /ready in [\s\S]*?(http:\S+)\/healthz/;
export const BOT_READY = /ready\n/;

export interface DaemonOptions {
  readonly platform: Platform;
  readonly model: ModelProcess;
  /** Config and data live here. */
  readonly dir: string;
  readonly build: DaemonBuild;
  /** Compiled code is kept here between starts. */
  readonly compileCache: string;
  /** In front of everything else. */
  readonly nodeArgs?: readonly string[];
  /** Beside the secrets. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The real program with an operator's config. Only the rate limits of the real platform are off. */
export async function startDaemon(options: DaemonOptions): Promise<Child> {
  const { platform, model, dir, build, compileCache, nodeArgs = [], env = {} } = options;
  const config = join(dir, 'config.json');
  await writeFile(config, JSON.stringify(daemonConfig(platform, model)));
  return new Child({
    args: [...nodeArgs, ...(await commandLine(build)), '--config', config, '--data-dir', join(dir, 'data')],
    cwd: ROOT,
    env: { ...SECRETS, BENCH_BOT_TOKEN: platform.token, NODE_COMPILE_CACHE: compileCache, ...env },
  });
}

/**
 * The command of an operator: the built package with the Node options of the service unit, the sources with
 * those of `npm start`.
 */
export async function commandLine(build: DaemonBuild): Promise<readonly string[]> {
  if (build === 'sources') {
    const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
    return (scripts['start'] ?? '').split(' ').slice(1);
  }
  const unit = await readFile(join(ROOT, 'systemd/gatehouse.service'), 'utf8');
  const options = /^ExecStart=\S+((?: --\S+)*) /m.exec(unit)?.[1] ?? '';
  return [...options.split(' ').slice(1), 'dist/src/cli/main.js', 'gateway'];
}

function daemonConfig(platform: Platform, model: ModelProcess): object {
  const settings = { token_env: 'BENCH_BOT_TOKEN', api_root: platform.url, rate_limits: false };
  return {
    version: 1,
    provider: 'openai',
    model: 'bench',
    base_url: model.baseUrl,
    api_key_env: 'BENCH_MODEL_KEY',
    gateway: { channels: [{ type: 'telegram', allowed_senders: ['*'], settings }], http: { port: 0 } },
  };
}

export interface WorkDir extends AsyncDisposable {
  readonly path: string;
  /** A new directory below. */
  make(name: string): Promise<string>;
}

/** On the disk of the system's temporary files; set TMPDIR to measure another. */
export async function makeWorkDir(): Promise<WorkDir> {
  const path = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'));
  return {
    path,
    async make(name) {
      await mkdir(join(path, name), { recursive: true });
      return join(path, name);
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 3 }),
  };
}
