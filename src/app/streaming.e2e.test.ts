// Answers that are shown while they are written, on a Bot API server: first within this process, then by the
// real program that is killed.
import { expect, test, vi } from 'vitest';
import { channel as telegram } from '../../channels/telegram/index.ts';
import type { Model, ModelEvent, ModelRequest } from '../core/model.ts';
import { startTelegramServer, type TelegramServer } from '../simulator/telegram/server.ts';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { stream, textPieces } from '../testing/model-server.ts';
import { nth, testSample } from '../testing/sample.ts';
import { SteadyClock } from '../testing/steady-clock.ts';
import { telegramScene } from '../testing/telegram/scene.ts';
import { testDaemon } from '../testing/test-daemon.ts';

/** Processes start slowly on a machine that does other things; a test that fails takes this long, ms. */
const PATIENCE = 60_000;
vi.setConfig({ testTimeout: 3 * PATIENCE });

const WORDS = Array.from({ length: 30 }, (_, n) => `word${n} `);
const WHOLE = WORDS.join('').trim();

const USAGE = { tokensIn: 1, tokensOut: 1, tokensCached: 0 };
const CALL = { id: 'c', name: 'list_dir', arguments: '{"path":"."}' };

/** What is shown while the model writes is a matter of time: of a time in which this process runs. */
const clock = new SteadyClock();

/** The words of one model call, that far apart, and what it ends with. */
async function* slowly(
  signal: AbortSignal,
  {
    words = WORDS,
    gapMs = 110,
    end = 'answer',
  }: { words?: readonly string[]; gapMs?: number; end?: 'answer' | 'call' | 'fail' } = {},
): AsyncIterable<ModelEvent> {
  const failure = { code: 'GH2101', message: 'no', hint: 'none', retryable: false } as const;
  for (const text of words) {
    yield { type: 'text', text };
    await clock.sleep(gapMs, signal).catch(() => undefined);
    if (signal.aborted) return yield { type: 'failed', failure: { ...failure, kind: 'aborted' } };
  }
  if (end === 'fail') return yield { type: 'failed', failure: { ...failure, kind: 'auth' } };
  const text = words.join('');
  const toolCalls = end === 'call' ? [CALL] : [];
  const answer = { text, toolCalls, stop: end === 'call' ? 'tools' : 'end', usage: USAGE, provider: 'p', model: 'm' } as const;
  yield { type: 'done', answer };
}

type Script = (signal: AbortSignal, request: ModelRequest) => AsyncIterable<ModelEvent>;

async function scene(script: Script, entry: Readonly<Record<string, unknown>> = {}) {
  const platform = await startTelegramServer();
  const dir = await tempDir();
  const settings = telegram.settings.parse({ api_root: platform.url, poll_timeout_secs: 1, rate_limits: false });
  const model: Model = { id: 'p/m', contextWindow: 128_000, call: (request, signal) => script(signal, request) };
  const running = await testDaemon({
    dataDir: dir.path,
    model,
    entry: { type: 'telegram', settings, ...entry },
    daemon: { registry: { telegram: async () => telegram }, secret: () => platform.token, clock },
  });
  return {
    platform,
    texts: () => platform.sends.map(({ text }) => text),
    settled: (messages: number) =>
      until(
        `${messages} messages are settled`,
        async () => {
          const { inbox, outbox } = await running.daemon.journal.counts();
          const isOver = inbox.DONE + inbox.DEAD === messages && outbox.PENDING + outbox.SENDING === 0;
          return isOver ? outbox : undefined;
        },
        PATIENCE,
      ),
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await platform.close();
      await dir[Symbol.asyncDispose]();
    },
  };
}

/** Ms between two changes of what is shown while the answer is written. */
function gaps(platform: TelegramServer): readonly number[] {
  const times = [...platform.sends, ...platform.edits].map(({ at }) => at).sort((a, b) => a - b);
  // The last one is the answer itself, which waits for nobody.
  return times.slice(1, -1).map((at, n) => at - (times[n] ?? 0));
}

