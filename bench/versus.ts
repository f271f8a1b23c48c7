// npm run bench:versus -- --base DIR: is this checkout slower than an earlier one? Both run each benchmark in
// turn, each first in every second round, so that what else the machine does falls on both; the medians are
// compared.
//
//   --base DIR   a checkout of the earlier commit, after `npm ci && npm run build` there. It runs its own
//                benchmarks: where one of them was mended since, copy the mended file there first.
//   --runs N     of each checkout (default 5)
//   --only NAME  as of `npm run bench`; repeatable
//   --keep FILE  adds what is measured to this file and counts what it holds already, so that a comparison
//                can be done in pieces; the file belongs to these two commits
//   --json       one JSON document instead of the table
//
// Exit code 1 when a figure that has a limit is more than 5 % worse.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { type Figure, toShort } from './figure.ts';
import { median } from './statistics.ts';

const WORSE_AT_MOST = 0.05;
const HERE = join(import.meta.dirname, '..');
/** `main.ts` ends by itself before. */
const LONGEST_MS = 50 * 60_000;
const MOST_OUTPUT = 64 * 1024 * 1024;
const SIDES = ['base', 'here'] as const;
type Side = (typeof SIDES)[number];

interface Run {
  readonly side: Side;
  readonly only: string;
  readonly figures: readonly Figure[];
}

interface Compared {
  readonly bench: string;
  readonly name: string;
  readonly unit: string;
  readonly base: number;
  readonly here: number;
  /** Of the base; more is worse, whichever way the figure points. Undefined where it has no limit. */
  readonly worse: number | undefined;
  readonly runs: Readonly<Record<Side, readonly number[]>>;
}

const NAMES = ['start', 'latency', 'throughput', 'slow-model', 'model-calls', 'channels', 'ledger', 'slow-disk', 'soak'];

const { values: flags } = parseArgs({
  options: {
    base: { type: 'string' },
    runs: { type: 'string', default: '5' },
    only: { type: 'string', multiple: true, default: NAMES },
    keep: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});

function refuse(text: string): never {
  process.stderr.write(`${text}\n`);
  process.exit(2);
}

const runs = Number(flags.runs);
if (!Number.isSafeInteger(runs) || runs < 1) refuse('--runs needs a whole number from 1 on');
if (flags.base === undefined) refuse('--base is missing: the checkout to compare with');
const trees: Readonly<Record<Side, string>> = { base: resolve(flags.base), here: HERE };
for (const tree of Object.values(trees))
  if (!existsSync(join(tree, 'dist/src/cli/main.js'))) refuse(`${tree} has no dist/; run \`npm ci && npm run build\` there`);

async function measure(side: Side, only: string): Promise<Run> {
  const args = ['--import', './src/cli/node-guard.mjs', 'bench/main.ts', '--json', '--only', only];
  // A limit that is missed ends it with 1, after the document.
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: trees[side],
    timeout: LONGEST_MS,
    maxBuffer: MOST_OUTPUT,
  }).catch((error: Error & { code?: unknown; stdout?: string }) => {
    if (error.code === 1 && error.stdout) return { stdout: error.stdout };
    throw error;
  });
  const { figures } = JSON.parse(stdout) as { figures: readonly Figure[] };
  return { side, only, figures };
}

function compare(all: readonly Run[]): Compared[] {
  const found = new Map<string, Record<Side, Figure[]>>();
  for (const { side, figures } of all)
    for (const figure of figures) {
      const key = `${figure.bench} ${figure.name}`;
      const both = found.get(key) ?? { base: [], here: [] };
      both[side].push(figure);
      found.set(key, both);
    }
  return [...found.values()].flatMap(({ base, here }): Compared[] => {
    const figure = here[0];
    if (!figure || base.length === 0) return [];
    const values = { base: base.map(({ value }) => value), here: here.map(({ value }) => value) };
    const [before, now] = [median(values.base), median(values.here)];
    const limit = figure.limit ?? base[0]?.limit;
    const worse = limit && ('atMost' in limit ? now - before : before - now) / Math.abs(before);
    const { bench, name, unit } = figure;
    // 0 of 0 is as good as before.
    return [
      { bench, name, unit, base: before, here: now, worse: worse !== undefined && now === before ? 0 : worse, runs: values },
    ];
  });
}

/** A figure that could not be measured is worse. */
function isWorse({ worse }: Compared): boolean {
  return worse !== undefined && !(worse <= WORSE_AT_MOST);
}

function toLine(compared: Compared): string {
  const { bench, name, unit, base, here, worse, runs: each } = compared;
  const change = worse === undefined ? '' : `${worse > 0 ? '+' : ''}${(worse * 100).toFixed(1)} %`;
  const result = worse === undefined ? '' : isWorse(compared) ? 'WORSE' : 'ok';
  const list = (side: Side): string => each[side].map(toShort).join(' ');
  const cells = [bench.padEnd(11), name.padEnd(32), `${toShort(base)} → ${toShort(here)} ${unit}`.padEnd(24)];
  return [...cells, change.padStart(8), result.padEnd(5), `${list('base')} | ${list('here')}`].join('  ');
}

const all: Run[] = [];
if (flags.keep !== undefined && existsSync(flags.keep)) {
  const lines = (await readFile(flags.keep, 'utf8')).split('\n').filter((line) => line !== '');
  all.push(...lines.map((line) => JSON.parse(line) as Run));
}
const countOf = (side: Side, only: string): number => all.filter((run) => run.side === side && run.only === only).length;
for (let round = 1; round <= runs; round += 1) {
  for (const only of flags.only) {
    // In turn first: what comes second is slower on a machine that gets slower under load.
    for (const side of round % 2 === 1 ? SIDES : SIDES.toReversed()) {
      if (countOf(side, only) >= round) continue;
      process.stderr.write(`round ${round} of ${runs}: ${only}, ${side} …\n`);
      const run = await measure(side, only);
      all.push(run);
      if (flags.keep !== undefined) await appendFile(flags.keep, `${JSON.stringify(run)}\n`);
    }
  }
}
const compared = compare(all.filter(({ only }) => flags.only.includes(only)));
const worse = compared.filter(isWorse);
if (flags.json) process.stdout.write(`${JSON.stringify({ passed: worse.length === 0, figures: compared }, null, 2)}\n`);
else
  process.stdout.write(
    `${compared.map(toLine).join('\n')}\n\n${worse.length} of ${compared.length} figures worse by more than 5 %\n`,
  );
process.exit(worse.length === 0 ? 0 : 1);
