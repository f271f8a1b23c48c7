// npm run load:tasks: 200 tasks of 20 steps are accepted at once on a model that takes 200 ms, while people
// chat. The chat's p95 must be at most 1.2 × that of the same chat without tasks, a step may cost 3 ms beside
// its model call (median), and until all are done the process may grow to 1.15 × its largest size under the
// same load without tasks: as many model calls, as often, all of the chat. The daemon is real, its channel
// and its model are in this process. Exit code 1 when a limit is missed.
//
//   --tasks N     (default 200)
//   --steps N     model calls of each (default 20)
//   --model-ms N  (default 200)
//   --messages N  of the chat in each phase (default 200)
import { parseArgs } from 'node:util';
import type { ModelRequest } from '../../core/model.ts';
import { systemClock } from '../../lib/clock.ts';
import { TaskBook } from '../../tasks/book.ts';
import { tempDir, until } from '../fakes.ts';
import { scriptedModel } from '../scripted-model.ts';
import { TestChannel } from '../test-channel.ts';
import { testDaemon } from '../test-daemon.ts';
import { OPEN_TO_ALL } from '../waiting-tools.ts';

const { values: flags } = parseArgs({
  options: {
    tasks: { type: 'string', default: '200' },
    steps: { type: 'string', default: '20' },
    'model-ms': { type: 'string', default: '200' },
    messages: { type: 'string', default: '200' },
  },
});
const [tasks, steps, modelMs, messages] = [flags.tasks, flags.steps, flags['model-ms'], flags.messages].map(Number) as [
  number,
  number,
  number,
  number,
];

const PEOPLE = 20;
/** Between two messages of the chat: five a second. */
const EVERY_MS = 200;
/** The default of `tasks.max_running`. */
const TASKS_AT_ONCE = 5;
const MOST_RATIO = 1.2;
const MOST_STEP_MS = 3;
const MOST_RSS = 1.15;
/** Between two looks at the size of the process. */
const LOOK_MS = 100;
const OPERATOR = { principal: 'cli:local', role: 'owner', mode: 'full', policies: [] } as const;

const say = (text: string): void => void process.stderr.write(`${text} …\n`);
const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const quantile = (values: readonly number[], q: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * q)] ?? Number.NaN;

const isTask = ({ messages: lines }: ModelRequest): boolean => lines.some(({ content }) => content.startsWith('[Task "'));

/** When the calls of a task began and ended, by its words: what lies between two of them is ours. */
const between: number[] = [];
const ended = new Map<string, number>();

async function answer(request: ModelRequest) {
  const asked = request.messages.find(({ role }) => role === 'user')?.content ?? '';
  const before = isTask(request) ? ended.get(asked) : undefined;
  if (before !== undefined) between.push(performance.now() - before);
  await rest(modelMs);
  // Kept by the script for tests: here it would be counted as the daemon's.
  (model.requests as ModelRequest[]).length = 0;
  if (!isTask(request)) return 'an answer';
  ended.set(asked, performance.now());
  const done = request.messages.filter(({ role }) => role === 'tool').length;
  return done + 1 >= steps ? 'the result' : { text: '', toolCalls: [{ name: 'list_dir', arguments: { path: '.', n: done } }] };
}

/** Times from a message to its answer. */
async function chat(channel: TestChannel, phase: string, count = messages, everyMs = EVERY_MS): Promise<readonly number[]> {
  const took: Promise<number>[] = [];
  for (let n = 0; n < count; n += 1) {
    const chatId = `chat-${n % PEOPLE}`;
    const seen = channel.texts(chatId).length;
    took.push(
      (async () => {
        const since = performance.now();
        await channel.deliver({ text: `hi ${n}`, platformId: `${phase}-${n}`, chatId, senderId: `user-${n % PEOPLE}` });
        await until('an answer', () => channel.texts(chatId).length > seen);
        return performance.now() - since;
      })(),
    );
    await rest(everyMs);
  }
  return await Promise.all(took);
}

/** The largest size of the process from now on, until it is asked for. */
function peakRss(): () => number {
  let most = 0;
  const look = (): void => {
    most = Math.max(most, process.memoryUsage.rss());
  };
  const timer = setInterval(look, LOOK_MS);
  return () => {
    clearInterval(timer);
    look();
    return most;
  };
}

const model = scriptedModel(answer);
await using dir = await tempDir();
const channel = new TestChannel('test');
await using rig = await testDaemon({
  ...{ dataDir: dir.path, channel, model, policy: OPEN_TO_ALL, entry: { allowed_senders: ['*'] } },
  sections: { tasks: { max_iterations: steps + 5 } },
});
say('chat without tasks');
await chat(channel, 'warm');
const quiet = await chat(channel, 'quiet');
say(`${tasks * steps} messages, as often as tasks call the model`);
const loadedPeak = peakRss();
await chat(channel, 'loaded', tasks * steps, modelMs / TASKS_AT_ONCE);
const loadedRss = loadedPeak();
say(`${tasks} tasks at once`);
const { journal } = rig.daemon;
const book = new TaskBook({ journal, clock: systemClock, keepDays: () => 30, reserve: 0 });
const busyPeak = peakRss();
const since = performance.now();
const cpu = process.cpuUsage();
await Promise.all(
  Array.from({ length: tasks }, (_, n) => book.add({ text: `task ${n}`, client: 'load', key: `${n}`, authority: OPERATOR })),
);
const acceptedMs = performance.now() - since;
const busy = await chat(channel, 'busy');
await until('all are done', async () => (await journal.tasks.countOpen()) === 0, 3_600_000);
const busyRss = busyPeak();
const all = await journal.tasks.list({ limit: tasks });
const completed = all.filter(({ status }) => status === 'completed').length;
const { user, system } = process.cpuUsage(cpu);
const figures = {
  ...{ tasks, completed, acceptedMs: Math.round(acceptedMs), seconds: Math.round((performance.now() - since) / 1_000) },
  ...{ quietP95: Math.round(quantile(quiet, 0.95)), busyP95: Math.round(quantile(busy, 0.95)) },
  ...{ stepP50: Number(quantile(between, 0.5).toFixed(2)), stepP95: Number(quantile(between, 0.95).toFixed(2)) },
  // With what the chat and this program took: a machine that is busy with other things says less by its
  // times.
  cpuMsPerStep: Number(((user + system) / 1_000 / (tasks * steps)).toFixed(2)),
  ...{ loadedMB: Math.round(loadedRss / 1e6), busyMB: Math.round(busyRss / 1e6) },
};
const faults = [
  ...(completed === tasks ? [] : [`${tasks - completed} tasks were not completed`]),
  ...(figures.busyP95 <= MOST_RATIO * figures.quietP95 ? [] : ['the chat was slower']),
  ...(figures.stepP50 <= MOST_STEP_MS ? [] : ['a step cost too much']),
  ...(busyRss <= MOST_RSS * loadedRss ? [] : ['the process grew too large']),
];
process.stdout.write(
  `${JSON.stringify(figures)}\nload:tasks ${faults.length === 0 ? 'passed' : `FAILED: ${faults.join('; ')}`}\n`,
);
process.exitCode = faults.length === 0 ? 0 : 1;
