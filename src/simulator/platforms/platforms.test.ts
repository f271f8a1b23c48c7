/** Every platform under the real daemon in process: people are answered, faults do what platform.ts says. */
import { EventEmitter } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it, test } from 'vitest';
import { CHANNELS } from '../../../channels/registry.ts';
import { configSchema } from '../../../config/schema.ts';
import { startDaemon } from '../../app/daemon.ts';
import type { AnyChannelDescriptor, Channel, ChannelHost, SendOptions, SendResult } from '../../core/channel.ts';
import type { OutboundPart } from '../../core/message.ts';
import type { Clock } from '../../core/ports.ts';
import { systemClock } from '../../lib/clock.ts';
import { doubleChannel } from '../../testing/double/channel.ts';
import { MemoryLogger, until } from '../../testing/fakes.ts';
import { scriptedModel } from '../../testing/scripted-model.ts';
import { SteadyClock } from '../../testing/steady-clock.ts';
import { freePort } from '../free-port.ts';
import { Deliveries } from './deliveries.ts';
import { MODES, PLATFORMS } from './index.ts';
import type { Platform } from './platform.ts';
import { Pushes } from './pushes.ts';

/** One line per platform. */
const CASES: readonly string[] = [
  'telegram',
  'telegram-webhook',
  'double',
  'discord',
  'discord-doors',
  'slack',
  'slack-http',
  'slack-doors',
  'whatsapp',
  'whatsapp-self',
  'feishu',
  'feishu-webhook',
  'feishu-cards',
  'twilio',
  'wecom',
];
const STARTS = { ...PLATFORMS, ...MODES };

/** Waits of the daemon, which are none of the platform's, are over soon; deadlines stay. */
const quick = new SteadyClock(10);
const clock: Clock = { ...systemClock, sleep: (ms, signal) => (ms < 6_000 ? quick : systemClock).sleep(ms, signal) };

interface Sent {
  readonly question: number;
  readonly kind: SendResult['kind'];
  /** Replaces its text; absent where the platform has no edits, or it did not arrive. */
  readonly edit?: (text: string) => Promise<SendResult>;
}

/** Longest wait after a limit that delivery sees. WhatsApp names none; its adapter then takes a minute. */
const LIMIT_MS = 1_000;

interface Scene {
  /** Gone when the test is. */
  readonly dir: string;
  readonly platform: Platform;
  /** Numbers of the questions that the adapter offered, in order. */
  readonly offered: number[];
  /** What sends came to, by the question they answer. */
  readonly results: Sent[];
  /** Asks as a person of the same number. */
  readonly ask: (question: number) => Promise<void>;
  /** Resolves once the person got the answer. */
  readonly answered: (question: number) => Promise<unknown>;
  /** Resolves once nothing is left to send, or to send again. */
  readonly settled: () => Promise<unknown>;
  /** How often each answer is there. */
  readonly counts: (questions: readonly number[]) => Promise<readonly number[]>;
}

const numberIn = (text: string): number => Number(/question (\d+)/.exec(text)?.[1] ?? -1);

