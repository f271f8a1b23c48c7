import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RunRow } from '../core/run.ts';
import { openJournal } from '../journal/open.ts';
import { FakeClock, MemoryLogger, tempDir } from '../testing/fakes.ts';
import { promptOf } from '../testing/jobs.ts';
import { expectQuick } from '../testing/quick.ts';
import { Heartbeat, saysNothing } from './heartbeat.ts';

const HALF_HOUR = 1_800_000;
const LANE = 'test/bot/owner/#job:heartbeat';

async function setup(settings = { everyMs: HALF_HOUR, mostADay: 48 }) {
  const dir = await tempDir();
  const clock = new FakeClock();
  const logger = new MemoryLogger();
  const opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  const file = join(dir.path, 'HEARTBEAT.md');
  const channels = new Set(['test']);
  const change = { isOn: false };
  const make = () =>
    new Heartbeat({
      ...{ journal, file, clock, logger, settings: () => settings },
      to: () => ({ channel: 'test', chatId: 'owner' }),
      address: (to) => (channels.has(to.channel) ? { account: 'bot', ...to } : undefined),
      isHeld: () => change.isOn,
    });
  let heartbeat = make();
  /** Goes through time as the ticker does, and ends each run at once. */
  const live = async (ms: number, outcome = 'answered'): Promise<RunRow[]> => {
    const end = clock.now() + ms;
    const runs: RunRow[] = [];
    for (;;) {
      const due = await heartbeat.earliest();
      if (due === undefined || due > end) break;
      await clock.advance(Math.max(0, due - clock.now()));
      if (((await heartbeat.earliest()) ?? 0) > clock.now()) throw new Error('it was due, and is not when its time comes');
      await heartbeat.fire(clock.now());
      for (const { seq } of await journal.waiting(LANE, 9)) {
        const row = await journal.claim(seq);
        if (!row) continue;
        runs.push(row);
        await journal.commit([], { seq, generation: row.generation, end: { state: 'DONE', outcome } });
      }
    }
    await clock.advance(end - clock.now());
    return runs;
  };
  const restart = () => {
    heartbeat = make();
  };
  const close = async (): Promise<void> => {
    await opened[Symbol.asyncDispose]();
    await dir[Symbol.asyncDispose]();
  };
  return {
    ...{ journal, file, clock, logger, channels, change, live, restart, fire: () => heartbeat.fire(clock.now()) },
    [Symbol.asyncDispose]: close,
  };
}

test.each([
  ['nothing', ''],
  ['headings', '# Today\n\n## Later\n'],
  ['a comment', '<!-- write here\n- call Mum\n-->\n# List'],
  ['a comment without an end', '# x\n<!-- - call Mum'],
  ['empty boxes', '- [ ]\n* [ ] \n-\n'],
])('a file of %s says nothing', (_title, text) => {
  expect(saysNothing(text)).toBe(true);
});

test.each(['- [ ] call Mum', 'Look at the mail', '# x\ny', '<!-- a --> b'])('%j says something', (text) => {
  expect(saysNothing(text)).toBe(false);
});

test.each([undefined, '# Only a heading\n'])('without a list (%j) it writes nothing in 48 hours', async (text) => {
  await using at = await setup();
  if (text !== undefined) await writeFile(at.file, text);
  expect(await at.live(48 * 3_600_000)).toEqual([]);
  expect(await at.journal.jobs.list()).toEqual([]);
});

test('over 48 hours an unchanged file is asked about once, also across restarts', async () => {
  await using at = await setup();
  await writeFile(at.file, '- [ ] look at the mail');
  const [first, ...more] = await at.live(24 * 3_600_000);
  expect(more).toEqual([]);
  expect(first).toMatchObject({
    source: { kind: 'job', job: 'heartbeat' },
    session: 'job:heartbeat',
    authority: { role: 'owner' },
  });
  expect(promptOf(first)).toContain('look at the mail');
  at.restart();
  expect(await at.live(24 * 3_600_000)).toEqual([]);
  await writeFile(at.file, '- [ ] look at the mail\n- [ ] call Mum');
  expect(await at.live(HALF_HOUR)).toHaveLength(1);
  await rm(at.file);
  expect(await at.live(HALF_HOUR)).toEqual([]);
});

