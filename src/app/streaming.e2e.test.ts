// Answers that are shown while they are written: the real program, our Bot API server, a model that takes its time.
import { expect, test, vi } from 'vitest';
import { until } from '../testing/fakes.ts';
import { callPieces, messagesOf, stream, textPieces } from '../testing/model-server.ts';
import { type TelegramScene, telegramScene } from '../testing/telegram-scene.ts';

/** Processes start slowly on a machine that does other things; a test that fails takes this long, ms. */
const PATIENCE = 30_000;
vi.setConfig({ testTimeout: 3 * PATIENCE });

const WORDS = Array.from({ length: 30 }, (_, n) => `word${n} `);
const WHOLE = WORDS.join('').trim();

/** Three seconds and a bit of text. */
const slowly = (words: readonly string[] = WORDS, gapMs = 110) => stream(textPieces(...words), { gapMs });

/** The first answer never ends; whoever was told half of it is killed meanwhile. */
const firstHangs = (then: () => ReturnType<typeof stream>) => (_request: unknown, index: number) =>
  index === 0 ? stream(textPieces(...WORDS).slice(0, 25), { gapMs: 110, end: 'hang' }) : then();

/** Ms between two changes of what is shown while the answer is written. */
function gaps({ platform }: TelegramScene): readonly number[] {
  const times = [...platform.sends, ...platform.edits].map(({ at }) => at).sort((a, b) => a - b);
  // The last one is the answer itself, which waits for nobody.
  return times.slice(1, -1).map((at, n) => at - (times[n] ?? 0));
}

test.concurrent('an answer that takes seconds is one message that grows, at most once a second, and ends whole', async () => {
  await using at = await telegramScene({ script: () => slowly() });
  await using daemon = await at.start();
  at.platform.inject({ text: 'tell me' });
  const status = await daemon.settled(1, PATIENCE);
  expect(at.texts()).toEqual([WHOLE]);
  expect(at.platform.edits.length).toBeGreaterThanOrEqual(2);
  for (const { text } of at.platform.edits.slice(0, -1)) {
    expect(text.endsWith(' …')).toBe(true);
    expect(WHOLE.startsWith(text.slice(0, -2))).toBe(true);
  }
  // As seen at the other end of a busy machine; the exact times are those of draft.test.ts.
  expect(gaps(at).filter((ms) => ms < 700)).toEqual([]);
  expect(at.platform.edits.length).toBeLessThanOrEqual(4);
  expect(status.journal.outbox).toMatchObject({ SENT: 2, UNKNOWN: 0, DEAD: 0, EXPIRED: 0 });
});

test.concurrent('an answer that is complete within a second is sent once, and edited never', async () => {
  await using at = await telegramScene({ script: () => slowly(WORDS.slice(0, 5), 40) });
  await using daemon = await at.start();
  at.platform.inject({ text: 'quick' });
  const { journal } = await daemon.settled(1, PATIENCE);
  expect([at.texts(), at.platform.edits, journal.outbox.SENT]).toEqual([[WORDS.slice(0, 5).join('').trim()], [], 1]);
});

test.concurrent('streaming "off" sends an answer when it is complete', async () => {
  await using at = await telegramScene({ script: () => slowly(WORDS, 70), entry: { streaming: 'off' } });
  await using daemon = await at.start();
  at.platform.inject({ text: 'slow' });
  await daemon.settled(1, PATIENCE);
  expect([at.texts(), at.platform.edits]).toEqual([[WHOLE], []]);
});

test.concurrent('F4 F9 killed in mid-stream: the same message gets the whole answer after the restart', async () => {
  await using at = await telegramScene({ script: firstHangs(slowly) });
  at.platform.inject({ text: 'tell me' });
  {
    await using first = await at.start();
    await until('half of it is shown', () => at.platform.edits.length === 1, PATIENCE);
    await first.stop('SIGKILL');
  }
  expect(at.texts()[0]).toMatch(/ …$/);
  await using second = await at.start();
  const { journal } = await second.settled(1, PATIENCE);
  expect(at.texts()).toEqual([WHOLE]);
  expect(at.model.requests).toHaveLength(2);
  expect(journal.outbox).toMatchObject({ SENT: 2, UNKNOWN: 0, DEAD: 0 });
});

test.concurrent('F4 killed in mid-stream and answered at once after the restart: the half answer does not stay', async () => {
  await using at = await telegramScene({ script: firstHangs(() => stream(textPieces('done'))) });
  at.platform.inject({ text: 'tell me' });
  {
    await using first = await at.start();
    await until('half of it is shown', () => at.platform.edits.length === 1, PATIENCE);
    await first.stop('SIGKILL');
  }
  await using second = await at.start();
  await second.settled(1, PATIENCE);
  expect(at.texts()).toEqual(['done']);
});

test.concurrent('F36 an answer longer than a message: the first part takes the place of what was shown, the rest follows', async () => {
  const words = Array.from({ length: 20 }, (_, n) => Array.from({ length: 50 }, (__, m) => `w${n * 50 + m} of it `).join(''));
  await using at = await telegramScene({ script: () => slowly(words, 150) });
  await using daemon = await at.start();
  at.platform.inject({ text: 'a long one' });
  await daemon.settled(1, PATIENCE);
  const texts = at.texts();
  expect(texts.map((text) => text.slice(0, 300))).toHaveLength(3);
  expect(texts.every((text) => text.length <= 4_000 && !text.includes('…'))).toBe(true);
  expect(texts.join(' ')).toBe(words.join('').trim());
});

