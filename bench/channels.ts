// What each channel costs: to have it, to receive with it, to write in its dialect.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CHANNELS } from '../channels/registry.ts';
import { freePort } from '../src/simulator/free-port.ts';
import { FORGETFUL, PLATFORMS } from '../src/simulator/platforms/index.ts';
import type { Platform } from '../src/simulator/platforms/platform.ts';
import type { ChannelWork } from './channel-load.ts';
import { Child, residentMb } from './child.ts';
import { type Figure, toShort } from './figure.ts';
import { median, percentile } from './statistics.ts';
import { commandLine, DAEMON_READY, makeWorkDir, ROOT, SECRETS, startModel, type WorkDir } from './subjects.ts';

const bench = 'channels';
const RUNS = 5;
/** From ready to the look at the memory. */
const SETTLE_MS = 2_000;
const TIMEOUT_MS = 180_000;
/** The one channel that every daemon here has: it loads no package and connects to nothing. */
const BASE = 'cli';

export async function measureChannels(): Promise<Figure[]> {
  await using work = await makeWorkDir();
  return [...(await measureWork(work)), ...(await measureHaving(work))];
}

async function measureWork(work: WorkDir): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const type of Object.keys(CHANNELS)) {
    const args = [join(import.meta.dirname, 'channel-work.ts'), type, await work.make(`work-${type}`)];
    await using child = new Child({ args });
    // The line may be longer than what is kept of the output.
    const { receiveMs, parseMs, renderMs } = await child.next<ChannelWork>(TIMEOUT_MS);
    const tail = (values: readonly number[]): string => `p95 ${toShort(percentile(values, 0.95))}, ${values.length} times`;
    const parsing = `of that ${percentile(parseMs, 0.5).toFixed(2)} ms the adapter's`;
    figures.push(
      {
        ...{ bench, name: `${type}: receive p50`, value: percentile(receiveMs, 0.5), unit: 'ms', limit: { atMost: 1.5 } },
        note: `${parsing}; ${tail(receiveMs)}`,
      },
      {
        ...{ bench, name: `${type}: render p50`, value: percentile(renderMs, 0.5), unit: 'ms', limit: { atMost: 1 } },
        note: tail(renderMs),
      },
    );
  }
  return figures;
}

interface Start {
  readonly readyMs: number;
  readonly idleMb: number;
}

/** Rounds take turns, so that what else the machine does falls on all alike. */
async function measureHaving(work: WorkDir): Promise<Figure[]> {
  await using resources = new AsyncDisposableStack();
  const model = resources.use(await startModel(0));
  const webhookPort = await freePort();
  const platforms = new Map<string, Platform>();
  for (const type of Object.keys(CHANNELS)) {
    const start = type === BASE ? undefined : (PLATFORMS[type] ?? FORGETFUL[type]);
    if (start) platforms.set(type, resources.use(await start({ webhookPort })));
  }
  const starts = new Map<string, Start[]>();
  // The first round of each fills the cache of compiled code and is not counted.
  for (let run = 0; run <= RUNS; run += 1) {
    for (const type of [BASE, ...platforms.keys()]) {
      const start = await startOnce({ work, baseUrl: model.baseUrl, webhookPort, platform: platforms.get(type) }, type, run);
      if (run > 0) starts.set(type, [...(starts.get(type) ?? []), start]);
    }
  }
  const base = summary(starts.get(BASE));
  const without = Object.keys(CHANNELS).filter((type) => type !== BASE && !platforms.has(type));
  const note = `medians of ${RUNS}${without.length === 0 ? '' : `; no double to connect to: ${without.join(', ')}`}`;
  const figures: Figure[] = [
    { bench, name: 'terminal alone: start', value: base.readyMs, unit: 'ms', note },
    {
      bench,
      name: 'terminal alone: memory',
      value: base.idleMb,
      unit: 'MB',
      note: `resident, ${SETTLE_MS / 1_000} s after ready`,
    },
  ];
  for (const type of platforms.keys()) {
    const own = summary(starts.get(type));
    const [start, memory] = [own.readyMs - base.readyMs, own.idleMb - base.idleMb];
    figures.push(
      { bench, name: `${type}: added start`, value: start, unit: 'ms', note: `to ${toShort(own.readyMs)} ms` },
      { bench, name: `${type}: added memory`, value: memory, unit: 'MB', note: `to ${toShort(own.idleMb)} MB` },
    );
  }
  return figures;
}

interface Having {
  readonly work: WorkDir;
  readonly baseUrl: string;
  readonly webhookPort: number;
  readonly platform: Platform | undefined;
}

/** The built daemon with the terminal and, if it is another, one channel more. */
async function startOnce({ work, baseUrl, webhookPort, platform }: Having, type: string, run: number): Promise<Start> {
  const dir = await work.make(`${type}-${run}`);
  const dataDir = join(dir, 'data');
  await platform?.begin(dataDir);
  const channels = [{ type: BASE }, ...(platform ? [platform.channel] : [])];
  const gateway = { channels, http: { port: 0 }, webhooks: { port: webhookPort } };
  const config = join(dir, 'config.json');
  const provider = { provider: 'openai', model: 'bench', base_url: baseUrl, api_key_env: 'BENCH_MODEL_KEY' };
  await writeFile(config, JSON.stringify({ version: 1, ...provider, gateway }));
  await using child = new Child({
    args: [...(await commandLine('dist')), '--config', config, '--data-dir', dataDir],
    cwd: ROOT,
    env: { ...SECRETS, ...platform?.env, NODE_COMPILE_CACHE: await work.make(`cache-${type}`) },
    openInput: true,
  });
  await child.waitFor(DAEMON_READY);
  const readyMs = performance.now() - child.startedAt;
  await sleep(SETTLE_MS);
  return { readyMs, idleMb: await residentMb(child.pid) };
}

function summary(starts: readonly Start[] = []): Start {
  return { readyMs: median(starts.map(({ readyMs }) => readyMs)), idleMb: median(starts.map(({ idleMb }) => idleMb)) };
}