test.concurrent('an answer that takes seconds is one message that grows, at most once a second, and ends whole', async () => {
  await using at = await scene((signal) => slowly(signal));
  at.platform.inject({ text: 'tell me' });
  const outbox = await at.settled(1);
  expect(at.texts()).toEqual([WHOLE]);
  expect(at.platform.edits.length).toBeGreaterThanOrEqual(2);
  for (const { text } of at.platform.edits.slice(0, -1)) {
    expect(text.endsWith(' …')).toBe(true);
    expect(WHOLE.startsWith(text.slice(0, -2))).toBe(true);
  }
  // As seen at the other end of a busy machine; the exact times are those of draft.test.ts.
  const apart = gaps(at.platform);
  expect(apart.filter((ms) => ms < 400)).toEqual([]);
  expect(apart.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThan(apart.length * 800);
  expect(outbox).toMatchObject({ SENT: 2, UNKNOWN: 0, DEAD: 0, EXPIRED: 0 });
});

test.concurrent('an answer that is complete within a second is sent once, and edited never', async () => {
  await using at = await scene((signal) => slowly(signal, { words: WORDS.slice(0, 5), gapMs: 1 }));
  at.platform.inject({ text: 'quick' });
  const { SENT } = await at.settled(1);
  expect([at.texts(), at.platform.edits, SENT]).toEqual([[WORDS.slice(0, 5).join('').trim()], [], 1]);
});

test.concurrent('streaming "off" sends an answer when it is complete', async () => {
  await using at = await scene((signal) => slowly(signal, { gapMs: 70 }), { streaming: 'off' });
  at.platform.inject({ text: 'slow' });
  await at.settled(1);
  expect([at.texts(), at.platform.edits]).toEqual([[WHOLE], []]);
});

test.concurrent('F36 an answer longer than a message: the first part takes the place of what was shown, the rest follows', async () => {
  const words = Array.from({ length: 20 }, (_, n) => Array.from({ length: 50 }, (__, m) => `w${n * 50 + m} of it `).join(''));
  await using at = await scene((signal) => slowly(signal, { words, gapMs: 150 }));
  at.platform.inject({ text: 'a long one' });
  await at.settled(1);
  expect(at.texts()).toHaveLength(3);
  expect(at.texts().every((text) => text.length <= 4_000 && !text.includes('…'))).toBe(true);
  expect(at.texts().join(' ')).toBe(words.join('').trim());
});

test.concurrent('F35 a 429 in mid-stream silences the edits for as long as it says, and the answer ends whole', async () => {
  await using at = await scene((signal) => slowly(signal, { gapMs: 130 }));
  at.platform.fault({ method: 'editMessageText', kind: 'error', status: 429, parameters: { retry_after: 2 } });
  at.platform.inject({ text: 'tell me' });
  // Taken before each look: never later than the refusal.
  let refusedAt = Date.now();
  await until(
    'the edit was refused',
    () => {
      if (at.platform.calls.includes('editMessageText')) return true;
      refusedAt = Date.now();
      return false;
    },
    PATIENCE,
  );
  const outbox = await at.settled(1);
  expect(at.texts()).toEqual([WHOLE]);
  expect(at.platform.edits[0]?.at).toBeGreaterThanOrEqual(refusedAt + 1_900);
  expect(outbox).toMatchObject({ SENT: 2, UNKNOWN: 0, DEAD: 0 });
});

test.concurrent('/stop in mid-stream leaves what was written with a mark, and nothing that looks like a whole answer', async () => {
  await using at = await scene((signal) => slowly(signal, { gapMs: 1_000 }));
  at.platform.inject({ text: 'tell me' });
  await until('it grows', () => at.platform.edits.length > 0, PATIENCE);
  at.platform.inject({ text: '/stop' });
  const outbox = await at.settled(2);
  expect(at.texts()).toEqual([expect.stringMatching(/^word0 word1 .*word\d+\n\n🛑 Stopped here\.$/s), '🛑 Cancelled.']);
  expect(outbox).toMatchObject({ SENT: 3, UNKNOWN: 0, DEAD: 0 });
});

test.concurrent('a turn that fails says so in place of the half answer', async () => {
  await using at = await scene((signal) => slowly(signal, { words: WORDS.slice(0, 3), gapMs: 700, end: 'fail' }));
  at.platform.inject({ text: 'tell me' });
  await until('half of it is shown', () => at.texts()[0]?.endsWith(' …'), PATIENCE);
  await at.settled(1);
  expect(at.texts()).toEqual([expect.stringContaining('GH2101')]);
});

test.concurrent('what the model says before it calls a tool may be shown, and the answer takes its place', async () => {
  await using at = await scene((signal, { messages }) =>
    messages.at(-1)?.role === 'tool'
      ? slowly(signal, { gapMs: 60 })
      : slowly(signal, { words: ['Let me look.'], gapMs: 2_000, end: 'call' }),
  );
  at.platform.inject({ text: 'tell me' });
  await until('the first words are shown', () => at.texts()[0] === 'Let me look. …', PATIENCE);
  await at.settled(1);
  expect(at.texts()).toEqual([WHOLE]);
});

/**
 * The first answer never ends, and goes on once some of it is shown; the process that showed it is killed
 * meanwhile.
 */
const firstHangs = (then: readonly string[], shown: Promise<void>) => (_request: unknown, index: number) =>
  index === 0
    ? stream(textPieces(...WORDS).slice(0, 25), { gapMs: 110, held: { before: 13, until: shown }, end: 'hang' })
    : stream(textPieces(...then), { gapMs: 110 });

test.concurrent.each([
  ['and the next answer takes its time, too', WORDS],
  ['and the next answer comes at once', ['done']],
])('F4 F9 killed in mid-stream, %s: the same message gets the whole answer', async (_title, words) => {
  const shown = gate();
  await using at = await telegramScene({ script: firstHangs(words, shown.opened) });
  at.platform.inject({ text: 'tell me' });
  {
    await using first = await at.spawn();
    await until('it is shown', () => at.texts().length > 0, PATIENCE);
    shown.open();
    await until('it grows', () => at.platform.edits.length > 0, PATIENCE);
    await first.stop('SIGKILL');
  }
  expect(at.texts()[0]).toMatch(/ …$/);
  await using second = await at.start();
  const { journal } = await second.settled(1, PATIENCE);
  expect(at.texts()).toEqual([words.join('').trim()]);
  expect(at.model.requests).toHaveLength(2);
  expect(journal.outbox).toMatchObject({ SENT: 2, UNKNOWN: 0, DEAD: 0 });
});

test.concurrent('F4 F9 killed in mid-stream of an answer of several messages: the same message becomes its first, and no word is lost', async () => {
  const shown = gate();
  const sentences = Array.from({ length: 30 }, (_, n) =>
    Array.from({ length: 10 }, (__, m) => `第[${n * 10 + m}]句話說明接下來要做的事情，請先備份資料再繼續。`).join(''),
  );
  const held = { before: 4, until: shown.opened };
  await using at = await telegramScene({ script: () => stream(textPieces(...sentences), { gapMs: 110, held }) });
  at.platform.inject({ text: 'tell me' });
  {
    await using first = await at.spawn();
    await until('it is shown', () => at.texts().length > 0, PATIENCE);
    shown.open();
    await until('it grows', () => at.platform.edits.length > 0, PATIENCE);
    await first.stop('SIGKILL');
  }
  const [{ messageId } = { messageId: 0 }] = at.platform.sends;
  await using second = await at.start();
  const { journal } = await second.settled(1, PATIENCE);
  expect(at.platform.sends[0]?.messageId).toBe(messageId);
  expect(at.texts().length).toBeGreaterThan(1);
  expect(at.texts().join('')).toBe(sentences.join(''));
  expect(journal.outbox).toMatchObject({ UNKNOWN: 0, DEAD: 0 });
});

const SHORT = WORDS.slice(0, 14);
const ONCE = [SHORT.join('').trim()];

/**
 * Where a daemon is killed that has shown something, or was about to. The platform cannot tell of a send
 * whether it came, and edits.
 */
const POINTS = [
  ['F9 when the draft is on disk and not sent', 'enqueue:after', ONCE, 0],
  ['F8 when the draft was sent and is not recorded', 'settle:before', [expect.stringMatching(/ …$/), ...ONCE], 1],
  ['F7 after the final commit', 'finish:after', ONCE, 0],
  ['F8 when the answer is SENDING and the edit not made', 'sending:after:2', ONCE, 0],
  ['F8 when the edit was made and is not recorded', 'settle:before:2', ONCE, 0],
] as const;

testSample(
  POINTS,
  nth(2),
  test.concurrent,
)('%s, killed: the answer stands whole, and a doubt is counted', async ([, killAt, texts, unknown]) => {
  const shown = gate();
  // Every answer goes on to its end once something of the first is shown.
  const held = { before: 12, until: shown.opened };
  await using at = await telegramScene({ script: () => stream(textPieces(...SHORT), { gapMs: 110, held }) });
  at.platform.inject({ text: 'tell me' });
  {
    await using dying = await at.spawn({ killAt });
    let gone = false;
    const ended = dying.ended.finally(() => {
      gone = true;
    });
    await until('it is shown, or killed before', () => gone || at.texts().length > 0, PATIENCE);
    shown.open();
    expect((await ended).signal).toBe('SIGKILL');
  }
  await using last = await at.start();
  const { journal } = await last.settled(1, PATIENCE);
  expect(at.texts()).toEqual(texts);
  expect(journal.outbox).toMatchObject({ UNKNOWN: unknown, DEAD: 0 });
});
