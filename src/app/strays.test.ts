import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { MemoryLogger, tempDir } from '../testing/fakes.ts';
import { onBehalfOf, onOwnBehalf } from './origin.ts';
import { Strays } from './strays.ts';

function scene(logger: Pick<MemoryLogger, 'error'> = new MemoryLogger()) {
  const done: string[] = [];
  const strays = new Strays({ logger, end: (reason) => done.push(`end ${reason}`), exit: () => done.push('exit') });
  const channel = { kind: 'channel', name: 'a', fail: (error: unknown) => done.push(`again: ${error}`) } as const;
  return { strays, done, channel };
}

test.each(['rejection', 'exception'] as const)('a stray %s of a channel starts that channel again', (what) => {
  const at = scene();
  onBehalfOf(at.channel, () => at.strays.handle(new Error('late reply'), what));
  expect(at.done).toEqual([`again: GatehouseError: a stray ${what}: late reply`]);
});

test.each(['rejection', 'exception'] as const)('a stray %s of a run is logged with its id, and the daemon goes on', (what) => {
  const logger = new MemoryLogger();
  const at = scene(logger);
  onBehalfOf({ kind: 'run', id: 'm-1' }, () => at.strays.handle(new Error('forgotten'), what));
  expect(at.done).toEqual([]);
  expect(logger.lines).toMatchObject([
    {
      level: 'error',
      event: `stray.${what}`,
      data: { code: 'GH1007', run: 'm-1', detail: 'forgotten', hint: expect.any(String) },
    },
  ]);
});

test('of unknown origin, a rejection is logged and an exception ends the daemon in order', () => {
  const at = scene();
  at.strays.handle('no error at all', 'rejection');
  expect(at.done).toEqual([]);
  onBehalfOf(at.channel, () => onOwnBehalf(() => at.strays.handle(new Error('half done'), 'exception')));
  expect(at.done).toEqual(['end GH1007']);
});

test('a second exception while the daemon ends, or a failure of the handler, ends the process and never loops', () => {
  const at = scene();
  at.strays.handle(new Error('first'), 'exception');
  at.strays.handle(new Error('second'), 'exception');
  expect(at.done).toEqual(['end GH1007', 'exit']);
  const error = () => {
    throw new Error('the log is gone');
  };
  const broken = scene({ error });
  broken.strays.handle(new Error('first'), 'rejection');
  expect(broken.done).toEqual(['exit']);
});

test('takes nothing any more once disposed', () => {
  const before = process.listenerCount('uncaughtException');
  {
    using _watching = scene().strays.watch();
    expect(process.listenerCount('uncaughtException')).toBe(before + 1);
  }
  expect(process.listenerCount('uncaughtException')).toBe(before);
});

test('F38 strays of an SDK restart its channel alone, and no running turn pays for a crash that is not its own', async () => {
  await using dir = await tempDir();
  const at = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
  const program = `
    const { TestChannel, testChannelEntry } = await import(${at('../testing/test-channel.ts')});
    const { testDaemon } = await import(${at('../testing/test-daemon.ts')});
    const { scriptedModel } = await import(${at('../testing/scripted-model.ts')});
    const { MemoryLogger, until } = await import(${at('../testing/fakes.ts')});
    const { openJournal } = await import(${at('../journal/open.ts')});
    const { systemClock: clock } = await import(${at('../lib/clock.ts')});
    const { Ending } = await import(${at('./ending.ts')});
    const { Strays } = await import(${at('./strays.ts')});
    const logger = new MemoryLogger();
    const ending = new Ending();
    new Strays({ logger, end: (reason) => ending.end(1, reason), exit: () => process.exit(3) }).watch();
    let lives = 0;
    class Bad extends TestChannel {
      async start(host, signal) {
        await super.start(host, signal);
        lives += 1;
        const life = lives;
        setTimeout(() => {
          if (life === 1) throw new Error('thrown in a timer');
          if (life === 2) void Promise.reject(new Error('awaited by nobody'));
        }, 10);
        // A message of it must not make what it starts in the gateway look like its own.
        if (life === 3) await this.deliver({ text: 'hang' });
      }
    }
    const good = new TestChannel('test');
    const model = scriptedModel((request) => /hang/.test(JSON.stringify(request.messages.at(-1)))
      ? { hang: true } : { text: 'done', delayMs: 4_000 }, { clock });
    const dataDir = ${JSON.stringify(dir.path)};
    const rig = await testDaemon({
      dataDir, model, channel: good,
      gateway: { channels: ['test', 'bad'].map((type) => ({ type, allowed_senders: ['*'] })) },
      daemon: { logger, registry: { test: testChannelEntry(() => good), bad: testChannelEntry(() => new Bad('bad')) } },
    });
    await good.deliver({ text: 'slow', chatId: 'c1' });
    await until('the third life of the bad one', () => lives === 3);
    await until('the answer of the good one', () => good.texts('c1').length === 1);
    await until('the other turn hangs', () => model.requests.length === 2);
    const stray = logger.lines.filter(({ event }) => event.startsWith('stray')).map(({ event, data }) => event + ' ' + data.channel);
    const answered = good.texts('c1');
    setTimeout(() => { throw new Error('of ours'); }, 0);
    const code = await ending.code;
    await rig.daemon.close({ turnsMs: 100, deliveryMs: 100 });
    const { journal } = await openJournal({ dir: dataDir, clock });
    const [lane] = (await journal.work()).lanes;
    const waiting = (await journal.waiting(lane, 9)).map(({ message, attempts }) => [message.text, attempts]);
    await journal[Symbol.asyncDispose]();
    console.log(JSON.stringify({ stray, answered, code, lives, waiting }));
    process.exit(0);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  expect(JSON.parse(await text(child.stdout))).toEqual({
    stray: ['stray.exception bad', 'stray.rejection bad'],
    answered: ['done'],
    code: 1,
    lives: 3,
    waiting: [['hang', 0]],
  });
});
