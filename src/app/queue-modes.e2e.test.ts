// Queue modes through the whole daemon, on a channel in memory and on Telegram's own wire: what each message
// comes to.
import { expect, test } from 'vitest';
import { QUEUE_MODES } from '../core/queueing.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { BUSY, type Expected, expected, numbers, ordered } from '../testing/queue-expected.ts';
import { type Cell, type QueueScene, queueScene, type Work } from '../testing/queue-scene.ts';

const CHANNELS = ['test', 'telegram'] as const;
const COUNTS = [2, 10] as const;
/** Turns beside the one of a chat. */
const MOST_OVERFLOW = 5;

interface Row extends Cell {
  readonly count: number;
}

/** Each in a chat of its own. */
function table(works: readonly Work[]): readonly Row[] {
  let chat = 7_000;
  return CHANNELS.flatMap((channel) =>
    QUEUE_MODES.flatMap((mode) =>
      works.flatMap((work) =>
        COUNTS.map((count) => {
          chat += 1;
          return { channel, mode, work, count, chatId: String(chat) };
        }),
      ),
    ),
  );
}

const named = ({ channel, mode, work, count }: Row): string => `${channel}, ${mode}, ${work}, ${count}`;
/** In which order overflow turns are answered is not said. */
function seen(scene: QueueScene, row: Row): Expected {
  const texts = scene
    .texts(row)
    .slice(1) // the answer to /queue
    .filter((text) => !/^May I\?|^✅/.test(text))
    .map((text) => (text.startsWith('I am working on') ? BUSY : text))
    .map((text) => (row.work === 'all' ? text.replace(/^↩️ .*\n\n/, '') : text));
  return { texts: ordered(row.mode, texts), outcomes: scene.outcomes(row) };
}

async function chooseModes(scene: QueueScene, rows: readonly Row[]): Promise<void> {
  for (const row of rows) await scene.say(row, `/queue ${row.mode}`);
  await until('every chat chose', () => rows.every((row) => scene.texts(row).length === 1));
}

async function isStill(scene: QueueScene, count: number): Promise<boolean> {
  const { inbox, outbox } = await scene.rig().daemon.journal.counts();
  return inbox.NEW + inbox.RUNNING === 0 && outbox.PENDING + outbox.SENDING === 0 && inbox.DONE >= count;
}

function check(scene: QueueScene, rows: readonly Row[], crashed = false): void {
  const got = rows.map((row) => [named(row), seen(scene, row)] as const);
  const wanted = rows.map((row) => {
    const { texts, outcomes } = expected(row, crashed);
    return [named(row), { texts: ordered(row.mode, texts), outcomes }] as const;
  });
  expect(Object.fromEntries(got)).toEqual(Object.fromEntries(wanted));
}

const rowsOf = (rows: readonly Row[]): ((chat: string) => Work) => {
  const works = new Map(rows.map(({ chatId, work }) => [chatId, work]));
  return (chat) => works.get(chat) ?? 'idle';
};
/** Members: guests have no tool with an effect. */
const entryOf = (rows: readonly Row[]) => ({ allowed_senders: rows.map(({ chatId }) => chatId) });
const burst = ({ chatId, count }: Row): readonly string[] => numbers(count).map((m) => `${chatId} ${m}`);
const messages = (rows: readonly Row[]): number =>
  rows.reduce((sum, { count, work }) => sum + count + (work === 'idle' ? 1 : 2), 0);

test('mode × {idle, running, running with tools} × {2, 10 messages} on two channels: order, merges, aborts and answers', async () => {
  const rows = table(['idle', 'running', 'tools']);
  await using dir = await tempDir();
  await using scene = await queueScene(dir.path, { workOf: rowsOf(rows), entry: entryOf(rows) });
  await scene.start();
  await chooseModes(scene, rows);
  const busy = rows.filter(({ work }) => work !== 'idle');
  for (const row of busy) await scene.say(row, `${row.chatId} m0`);
  await until('all of them are at work', () => scene.holding() === busy.length);
  for (const row of rows) await scene.say(row, ...burst(row));
  await until('all are accepted', () =>
    rows.every((row) => scene.outcomes(row).length === row.count + (row.work === 'idle' ? 0 : 1)),
  );
  await until('overflow turns are answered', () =>
    busy.filter(({ mode }) => mode === 'speculative').every((row) => scene.texts(row).length === row.count + 1),
  );
  scene.open();
  await until('nothing is left to do', () => isStill(scene, messages(rows)));
  check(scene, rows);
});

for (const crash of ['', ' and a restart'])
  test(`mode × parked${crash} × {2, 10 messages} on two channels: the chat is free meanwhile, and the run goes on once`, async () => {
    const rows = table(['parked']);
    await using dir = await tempDir();
    await using scene = await queueScene(dir.path, { workOf: rowsOf(rows), entry: entryOf(rows) });
    await scene.start();
    await chooseModes(scene, rows);
    for (const row of rows) await scene.say(row, `${row.chatId} m0`);
    const asked = (row: Row) => /\/allow ([A-Z2-9]{6})/.exec(scene.texts(row).join('\n'))?.[1];
    await until('all of them wait', () => rows.every(asked));
    for (const row of rows) await scene.say(row, ...burst(row));
    if (crash) {
      await until('all are accepted', () => rows.every((row) => scene.outcomes(row).length === row.count + 1));
      await scene.stop();
      await scene.start();
    }
    await until('the rest is answered', () => isStill(scene, messages(rows) - rows.length));
    for (const row of rows) await scene.say(row, `/allow ${asked(row)}`);
    await until('nothing is left to do', () => isStill(scene, messages(rows) + rows.length));
    for (const row of rows) {
      const { texts, outcomes } = seen(scene, row);
      const { texts: all, outcomes: ends } = expected(row);
      // What came meanwhile is answered first.
      expect([named(row), texts.toSorted(), outcomes]).toEqual([named(row), all.toSorted(), ends]);
    }
  });

const CRASHES = {
  'mode × crash while a turn runs and the rest waits': table(['running']),
  'mode × crash while a tool runs and the rest waits': table(['tools']),
  'mode × crash while overflow turns run': table(['all']).filter(({ mode }) => mode === 'speculative'),
};
test.each(Object.entries(CRASHES))('%s × {2, 10 messages} on two channels: nothing lost, nothing twice', async (_what, rows) => {
  await using dir = await tempDir();
  await using scene = await queueScene(dir.path, { workOf: rowsOf(rows), entry: entryOf(rows) });
  await scene.start();
  await chooseModes(scene, rows);
  for (const row of rows) await scene.say(row, `${row.chatId} m0`);
  await until('all of them are at work', () => scene.holding() === rows.length);
  for (const row of rows) await scene.say(row, ...burst(row));
  await until('all are accepted', () => rows.every((row) => scene.outcomes(row).length === row.count + 1));
  const overflow = rows.map(({ work, count }) => (work === 'all' ? Math.min(MOST_OVERFLOW, count) : 0));
  if (Math.max(...overflow) > 0) {
    const atWork = overflow.reduce((sum, count) => sum + count, rows.length);
    await until('overflow turns are at work', () => scene.holding() === atWork);
  }
  await scene.stop();
  scene.open();
  await scene.start();
  await until('nothing is left to do', () => isStill(scene, messages(rows)));
  check(scene, rows, true);
});