async function scene(name: string, onTestFinished: (end: () => PromiseLike<void>) => void): Promise<Scene> {
  const start = STARTS[name];
  if (!start) throw new Error(`no platform is called ${name}`);
  const webhookPort = await freePort();
  const platform = await start({ webhookPort });
  onTestFinished(() => platform[Symbol.asyncDispose]());
  const dir = await mkdtemp(join(tmpdir(), 'gatehouse-platform-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true, maxRetries: 3 }));
  const dataDir = join(dir, 'data');
  await platform.begin(dataDir);
  const offered: number[] = [];
  const results: Sent[] = [];
  const descriptor = platform.type === 'double' ? doubleChannel : await CHANNELS[platform.type]?.();
  if (!descriptor) throw new Error(`no channel is of type ${platform.type}`);
  const observed = observe(descriptor, offered, results);
  const entry = { ...platform.channel, settings: descriptor.settings.parse(platform.channel['settings'] ?? {}) };
  const model = scriptedModel(({ messages }) => {
    const asked = messages.findLast(({ role }) => role === 'user');
    return `Answer to question ${numberIn(asked?.content ?? '')}.`;
  });
  const daemon = await startDaemon({
    config: configSchema.parse({ gateway: { channels: [entry], webhooks: { port: webhookPort } } }),
    dataDir,
    registry: { [platform.type]: async () => observed },
    model: async () => ({ model, [Symbol.asyncDispose]: async () => undefined }),
    secret: (variable) => platform.env[variable] ?? '',
    clock,
    logger: new MemoryLogger(),
    onFatal: (error) => expect.fail(String(error)),
    onAllEnded: () => undefined,
  });
  onTestFinished(() => daemon.close({ turnsMs: 0, deliveryMs: 0 }));
  const personOf = (question: number): number => Math.min(question, (platform.people ?? Infinity) - 1);
  const count = async (question: number): Promise<number> =>
    (await platform.seen()).filter(({ person, text }) => person === personOf(question) && numberIn(text) === question).length;
  return {
    ...{ dir, platform, offered, results },
    ask: (question) => platform.write(personOf(question), `question ${question}`),
    answered: (question) => until(`question ${question} was answered`, () => count(question)),
    settled: () =>
      until('nothing is left to send', async () => {
        const { outbox } = await daemon.journal.counts();
        return outbox.PENDING + outbox.SENDING === 0;
      }),
    counts: (questions) => Promise.all(questions.map(count)),
  };
}

/** The adapter as it is, watched from both sides. */
function observe(descriptor: AnyChannelDescriptor, offered: number[], results: Sent[]): AnyChannelDescriptor {
  const watch = (channel: Channel): Channel => {
    const start: Channel['start'] = (host, signal) => {
      const watched: ChannelHost = {
        receive: (batch, cursor) => {
          offered.push(...batch.map(({ text }) => numberIn(text)));
          return host.receive(batch, cursor);
        },
        cursor: () => host.cursor(),
        health: (state, detail) => host.health(state, detail),
        ended: () => host.ended(),
      };
      return channel.start(watched, signal);
    };
    const send: Channel['send'] = async (part, options) => {
      const result = await channel.send(part, options);
      const edit = result.kind === 'sent' && editOf(channel, result.platformId, part, options);
      results.push({ question: numberIn(part.text), kind: result.kind, ...(edit && { edit }) });
      const long = result.kind === 'retry' && (result.afterMs ?? 0) > LIMIT_MS;
      return long ? { ...result, afterMs: LIMIT_MS } : result;
    };
    return new Proxy(channel, {
      get(target, key) {
        const value: unknown = Reflect.get({ start, send }, key) ?? Reflect.get(target, key);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  };
  return { ...descriptor, create: async (settings, deps) => watch(await descriptor.create(settings, deps)) };
}

function editOf(channel: Channel, platformId: string, part: OutboundPart, options: SendOptions): Sent['edit'] {
  return (
    channel.edit && (async (text) => (await channel.edit?.(platformId, { ...part, text }, options)) ?? expect.fail('no edits'))
  );
}

// At once: each waits for its own platform most of the time.
test.concurrent.for(CASES)(
  'a person on %s is answered, and each fault of the platform does what it says',
  async (name, context) => {
    const at = await scene(name, context.onTestFinished);
    const { platform, ask, answered, offered, results } = at;
    const can = new Set(platform.faults);
    const kindsOf = (asked: number) => results.filter(({ question }) => question === asked).map(({ kind }) => kind);
    const asked: number[] = [];
    const askNew = async (question: number): Promise<void> => {
      asked.push(question);
      await ask(question);
    };

    await askNew(0);
    await answered(0);
    const [first] = await platform.seen();
    const edit = results.find(({ question }) => question === 0)?.edit;
    if (edit) {
      const text = 'Answer to question 0, edited.';
      expect(await edit(text)).toMatchObject({ kind: 'sent' });
      expect(await platform.seen()).toEqual([{ ...first, text }]);
    }
    if (can.has('duplicate')) {
      platform.fault('duplicate', 1);
      await askNew(1);
      await answered(1);
    }
    if (can.has('reorder')) {
      platform.fault('reorder', 1);
      await askNew(2);
      expect(offered).not.toContain(2);
      await askNew(3);
      await Promise.all([answered(2), answered(3)]);
      expect(offered.filter((question) => question === 2 || question === 3)).toEqual([3, 2]);
    }
    if (can.has('limit')) {
      platform.fault('limit', 1);
      await askNew(4);
      await until('a send was limited', () => kindsOf(4).length > 0);
      expect(kindsOf(4)[0]).toBe('retry');
      // Where the limit is the account's, question 5 would wait behind this one, whose reply would be lost.
      await answered(4);
    }
    if (can.has('lose-reply')) {
      platform.fault('lose-reply', 1);
      await askNew(5);
      await until('the reply was lost', () => kindsOf(5).length > 0);
      expect(kindsOf(5)[0]).toBe('unknown');
    }
    if (can.has('disconnect')) {
      platform.fault('disconnect', 1);
      await askNew(6);
    }
    await Promise.all(asked.map(answered));
    // Not before: what is sent again would be slow instead.
    await at.settled();
    await until('the platform has nothing left', async () => (await platform.waiting()) === 0);
    expect(await at.counts(asked)).toEqual(asked.map(() => 1));

    if (can.has('slow')) {
      platform.fault('slow', 1);
      await ask(7);
      await until('question 7 was offered', () => offered.includes(7));
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(kindsOf(7)).toEqual([]);
    }

    await platform.begin(join(at.dir, 'no-daemon-comes'));
    expect(await platform.seen()).toEqual([]);
    expect(await platform.waiting()).toBe(0);
  },
);

test('a duplicate comes right behind the first, and what is held back comes newest first', async () => {
  const came: string[] = [];
  const deliveries = new Deliveries<{ readonly text: string }>(({ text }) => void came.push(text));
  const write = async (text: string): Promise<void> => deliveries.pass({ text });
  deliveries.duplicate(1);
  for (const text of ['a', 'b']) await write(text);
  expect(came.splice(0)).toEqual(['a', 'a', 'b']);
  deliveries.reorder(2);
  for (const text of ['c', 'd']) await write(text);
  expect(came).toEqual([]);
  for (const text of ['e', 'f']) await write(text);
  expect(came.splice(0)).toEqual(['e', 'd', 'c', 'f']);
  deliveries.reorder(1);
  await write('gone');
  deliveries.clear();
  await write('g');
  expect(came).toEqual(['g']);
});

test('the person at a terminal types when it is ready and they have read, and nothing twice', async () => {
  const start = PLATFORMS['cli'];
  if (!start) throw new Error('there is no terminal');
  await using platform = await start({ webhookPort: 0 });
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const daemon = Object.assign(new EventEmitter(), { stdin, stdout, stderr });
  const typed = (): string => String(stdin.read() ?? '');
  await platform.begin('');
  platform.attach?.(daemon);
  for (const text of ['one', 'two', 'three']) await platform.write(0, text);
  expect([typed(), await platform.waiting()]).toEqual(['', 3]);
  stderr.write('gatehouse 1.0.0 ready in 0.5 s\n');
  await until('the first line is typed', async () => (await platform.waiting()) === 3 && stdin.readableLength > 0);
  expect(typed()).toBe('one\n');
  stdout.write('an answer\n\nof two paragraphs\n');
  await until('the second line is typed', () => stdin.readableLength > 0);
  expect(typed()).toBe('two\n');
  expect((await platform.seen()).map(({ text }) => text)).toEqual(['an answer', 'of two paragraphs']);
  expect(await platform.notOffered?.()).toEqual([]);
  daemon.emit('exit', null, 'SIGKILL');
  expect([await platform.notOffered?.(), await platform.waiting()]).toEqual([['one', 'two'], 1]);
  expect(typed()).toBe('');
});

describe('a pushed message', () => {
  it('is offered until it is acknowledged, and given up after the last attempt', async () => {
    const offered: string[] = [];
    const answers: Record<string, boolean[]> = { a: [false, true], b: [false, false, false] };
    const pushes = new Pushes<string>({
      post: async (message) => {
        offered.push(message);
        return answers[message]?.shift() ?? false;
      },
      pausesMs: [1, 1],
    });
    for (const message of ['a', 'b']) pushes.push(message);
    expect([pushes.waiting, pushes.givenUp]).toEqual([2, []]);
    await until('nothing is offered any more', () => pushes.waiting === 0);
    expect([offered.slice(0, 2), offered.length, pushes.givenUp]).toEqual([['a', 'b'], 5, ['b']]);
    pushes.forget();
    expect(pushes.givenUp).toEqual([]);
  });

  it('is offered no more once it was forgotten', async () => {
    const offered: string[] = [];
    const pushes = new Pushes<string>({ post: async (message) => offered.push(message) < 0, pausesMs: [1, 1] });
    pushes.push('a');
    pushes.forget();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect([offered, pushes.waiting, pushes.givenUp]).toEqual([[], 0, []]);
  });
});
