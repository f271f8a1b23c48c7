// npm run bench: is it as fast and as small as we say? Prints every figure with its limit; the exit code is
// 1 when one is missed.
//
//   --only NAME   throughput, latency, slow-model, model-calls, tool-calls, tool-memory, channels, commands,
//                 worker-memory, start, ledger, record, scale, slow-disk, soak; repeatable
//   --json        one JSON document instead of the table
//   --write       also puts the figures into bench/README.md
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measureChannels } from './channels.ts';
import { measureCommands } from './commands.ts';
import { type Figure, passes, toTable } from './figure.ts';
import { measureLedger } from './ledger.ts';
import { describeMachine } from './machine.ts';
import { measureLatency, measureSlowModel, measureThroughput } from './message-path.ts';
import { measureModelCalls } from './model-calls.ts';
import { writeReadme } from './readme.ts';
import { measureRecord } from './record.ts';
import { measureScale } from './scale.ts';
import { measureSlowDisk } from './slow-disk.ts';
import { measureSoak } from './soak.ts';
import { measureStart } from './start.ts';
import { measureToolCalls } from './tool-calls.ts';
import { measureToolMemory } from './tool-memory.ts';
import { measureWorkerMemory } from './worker-memory.ts';

const BENCHES: Readonly<Record<string, () => Promise<Figure[]>>> = {
  start: measureStart,
  latency: measureLatency,
  throughput: measureThroughput,
  'slow-model': measureSlowModel,
  'model-calls': measureModelCalls,
  'tool-calls': measureToolCalls,
  'tool-memory': measureToolMemory,
  'worker-memory': measureWorkerMemory,
  channels: measureChannels,
  commands: measureCommands,
  ledger: measureLedger,
  record: measureRecord,
  scale: measureScale,
  'slow-disk': measureSlowDisk,
  soak: measureSoak,
};
/** Everything together takes about twenty minutes; whatever hangs ends here. */
const LONGEST_MS = 45 * 60_000;

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: Object.keys(BENCHES) },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});

function refuse(text: string): never {
  process.stderr.write(`${text}\n`);
  process.exit(2);
}

const unknown = flags.only.find((name) => !(name in BENCHES));
if (unknown) refuse(`there is no benchmark "${unknown}"; there are ${Object.keys(BENCHES).join(', ')}`);
if (flags.write && flags.only.length < Object.keys(BENCHES).length) refuse('--write needs all figures; leave --only out');
if (!existsSync(join(import.meta.dirname, '../dist/src/cli/main.js'))) refuse('dist/ is missing; run `npm run build`');
setTimeout(() => refuse('the benchmark did not come to its end'), LONGEST_MS).unref();

const machine = await describeMachine();
const figures: Figure[] = [];
if (!flags.json) process.stdout.write(`${machine}\n`);
for (const name of flags.only) {
  process.stderr.write(`${name} …\n`);
  try {
    figures.push(...((await BENCHES[name]?.()) ?? []));
  } catch (error) {
    // A benchmark that fails counts as missed and leaves the others their turn.
    const note = error instanceof Error ? error.message : String(error);
    figures.push({ bench: name, name: 'failed', value: Number.NaN, unit: '', limit: { atLeast: 0 }, note });
  }
}
const missed = figures.filter((figure) => !passes(figure));
const document = { machine, processors: availableParallelism(), node: process.version, passed: missed.length === 0, figures };
process.stdout.write(flags.json ? `${JSON.stringify(document, null, 2)}\n` : `\n${toTable(figures)}\n`);
if (flags.write) await writeReadme({ machine, figures });
process.exit(missed.length === 0 ? 0 : 1);
