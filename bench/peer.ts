// npm run bench:peer -- --openclaw DIR: start and idle memory beside OpenClaw, in turns on this machine.
//
//   --openclaw DIR  where `npm i openclaw` was run. It runs without a channel; Gatehouse has Telegram.
//   --runs N        of each (default 5)
//
// Ready is the first answer of /healthz with 200. Memory is what the largest process has resident five
// seconds later, so that helpers of OpenClaw count for nothing.
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from '../src/simulator/free-port.ts';
import { Child, residentMb } from './child.ts';
import { toShort } from './figure.ts';
import { median } from './statistics.ts';
import { DAEMON_READY, makeWorkDir, type Platform, startDaemon, startModel, startPlatform } from './subjects.ts';

const IDLE_MS = 5_000;
const PATIENCE_MS = 60_000;

const { values: flags } = parseArgs({ options: { openclaw: { type: 'string' }, runs: { type: 'string', default: '5' } } });
const runs = Number(flags.runs);
if (flags.openclaw === undefined || !Number.isInteger(runs) || runs < 1) {
  process.stderr.write('write npm run bench:peer -- --openclaw DIR, after `npm i openclaw` in DIR\n');
  process.exit(2);
}
const openclaw = resolve(flags.openclaw);

interface Figures {
  readonly readyMs: number;
  readonly memoryMb: number;
}

async function healthy(url: string): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const isUp = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return;
    if (performance.now() > end) throw new Error(`${url} does not answer`);
    await sleep(10);
  }
}

async function memoryOf(pid: number): Promise<number> {
  let most = await residentMb(pid);
  for (const thread of await readdir(`/proc/${pid}/task`).catch(() => [])) {
    const children = await readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '');
    for (const child of children.trim().split(' ').filter(Boolean)) most = Math.max(most, await memoryOf(Number(child)));
  }
  return most;
}

async function measure(begin: () => Promise<{ readonly child: Child; readonly url: () => Promise<string> }>): Promise<Figures> {
  const begun = performance.now();
  const { child, url } = await begin();
  await using _ended = child;
  await healthy(await url());
  const readyMs = performance.now() - begun;
  await sleep(IDLE_MS);
  return { readyMs, memoryMb: await memoryOf(child.pid) };
}

async function gatehouse(platform: Platform, model: Awaited<ReturnType<typeof startModel>>, dirs: readonly [string, string]) {
  const [dir, compileCache] = dirs;
  const child = await startDaemon({ platform, model, dir, build: 'dist', compileCache });
  return { child, url: async () => `${(await child.waitFor(DAEMON_READY))[1]}/healthz` };
}

async function peer(home: string) {
  const port = await freePort();
  const program = join(openclaw, 'node_modules/openclaw/openclaw.mjs');
  const how = ['--allow-unconfigured', '--bind', 'loopback', '--auth', 'none', '--port', String(port)];
  const child = new Child({ args: [program, 'gateway', 'run', ...how], env: { HOME: home, NODE_ENV: 'production' } });
  return { child, url: async () => `http://127.0.0.1:${port}/healthz` };
}

await using work = await makeWorkDir();
await using model = await startModel(0);
await using platform = await startPlatform();
const cache = await work.make('cache');
const home = await work.make('home');
const found: { readonly ours: Figures[]; readonly theirs: Figures[] } = { ours: [], theirs: [] };
for (let run = 0; run <= runs; run += 1) {
  process.stderr.write(`round ${run} of ${runs}${run === 0 ? ', which fills the caches' : ''} …\n`);
  const dir = await work.make(`daemon-${run}`);
  await mkdir(dir, { recursive: true });
  const [ours, theirs] = [await measure(() => gatehouse(platform, model, [dir, cache])), await measure(() => peer(home))];
  if (run === 0) continue;
  found.ours.push(ours);
  found.theirs.push(theirs);
}
const { version } = JSON.parse(await readFile(join(openclaw, 'node_modules/openclaw/package.json'), 'utf8')) as {
  version: string;
};
for (const [name, figures] of [
  ['gatehouse', found.ours],
  [`openclaw ${version}`, found.theirs],
] as const) {
  const of = (key: keyof Figures): string => {
    const values = figures.map((one) => one[key]);
    return `${toShort(median(values))} (${values.map(toShort).join(' ')})`;
  };
  process.stdout.write(`${name.padEnd(20)} ready after ${of('readyMs')} ms, idle ${of('memoryMb')} MB\n`);
}
