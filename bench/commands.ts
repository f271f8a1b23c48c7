// How long an operator waits for a command, beside a daemon with a month of 10,000 messages a day: whole
// processes, as a shell starts them.
import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Figure } from './figure.ts';
import { aboutMonth, writeMonth } from './record.ts';
import { median, percentile } from './statistics.ts';
import { DAEMON_READY, makeWorkDir, ROOT, SECRETS, startDaemon, startModel, startPlatform } from './subjects.ts';

const BENCH = 'commands';
const TIMES = 9;
const LIMIT_MS = 200;
const DOCTOR_MS = 3_000;

interface Subject {
  readonly name: string;
  readonly args: readonly string[];
  readonly limitMs: number;
  /** What it must print, so that an error is not timed. */
  readonly prints: RegExp;
}

const quick = (name: string, args: readonly string[], prints: RegExp): Subject => ({ name, args, limitMs: LIMIT_MS, prints });
const SUBJECTS: readonly Subject[] = [
  quick('status', ['status'], /telegram/),
  quick('why last', ['why', 'last'], /answered/),
  quick('trace last', ['trace', 'last'], /model/),
  quick('logs', ['logs'], /telegram/),
  quick('complete a command', ['complete', '--line', 'gatehouse st'], /status/),
  quick('complete a message', ['complete', '--line', 'gatehouse why '], /last/),
  quick('complete a channel', ['complete', '--line', 'gatehouse channels test '], /telegram/),
  { name: 'doctor', args: ['doctor'], limitMs: DOCTOR_MS, prints: /journal/ },
];

export async function measureCommands(): Promise<Figure[]> {
  await using resources = new AsyncDisposableStack();
  const work = resources.use(await makeWorkDir());
  const [model, platform] = [resources.use(await startModel(0)), resources.use(await startPlatform())];
  const [dir, compileCache] = [await work.make('month'), await work.make('cache')];
  const data = join(dir, 'data');
  await mkdir(data, { mode: 0o700 });
  await writeMonth(data);
  const daemon = resources.use(await startDaemon({ platform, model, dir, build: 'dist', compileCache }));
  await daemon.waitFor(DAEMON_READY);
  const files = ['--config', join(dir, 'config.json'), '--data-dir', data];
  const env = { ...SECRETS, BENCH_BOT_TOKEN: platform.token, NODE_COMPILE_CACHE: compileCache };
  const bare = await timesOf(['-e', '0'], env);
  const figures: Figure[] = [];
  for (const { name, args, limitMs, prints } of SUBJECTS) {
    const times = await timesOf([join(ROOT, 'dist/src/cli/main.js'), ...args, ...files], env, prints);
    const note = `median of ${TIMES}, p95 ${percentile(times, 0.95).toFixed(0)} ms, the whole process; \`node -e 0\` ${median(bare).toFixed(0)} ms; ${aboutMonth(data)}`;
    figures.push({ bench: BENCH, name, value: median(times), unit: 'ms', limit: { atMost: limitMs }, note });
  }
  return figures;
}

/** After one that fills the compile cache. */
async function timesOf(args: readonly string[], env: Readonly<Record<string, string>>, prints = /(?:)/): Promise<number[]> {
  await run(args, env, prints);
  const times: number[] = [];
  for (let n = 0; n < TIMES; n += 1) {
    const began = performance.now();
    await run(args, env, prints);
    times.push(performance.now() - began);
  }
  return times;
}

function run(args: readonly string[], env: Readonly<Record<string, string>>, prints: RegExp): Promise<void> {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, args, { env: { PATH, HOME, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += String(chunk)));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  child.once('error', reject);
  // Any exit code: doctor and status tell by theirs what they found.
  child.once('close', () => (prints.test(output) ? resolve() : reject(new Error(`${args.join(' ')} printed ${output}`))));
  return promise;
}
