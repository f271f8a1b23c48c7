// What 200 turns at once cost in memory when each uses tools, beside the same turns without them; and when
// each is a task.
import { readFile } from 'node:fs/promises';
import { until } from '../src/testing/fakes.ts';
import { callPieces, messagesOf, stream, textPieces } from '../src/testing/model-server.ts';
import { telegramScene } from '../src/testing/telegram/scene.ts';
import type { Figure } from './figure.ts';
import { median } from './statistics.ts';

const bench = 'tool-memory';
const TURNS = 200;
const RUNS = 3;
const ANSWER = 'a line of the answer\n'.repeat(100);
const WORDS = 'a line of a file\n'.repeat(20);
/** What each turn does before its answer: a file written, and read twice. */
const CALLS = [
  { name: 'write_file', arguments: { path: 'a.txt', content: 'a line of a file\n'.repeat(20) } },
  { name: 'read_file', arguments: { path: 'a.txt' } },
  { name: 'list_dir', arguments: { path: '.' } },
  { name: 'read_file', arguments: { path: 'a.txt', start_line: 5 } },
];

/** Rounds of turns without tools that ask the model as often, with as much to read. */
const ROUNDS = CALLS.length + 1;

/** Of the work that is done as turns of conversations, and as tasks. */
const STEPS = 20;
/** Short, because five tasks run at once. */
const MODEL_MS = 20;
const RESULT = 'all of it is done';
const WORK_MS = 120_000;

/** Interleaved; of each kind the median of three peaks of resident memory, each of a daemon of its own. */
export async function measureToolMemory(): Promise<Figure[]> {
  const [plain, tools, turns, tasks]: [number[], number[], number[], number[]] = [[], [], [], []];
  for (let run = 0; run < RUNS; run += 1) {
    plain.push(await peakOf([]));
    tools.push(await peakOf(CALLS));
    turns.push(await peakOfWork('work'));
    tasks.push(await peakOfWork('/task work'));
  }
  const all = (peaks: readonly number[]): string => peaks.map((mb) => mb.toFixed(0)).join(', ');
  return [
    {
      ...{ bench, name: 'peak with tools / without', value: median(tools) / median(plain), unit: '', limit: { atMost: 1.15 } },
      note: `${TURNS} turns at once; ${all(tools)} MB with ${CALLS.length} calls each, ${all(plain)} MB without`,
    },
    {
      ...{ bench, name: 'peak as tasks / as turns', value: median(tasks) / median(turns), unit: '', limit: { atMost: 1.15 } },
      note: `${TURNS} at once of ${STEPS} steps each, ${MODEL_MS} ms model; ${all(tasks)} MB as tasks, ${all(turns)} MB as turns`,
    },
  ];
}

/** MB, of work that each person asks for at once in these words, and that is done by the same steps. */
async function peakOfWork(text: string): Promise<number> {
  const ids = Array.from({ length: TURNS }, (_, n) => n + 1);
  const steps = new Map<string, number>();
  await using at = await telegramScene({
    entry: { allowed_senders: ids.map(String) },
    gateway: { max_concurrent_sessions: TURNS },
    config: { tool_policy: { members: ['*'] }, tasks: { max_iterations: STEPS + 5 } },
    script: (request) => {
      // Not by the results in the request: older ones of a task are a summary.
      const whose = /piece \d+/.exec(messagesOf(request).find(({ role }) => role === 'user')?.content ?? '')?.[0] ?? '';
      const n = steps.get(whose) ?? 0;
      steps.set(whose, n + 1);
      if (n + 1 >= STEPS) return stream(textPieces(RESULT), { latencyMs: MODEL_MS });
      return stream(callPieces({ name: 'list_dir', arguments: { path: '.', n } }), { latencyMs: MODEL_MS });
    },
  });
  await using daemon = await at.spawn();
  const { pid } = await daemon.ready();
  for (const id of ids) at.platform.inject({ chat_id: id, from: { id }, text: `${text} piece ${id}` });
  const done = (): boolean => at.texts().filter((said) => said.includes(RESULT)).length >= TURNS;
  await until('all of it is done', done, WORK_MS);
  return await peakMb(pid);
}

/** MB. Every turn has made its calls and stands in the middle of its answer when the first may end. */
async function peakOf(calls: typeof CALLS): Promise<number> {
  const ids = Array.from({ length: TURNS }, (_, n) => n + 1);
  const open = Promise.withResolvers<void>();
  const rounds = calls.length === 0 ? ROUNDS : 1;
  let answering = 0;
  await using at = await telegramScene({
    entry: { allowed_senders: ids.map(String) },
    gateway: { max_concurrent_sessions: TURNS },
    script: (request) => {
      const call = calls[messagesOf(request).filter(({ role }) => role === 'tool').length];
      if (call) return stream(callPieces(call));
      answering += 1;
      if (answering === TURNS * rounds) open.resolve();
      if (answering <= TURNS * (rounds - 1)) return stream(textPieces(WORDS));
      return stream(textPieces(ANSWER, ANSWER), { held: { before: 2, until: open.promise } });
    },
  });
  await using daemon = await at.spawn();
  const { pid } = await daemon.ready();
  for (let round = 1; round <= rounds; round += 1) {
    for (const id of ids) at.platform.inject({ chat_id: id, from: { id }, text: 'work' });
    await daemon.settled(TURNS * round);
  }
  const answered = at.texts().filter((text) => text.includes('a line of the answer')).length;
  if (answered < TURNS) throw new Error(`${answered} of ${TURNS} turns were answered`);
  return await peakMb(pid);
}

async function peakMb(pid: number): Promise<number> {
  const kilobytes = /VmHWM:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1_000;
}