test('while the channel of the owner is not there no model is asked, which the log says, and the list is asked about after', async () => {
  await using at = await setup();
  await writeFile(at.file, '- [ ] look at the mail');
  at.channels.clear();
  expect(await at.live(3_600_000)).toEqual([]);
  const waiting = await Promise.all(['job/heartbeat', LANE].map((lane) => at.journal.waiting(lane, 9)));
  expect(waiting.flat()).toEqual([]);
  expect(await at.journal.jobs.list()).toEqual([]);
  expect(at.logger.lines[0]).toMatchObject({
    ...{ level: 'warn', event: 'heartbeat.no-channel' },
    data: { channel: 'test', hint: expect.stringContaining('gateway.owner') },
  });
  at.channels.add('test');
  expect(await at.live(HALF_HOUR)).toHaveLength(1);
  at.channels.clear();
  await writeFile(at.file, '- [ ] call Mum');
  const before = await at.journal.jobs.get('heartbeat');
  expect(await at.live(HALF_HOUR)).toEqual([]);
  expect(await at.journal.jobs.get('heartbeat')).toEqual(before);
});

test('while the config is being changed the list is left alone, and it is asked about right after', async () => {
  await using at = await setup();
  await writeFile(at.file, '- [ ] look at the mail');
  at.change.isOn = true;
  at.channels.clear();
  await at.fire();
  expect(await at.journal.jobs.list()).toEqual([]);
  at.channels.add('test');
  at.change.isOn = false;
  expect(await at.live(1_000)).toHaveLength(1);
  expect(at.logger.lines).toEqual([]);
});

test.each([
  ['a person stopped', 'cancelled'],
  ['a limit of the run cut short', 'limit:iterations'],
])('what %s is not asked again while the file says the same', async (_title, outcome) => {
  await using at = await setup();
  await writeFile(at.file, '- [ ] look at the mail');
  expect(await at.live(12 * 3_600_000, outcome)).toHaveLength(1);
});

test('what failed is asked again, and not more often than the daily limit', async () => {
  await using at = await setup({ everyMs: HALF_HOUR, mostADay: 3 });
  await at.clock.advance(new Date(2026, 0, 1).getTime() + 86_400_000 - at.clock.now()); // a midnight here
  await writeFile(at.file, '- [ ] look at the mail');
  expect(await at.live(23 * 3_600_000, 'failed:GH2103')).toHaveLength(3);
  expect(at.logger.lines.some(({ event }) => event === 'heartbeat.limit')).toBe(true);
  expect(await at.live(3 * 3_600_000)).toHaveLength(1);
});

test('with 0 there is none, and a disabled one is left alone', async () => {
  await using none = await setup({ everyMs: 0, mostADay: 48 });
  await writeFile(none.file, '- [ ] x');
  expect(await none.live(3_600_000)).toEqual([]);
  await using at = await setup();
  await writeFile(at.file, '- [ ] x');
  expect(await at.live(3_600_000)).toHaveLength(1);
  const was = await at.journal.jobs.get('heartbeat');
  if (was) await at.journal.commit([{ kind: 'job', job: { ...was, enabled: false }, was }]);
  await writeFile(at.file, '- [ ] y');
  expect(await at.live(3_600_000)).toEqual([]);
});

test('a file of more than 64 kB is not read, and says so', async () => {
  await using at = await setup();
  await writeFile(at.file, 'x'.repeat(70_000));
  expect(await at.live(1)).toEqual([]);
  expect(at.logger.lines[0]).toMatchObject({ level: 'warn', event: 'heartbeat.too-long' });
});

test('a change of the interval holds at once', async () => {
  const settings = { everyMs: HALF_HOUR, mostADay: 48 };
  await using at = await setup(settings);
  expect(await at.live(1)).toEqual([]);
  await writeFile(at.file, '- [ ] x');
  settings.everyMs = 60_000;
  expect(await at.live(60_000)).toHaveLength(1);
});

test('a line of blanks is read at once', () => {
  expectQuick(' ', (blanks) => saysNothing(`${blanks}x`));
});
