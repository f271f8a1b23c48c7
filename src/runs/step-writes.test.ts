/** Turns while the journal cannot be written. All of the daemon is real but platform, model and time. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { GatehouseError } from '../core/errors.ts';
import type { Journal } from '../core/journal.ts';
import { FakeClock, recordEvents, tempDir, until } from '../testing/fakes.ts';
import { type ScriptStep, scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';

const WRITES = ['accept', 'claim', 'release', 'step', 'finish', 'enqueue', 'settle', 'sending', 'spend'];
const LOOK = { toolCalls: [{ name: 'list_dir', arguments: { path: '.' } }] };

let dir: Awaited<ReturnType<typeof tempDir>>;
beforeEach(async () => {
  dir = await tempDir();
});
afterEach(async () => {
  await dir[Symbol.asyncDispose]();
});

/** From the model's first answer on, nothing that is named in `refused` can be written. */
async function setUp(script: readonly ScriptStep[], refused: readonly string[] = WRITES) {
  const clock = new FakeClock();
  const disk = { refused: [] as readonly string[] };
  const { emit, events } = recordEvents();
  const [first, ...rest] = script;
  const model = scriptedModel([
    () => {
      disk.refused = refused;
      return first ?? '';
    },
    ...rest,
  ]);
  const wrapJournal = (journal: Journal): Journal =>
    new Proxy(journal, {
      get(target, name) {
        if (disk.refused.includes(String(name))) return () => Promise.reject(new GatehouseError('GH1301', 'the disk is full'));
        const value = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const rig = await testDaemon({ dataDir: dir.path, model, daemon: { clock, wrapJournal, observe: emit } });
  const fails = (): number => events.filter((event) => event.type === 'failed' && event.code === 'GH1301').length;
  const free = (): void => {
    disk.refused = [];
  };
  const answered = () =>
    until('it is answered', async () => {
      await clock.advance(30_000);
      return rig.channel.sent.length > 0;
    });
  return { ...rig, clock, model, events, fails, free, answered, [Symbol.asyncDispose]: rig[Symbol.asyncDispose] };
}

test('F13 an answer that asks for tools is bought once however long the disk is full, and is in the ledger', async () => {
  await using rig = await setUp([LOOK, 'nothing there']);
  await rig.channel.deliver({ text: 'please look' });
  await until('the record failed', () => rig.fails() > 0);
  await rig.clock.advance(120_000);
  expect(rig.model.requests).toHaveLength(1);
  // Tried less and less often, and each failure is reported.
  expect(rig.fails()).toBeGreaterThan(5);
  expect(rig.fails()).toBeLessThan(12);
  rig.free();
  await rig.answered();
  expect(rig.channel.texts()).toEqual(['nothing there']);
  expect(rig.model.requests).toHaveLength(2);
  expect(await rig.daemon.journal.usage(0)).toHaveLength(2);
});

test.each([
  ['nothing can be written', WRITES],
  ['its own record cannot be written', ['step']],
])('F13 what the last answer cost is in the ledger once, also when meanwhile %s', async (_title, refused) => {
  await using rig = await setUp(['here you are'], refused);
  await rig.channel.deliver({ text: 'please answer' });
  await until('the record failed', () => rig.fails() > 0);
  await rig.clock.advance(40_000);
  rig.free();
  await rig.answered();
  await rig.daemon.gateway.idle();
  expect(rig.channel.texts()).toEqual(['here you are']);
  expect(rig.model.requests).toHaveLength(1);
  expect(await rig.daemon.journal.usage(0)).toHaveLength(1);
});

test('F13 a turn that waits for the disk keeps no shutdown from ending, and is run by the next start', async () => {
  {
    await using rig = await setUp([LOOK]);
    await rig.channel.deliver({ text: 'please look' });
    await until('the record failed', () => rig.fails() > 0);
    const closed = rig.daemon.close({ turnsMs: 5_000, deliveryMs: 0 });
    await rig.clock.advance(5_000);
    await closed;
    expect(rig.channel.sent).toEqual([]);
  }
  await using rig = await setUp(['nothing there'], []);
  await rig.answered();
  expect(rig.channel.texts()).toEqual(['nothing there']);
});

test('F13 /stop ends a turn that waits for the disk, as soon as it can be recorded', async () => {
  await using rig = await setUp([LOOK]);
  await rig.channel.deliver({ text: 'please look' });
  await until('the record failed', () => rig.fails() > 0);
  await rig.clock.advance(60_000);
  rig.free();
  await rig.channel.deliver({ text: '/stop' });
  await rig.daemon.gateway.idle();
  expect(rig.model.requests).toHaveLength(1);
  expect(rig.channel.texts()).toEqual(['🛑 Cancelled.']);
  expect(await rig.daemon.journal.usage(0)).toHaveLength(1);
});

test('an answer that comes as its message is stopped is in the ledger: it was paid for', async () => {
  const model = scriptedModel([
    async () => {
      await at.channel.deliver({ text: '/stop' });
      return 'too late';
    },
  ]);
  await using other = await tempDir();
  await using at = await testDaemon({ dataDir: other.path, model });
  await at.channel.deliver({ text: 'please answer' });
  await at.daemon.gateway.idle();
  expect(at.channel.texts().join()).not.toContain('too late');
  expect(await at.daemon.journal.usage(0)).toHaveLength(1);
});