test.concurrent('F35 a 429 in mid-stream silences the edits for as long as it says, and the answer ends whole', async () => {
  await using at = await telegramScene({ script: () => slowly(WORDS, 130) });
  at.platform.fault({ method: 'editMessageText', kind: 'error', status: 429, parameters: { retry_after: 2 } });
  await using daemon = await at.start();
  at.platform.inject({ text: 'tell me' });
  await until('the edit was refused', () => at.platform.calls.includes('editMessageText'), PATIENCE);
  const refusedAt = Date.now();
  const { journal } = await daemon.settled(1, PATIENCE);
  expect(at.texts()).toEqual([WHOLE]);
  expect(at.platform.edits[0]?.at).toBeGreaterThanOrEqual(refusedAt + 1_900);
  expect(journal.outbox).toMatchObject({ SENT: 2, UNKNOWN: 0, DEAD: 0 });
});

test.concurrent('/stop in mid-stream leaves what was written with a mark, and nothing that looks like a whole answer', async () => {
  await using at = await telegramScene({ script: firstHangs(slowly) });
  await using daemon = await at.start();
  at.platform.inject({ text: 'tell me' });
  await until('it grows', () => at.platform.edits.length === 1, PATIENCE);
  at.platform.inject({ text: '/stop' });
  await until('it is marked', () => at.texts()[0]?.endsWith('🛑 Stopped here.'), PATIENCE);
  const { journal } = await daemon.settled(2, PATIENCE);
  expect(at.texts()).toEqual([expect.stringMatching(/^word0 word1 .*word\d+\n\n🛑 Stopped here\.$/s), '🛑 Cancelled.']);
  expect(journal.outbox).toMatchObject({ SENT: 3, UNKNOWN: 0, DEAD: 0 });
});

test.concurrent('a turn that fails says so in place of the half answer', async () => {
  await using at = await telegramScene({
    script: (_request, index) =>
      index === 0 ? stream(textPieces(...WORDS).slice(0, 20), { gapMs: 110, end: 'destroy' }) : { status: 401, pieces: ['{}'] },
  });
  await using daemon = await at.start();
  at.platform.inject({ text: 'tell me' });
  await until('half of it is shown', () => at.texts()[0]?.endsWith(' …'), PATIENCE);
  await daemon.settled(1, PATIENCE);
  expect(at.texts()).toEqual([expect.stringContaining('GH21')]);
});

test.concurrent('what the model says before it calls a tool may be shown, and the answer takes its place', async () => {
  await using at = await telegramScene({
    script: (request) => {
      const asked = messagesOf(request).some(({ role }) => role === 'tool');
      if (asked) return slowly(WORDS, 60);
      const [role = '', ...call] = callPieces({ name: 'list_dir', arguments: { path: '.' } });
      return stream(
        [...textPieces('Let me look. ').slice(0, 2), ...Array.from({ length: 14 }, () => ': wait\n\n'), role, ...call],
        {
          gapMs: 110,
        },
      );
    },
  });
  await using daemon = await at.start();
  at.platform.inject({ text: 'tell me' });
  await until(
    'the first words are shown',
    () => at.texts()[0] === 'Let me look. …' || at.texts()[0] === 'Let me look. …',
    PATIENCE,
  );
  await daemon.settled(1, PATIENCE);
  expect(at.texts()).toEqual([WHOLE]);
});

/** Whoever is killed here has shown something, or was about to. */
test.concurrent.each([
  ['F9 when the draft is on disk and not sent', 'enqueue:after'],
  ['F7 after the final commit', 'finish:after'],
  ['F8 when the answer is SENDING and the edit not made', 'sending:after:2'],
  ['F8 when the edit was made and is not recorded', 'settle:before:2'],
])('%s, killed: one message, whole', async (_title, killAt) => {
  const words = WORDS.slice(0, 14);
  await using at = await telegramScene({ script: () => slowly(words) });
  at.platform.inject({ text: 'tell me' });
  {
    await using dying = await at.start({ killAt });
    expect((await dying.ended).signal).toBe('SIGKILL');
  }
  await using last = await at.start();
  const { journal } = await last.settled(1, PATIENCE);
  expect(at.texts()).toEqual([words.join('').trim()]);
  expect(journal.outbox).toMatchObject({ UNKNOWN: 0, DEAD: 0 });
});

test.concurrent('F8 killed when the draft was sent and is not recorded: counted as UNKNOWN, and the answer is sent', async () => {
  const words = WORDS.slice(0, 14);
  await using at = await telegramScene({ script: () => slowly(words) });
  at.platform.inject({ text: 'tell me' });
  {
    await using dying = await at.start({ killAt: 'settle:before' });
    expect((await dying.ended).signal).toBe('SIGKILL');
  }
  await using last = await at.start();
  const { journal } = await last.settled(1, PATIENCE);
  expect(at.texts()).toEqual([expect.stringMatching(/ …$/), words.join('').trim()]);
  expect(journal.outbox).toMatchObject({ UNKNOWN: 1, SENT: 1 });
});
