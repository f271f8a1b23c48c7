// What a run is told of others that wait, on a real journal.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cached } from '../../sessions/cache.ts';
import { openJsonlStore } from '../../sessions/jsonl-store.ts';
import { UNTRUSTED } from '../core/authority.ts';
import { openJournal } from '../journal/open.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { admit, line, message, SESSION } from '../testing/journal-rows.ts';
import { toldTo } from './told.ts';
import { Transcripts } from './transcripts.ts';

const earlier = { of: async () => '' };
const about = { news: async () => '' };
const NEVER = new AbortController().signal;

async function setup() {
  const dir = await tempDir();
  const opened = await openJournal({ dir: dir.path, clock: new FakeClock() });
  const { journal } = opened;
  const begin = async (n: number, taint = 0) => {
    const [accepted] = await journal.accept([{ ...admit(message(n)), taint } as ReturnType<typeof admit>]);
    const row = accepted?.kind === 'new' ? await journal.claim(accepted.row.seq) : undefined;
    if (!row) throw new Error('no row');
    return row;
  };
  return {
    ...{ journal, begin, dir: join(dir.path, 'sessions') },
    park: async (n: number, taint = 0) => {
      const { seq, generation } = await begin(n, taint);
      const waits = [{ callId: 'c', kind: 'signal', about: 'yes' }] as const;
      await journal.commit([], { seq, generation, end: { state: 'PARKED', outcome: 'parked', waits, historyTo: '' } });
    },
    told: async (row: Awaited<ReturnType<typeof begin>>) =>
      await toldTo(row, { journal, transcripts: { load: async () => [] }, maxHistory: () => 10, earlier, about }, NEVER),
    [Symbol.asyncDispose]: async () => {
      await opened[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('hostile: a run that is told what another request asks for is tainted as that one is', async () => {
  await using at = await setup();
  await at.park(1, UNTRUSTED);
  const told = await at.told(await at.begin(2));
  expect(told.notes.waiting).toContain('“text 1”');
  expect(told.taint).toBe(UNTRUSTED);
});

test('of many requests that wait the newest are quoted, and what is not quoted taints nothing', async () => {
  await using at = await setup();
  await at.park(1, UNTRUSTED);
  for (let n = 2; n <= 8; n += 1) await at.park(n);
  const told = await at.told(await at.begin(9));
  expect(told.notes.waiting?.match(/“text \d”/g)).toEqual(['“text 4”', '“text 5”', '“text 6”', '“text 7”', '“text 8”']);
  expect(told.notes.waiting).toContain('More requests wait.');
  expect(told.taint).toBe(0);
});

test('a run that waited while more was said than is kept at hand sees the history it had, and none of a session begun anew', async () => {
  await using at = await setup();
  const clock = new FakeClock();
  const store = cached(openJsonlStore({ dir: at.dir, clock, onDamage: () => undefined }));
  const lines = Array.from({ length: 600 }, (_, n) => line(`l${n}`));
  await store.append(SESSION, lines);
  await using transcripts = new Transcripts({ ...{ journal: at.journal, store, clock }, onError: () => undefined });
  // The newest are at hand, as after another turn of the conversation.
  await transcripts.load(SESSION, 201);
  const row = { ...(await at.begin(1)), historyTo: 'l2' };
  const told = () => toldTo(row, { journal: at.journal, transcripts, maxHistory: () => 10, earlier, about }, NEVER);
  const resumed = await told();
  expect(resumed.history.map(({ id }) => id)).toEqual(['l0', 'l1', 'l2']);
  expect(resumed.historyTo).toBe('l2');
  expect(resumed.notes.since).toContain('line l599');
  await store.rewrite(SESSION, lines.slice(598));
  const anew = await told();
  expect([anew.history, anew.notes.since?.match(/line l\d+/g)]).toEqual([[], ['line l598', 'line l599']]);
});

test.each([39, 200])(
  'the summary of a conversation is read also where fewer lines are given than the %i behind it',
  async (behind) => {
    await using at = await setup();
    const store = cached(openJsonlStore({ dir: at.dir, clock: new FakeClock(), onDamage: () => undefined }));
    const summary = { ...line('compacted:m0'), role: 'system', content: 'They talked.' } as const;
    await store.append(SESSION, [summary, ...Array.from({ length: behind }, (_, n) => line(`l${n}`))]);
    await using transcripts = new Transcripts({ journal: at.journal, store, clock: new FakeClock(), onError: () => undefined });
    const row = await at.begin(1);
    for (const [historyTo, newest] of [
      [undefined, `l${behind - 1}`],
      [`l${behind - 2}`, `l${behind - 2}`],
    ] as const) {
      const run = historyTo === undefined ? row : { ...row, historyTo };
      const { history } = await toldTo(run, { journal: at.journal, transcripts, maxHistory: () => 10, earlier, about }, NEVER);
      expect([history[0]?.content, history.at(-1)?.id]).toEqual(['They talked.', newest]);
      expect(history.length).toBeLessThanOrEqual(10);
    }
  },
);
