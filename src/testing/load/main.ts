// npm run load: one gateway with all channels at once. Three of them are in trouble (connections that break
// every two seconds, sends that are refused as too many, a model that takes 30 s); the others must not
// notice. Then one person floods one chat, after that a hundred chats at once: all other people must not
// notice, each message of the flood is answered or recorded as refused, and the person is told once. Then one
// person has ten threads for each of which the model takes 20 s: they are answered in their turn, and no
// other person notices. Then, in a daemon that each platform calls which can, requests without a signature
// come to all webhooks: none is believed, people must not notice, and the peak of the daemon's memory is 50
// MB above that of quiet traffic at most. Exit code 1 when a limit is missed.
//
//   --trouble a,b    rounds, flood-chat, flood-sender, slow-threads, unsigned; flood is the last four
//                    (default rounds,flood)
//   --flood N        messages of a flood by chat or sender, spread over its phase (default 10100)
//   --unsigned N     requests without a signature, spread over their phase (default 10000)
//   --no-limits      the bounds of a flood and of slow threads are out of reach: a control, which must fail
//   --channels a,b   (default: all channels; `double` is none)
//   --messages N     per channel and phase (default 200)
//   --rate N         messages a second, per channel (default 2)
//   --people N       per channel, each with a chat of their own (default 20)
//   --model-ms N     what a call of the model takes in quiet times (default 200)
//   --permits N      gateway.max_concurrent_sessions (default: that of the config)
//   --seed N         of the order and of the victims (default 1)
//   --control        the same without any trouble: how much the figures of this machine differ by themselves
//   --json           one JSON document instead of the table
import { parseArgs } from 'node:util';
import { CALLING, PLATFORMS } from '../../simulator/platforms/index.ts';
import { floodable, MOST_RATIO, type Row, runRounds, TROUBLES, type Trouble } from './rounds.ts';
import { Stage } from './stage.ts';
import { seeded } from './traffic.ts';

const CHANNELS = Object.keys(PLATFORMS).filter((name) => name !== 'double');
/** After a phase: a model that keeps two messages for 30 s each, and a platform told to wait a minute. */
const PATIENCE_MS = 300_000;

const { values: flags } = parseArgs({
  options: {
    channels: { type: 'string', default: CHANNELS.join(',') },
    messages: { type: 'string', default: '200' },
    rate: { type: 'string', default: '2' },
    people: { type: 'string', default: '20' },
    'model-ms': { type: 'string', default: '200' },
    permits: { type: 'string' },
    trouble: { type: 'string', default: 'rounds,flood' },
    flood: { type: 'string', default: '10100' },
    unsigned: { type: 'string', default: '10000' },
    'no-limits': { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    control: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});

function refuse(text: string): never {
  process.stderr.write(`${text}\n`);
  process.exit(2);
}

function positive(name: string, text: string): number {
  const value = Number(text);
  return value > 0 && Number.isFinite(value) ? value : refuse(`--${name} must be a positive number, not ${text}`);
}

const channels = flags.channels.split(',').filter((name) => name !== '');
const unknown = channels.find((name) => !CHANNELS.includes(name));
if (unknown !== undefined) refuse(`no channel is called ${unknown}; there are ${CHANNELS.join(', ')}`);
const [messages, rate, people] = [
  positive('messages', flags.messages),
  positive('rate', flags.rate),
  positive('people', flags.people),
];

const troubles = flags.trouble.split(',').flatMap((name): readonly Trouble[] => {
  const found = TROUBLES.filter((trouble) => trouble === name || (name === 'flood' && trouble !== 'rounds'));
  return found.length > 0
    ? found
    : refuse(`no trouble is called ${name}; there are ${TROUBLES.join(', ')}, and flood for the last four`);
});
const flood = positive('flood', flags.flood);
const unsigned = positive('unsigned', flags.unsigned);

const say = (text: string): void => void process.stderr.write(`${text} …\n`);
const started = performance.now();
say(`starting ${channels.join(', ')}`);
const gateway = {
  ...(flags.permits === undefined ? {} : { max_concurrent_sessions: positive('permits', flags.permits) }),
  // A lane may have a twentieth of it.
  ...(flags['no-limits'] ? { high_water: 100 * flood } : {}),
};
process.exit((await main()) ? 0 : 1);

/** Requests without a signature come to platforms that call, so to a stage of their own. */
async function main(): Promise<boolean> {
  if (troubles.includes('unsigned') && !channels.some((name) => CALLING[name]))
    throw new Error(`requests without a signature need one of ${Object.keys(CALLING).join(', ')} among the channels`);
  const random = seeded(Number(flags.seed));
  const rows: Row[] = [];
  for (const isCalled of [false, true]) {
    const own = troubles.filter((trouble) => (trouble === 'unsigned') === isCalled);
    const before = rows.at(-1)?.round ?? 0;
    if (own.length > 0) rows.push(...(await play(own, isCalled, random)).map((row) => ({ ...row, round: before + row.round })));
  }
  const passed = rows.every(({ faults }) => faults.length === 0);
  const seconds = Math.round((performance.now() - started) / 1_000);
  const document = { passed, seconds, limit: MOST_RATIO, messages, rate, people, rows };
  const verdict = `${seconds} s, limit of the ratio ${MOST_RATIO}\nload ${passed ? 'passed' : 'FAILED'}`;
  process.stdout.write(`${flags.json ? JSON.stringify(document, null, 2) : `${toTable(rows)}\n${verdict}`}\n`);
  return passed;
}

/** Leaves no process of ours behind: the daemon and the mail servers are children of this one. */
async function play(own: readonly Trouble[], isCalled: boolean, random: () => number): Promise<readonly Row[]> {
  const limits = flags['no-limits'] ? { person_turns_at_once: 1_000 } : {};
  const modelMs = positive('model-ms', flags['model-ms']);
  await using stage = await Stage.start({ channels, isCalled, modelMs, gateway, limits });
  const end = (code: number) => () => void stage[Symbol.asyncDispose]().finally(() => process.exit(code));
  const [stop, fail] = [end(130), end(1)];
  const failed = (error: Error): void => {
    process.stderr.write(`${error.stack}\n`);
    fail();
  };
  process.on('SIGINT', stop).on('SIGTERM', stop).on('uncaughtException', failed);
  try {
    const isFlooded = own.some((trouble) => trouble !== 'rounds' && trouble !== 'unsigned');
    if (isFlooded && floodable(stage.platforms) === undefined) throw new Error('a flood needs telegram among the channels');
    const facts = { messages, rate, people, random, troubles: own, flood, unsigned, control: flags.control };
    const rows = await runRounds(stage, { ...facts, patienceMs: PATIENCE_MS, say });
    if (rows.some(({ faults }) => faults.length > 0)) process.stderr.write(stage.log.slice(-2_000));
    return rows;
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop).off('uncaughtException', failed);
  }
}

function toTable(all: readonly Row[]): string {
  const ms = (value: number): string => (Number.isNaN(value) ? '' : `${Math.round(value)}`);
  const head = ['round', 'channel', 'trouble', 'quiet p50', 'quiet p95', 'p50', 'p95 ms', 'p95 ratio', 'result'];
  const body = all.map((row) => [
    ...[`${row.round}`, row.channel, row.trouble ?? '', ms(row.quietP50), ms(row.quietP95), ms(row.p50), ms(row.p95)],
    ...[row.trouble === undefined ? row.ratio.toFixed(2) : '', row.faults.length === 0 ? 'pass' : row.faults.join('; ')],
  ]);
  return [head, head.map(() => '---'), ...body].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
