// Queue modes through the whole daemon, on a channel in memory and on Telegram's own wire: what each message
// comes to.
import { expect, test } from 'vitest';
import { QUEUE_MODES, type QueueMode } from '../core/queueing.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { type Cell, type QueueScene, queueScene, type Work } from '../testing/queue-scene.ts';

const CHANNELS = ['test', 'telegram'] as const;
const COUNTS = [2, 10] as const;
const BUSY = 'busy';

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
const numbers = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `m${i + 1}`);

/** What the chat reads after m0, which it was at work on, and what becomes of each message. */
interface Expected {
  readonly texts: readonly string[];
  readonly outcomes: readonly string[];
}

/** `m0`: the answer to it, where there is one. */
function expected({ mode, work, count }: Row, crashed = false): Expected {
  const all = numbers(count);
  const last = `m${count}`;
  const isUnderWay = work === 'running' || work === 'tools';
  const end = work === 'tools' ? ': worked' : work === 'parked' ? ': allow' : '';
  const m0 = work === 'idle' ? [] : [`did m0${end}`];
  const own = work === 'idle' ? [] : ['m0 answered'];
  const answered = (list: readonly string[]) => list.map((m) => `${m} answered`);
  switch (mode) {
    case 'followup':
      return { texts: [...m0, ...all.map((m) => `did ${m}`)], outcomes: [...own, ...answered(all)] };
    case 'collect':
      return {
        texts: [...m0, `did ${all.join('+')}`],
        outcomes: [...own, 'm1 answered', ...all.slice(1).map((m) => `${m} merged`)],
      };
    case 'steer':
      if (isUnderWay) {
        const whole = `did ${['m0', ...all].join('+')}${end}`;
        // A model call that was under way ends, and the next one is told; after a crash the first one is.
        const texts = work === 'running' && !crashed ? [`did m0\n\n${whole}`] : [whole];
        return { texts, outcomes: [...own, ...all.map((m) => `${m} steered`)] };
      }
      return {
        texts: [...m0, `did ${last}`],
        outcomes: [...own, ...all.slice(0, -1).map((m) => `${m} superseded`), `${last} answered`],
      };
    case 'interrupt':
      return {
        texts: [...(work === 'parked' ? m0 : []), `did ${last}`],
        outcomes: [
          ...(isUnderWay ? ['m0 interrupted'] : own),
          ...all.slice(0, -1).map((m) => `${m} superseded`),
          `${last} answered`,
        ],
      };
    case 'speculative': {
      const most = isUnderWay ? 5 : 6;
      const done = all.slice(0, most);
      const late = m0.map((text) =>
        isUnderWay ? `↩️ To your earlier message (a later one was answered first):\n\n${text}` : text,
      );
      const texts = [...done.map((m) => `did ${m}`), ...all.slice(most).map(() => BUSY), ...late];
      return { texts, outcomes: [...own, ...answered(done), ...all.slice(most).map((m) => `${m} busy`)] };
    }
  }
}

/** In which order overflow turns are answered is not said. */
function seen(scene: QueueScene, row: Row): Expected {
  const texts = scene
    .texts(row)
    .slice(1) // the answer to /queue
    .filter((text) => !/^May I\?|^✅/.test(text))
    .map((text) => (text.startsWith('I am working on') ? BUSY : text));
  return { texts: ordered(row.mode, texts), outcomes: scene.outcomes(row) };
}

function ordered(mode: QueueMode, texts: readonly string[]): readonly string[] {
  return mode === 'speculative' ? texts.toSorted() : texts;
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

test('mode × parked × {2, 10 messages} on two channels: the chat is free meanwhile, and the run goes on once', async () => {
  const rows = table(['parked']);
  await using dir = await tempDir();
  await using scene = await queueScene(dir.path, { workOf: rowsOf(rows), entry: entryOf(rows) });
  await scene.start();
  await chooseModes(scene, rows);
  for (const row of rows) await scene.say(row, `${row.chatId} m0`);
  const asked = (row: Row) => /\/allow ([A-Z2-9]{6})/.exec(scene.texts(row).join('\n'))?.[1];
  await until('all of them wait', () => rows.every(asked));
  for (const row of rows) await scene.say(row, ...burst(row));
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

test('mode × crash while a turn runs and the rest waits × {2, 10 messages} on two channels: nothing lost, nothing twice', async () => {
  const rows = table(['running']);
  await using dir = await tempDir();
  await using scene = await queueScene(dir.path, { workOf: rowsOf(rows), entry: entryOf(rows) });
  await scene.start();
  await chooseModes(scene, rows);
  for (const row of rows) await scene.say(row, `${row.chatId} m0`);
  await until('all of them are at work', () => scene.holding() === rows.length);
  for (const row of rows) await scene.say(row, ...burst(row));
  await until('all are accepted', () => rows.every((row) => scene.outcomes(row).length === row.count + 1));
  await scene.stop();
  scene.open();
  await scene.start();
  await until('nothing is left to do', () => isStill(scene, messages(rows)));
  check(scene, rows, true);
});
