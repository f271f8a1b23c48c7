/**
 * Long answers that are shown while they are written, played by every channel whose messages can be changed,
 * through the real delivery and against a peer that enforces what the platform's pages say. `.ci/run` plays
 * every length.
 */
import { describe, expect, test, vi } from 'vitest';
import type { Channel } from '../src/core/channel.ts';
import type { RunEvent } from '../src/core/events.ts';
import type { InboundMessage } from '../src/core/message.ts';
import type { AnswerPlace } from '../src/delivery/answer-place.ts';
import { planParts } from '../src/delivery/plan.ts';
import { type SendCall, startProcess } from '../src/testing/delivery-process.ts';
import { answered, runOf } from '../src/testing/delivery-setup.ts';
import type { Verdict } from '../src/testing/dialects/verdict.ts';
import { FakeClock, inbound, until } from '../src/testing/fakes.ts';
import { isFullLoad } from '../src/testing/full-load.ts';
import { MemoryJournal } from '../src/testing/memory-journal.ts';

/** One chat of one platform. Times are those of the clock that `setup` is given. */
export interface StreamingStage extends AsyncDisposable {
  /** Able to send. */
  readonly channel: Channel;
  /** The chat, as a message of a person names it. */
  readonly chat: Partial<InboundMessage>;
  /** An adapter of its own, as the next process has. Default: the same one. */
  restart?(): Promise<Channel>;
  /**
   * The messages of the bot that people see now, oldest first, each judged by the platform's documentation.
   */
  seen(): Promise<readonly Verdict[]>;
  /** From now on every edit is refused for good. */
  refuseEdits(): void;
  /** The next edit is answered with "too many requests". */
  limitNextEdit(): void;
  /** How many calls the platform's pages allow in one chat. */
  readonly rates: readonly PublishedRate[];
  /** Real ms before each call, where the platform's client counts real seconds. Default none. */
  readonly callGapMs?: number;
}

export interface PublishedRate {
  readonly calls: 'send' | 'edit' | 'both';
  readonly most: number;
  readonly withinMs: number;
}

/** `n` in words that can be told apart in what arrived. */
type Script = (n: number) => string;

const SCRIPTS: Readonly<Record<string, Script>> = {
  Latin: (n) => `Sentence [${n}] says what comes next. `,
  Cyrillic: (n) => `Предложение [${n}] говорит о том, что будет дальше. `,
  CJK: (n) => `第[${n}]句話說明接下來要做的事情，請先**備份**資料。`,
  emoji: (n) => `👩‍👩‍👧‍👦🎉🇩🇪[${n}]👍🏽 `,
  'HTML code': (n) => `<div class="a" id="[${n}]">&amp;<b>x</b></div>\n`,
  'lines of a number behind a sentence': (n) => (n === 0 ? 'These are the numbers.\n\n' : `- ${n}\n`),
  'marks that grow when they are rendered': (n) => `- **Point [${n}]** is _un_**der**_lined_ & \`a<b\`, *see* <x> "q"\n`,
  'short lines of a list': (n) => `  - нужно [${n}] > раз\n`,
  'links in a line': (n) => `[${n}](https://example.org/a?b=${n}&c=d_e) `,
};
const CODE = 'HTML code';
const LENGTHS = [1_000, 4_100, 12_000];
const isFull = isFullLoad();
/** A test that fails takes this long, ms; one that passes some hundred. */
const PATIENCE = 120_000;

interface Played {
  readonly source: string;
  readonly verdicts: readonly Verdict[];
  readonly calls: readonly SendCall[];
}

type Case = (stage: StreamingStage, clock: FakeClock) => Promise<void>;

const CASES: Readonly<Record<string, Case>> = {
  'an answer that grows for two minutes keeps to what the platform allows of edits': async (stage, clock) => {
    const result = await play(stage, clock, wordsOf('Latin', 1_200), { steps: 120, stepMs: 1_000 });
    expectSent(result);
    expect(result.calls.map(({ call }) => call)).toEqual(['send', ...result.calls.slice(1).map(() => 'edit')]);
    expect(result.calls.length).toBeGreaterThan(4);
    if (stage.channel.limits.edits === undefined) expectGrowthToTheEnd(result);
    expectWhole(result);
    expectRates(stage, result);
  },

  'an answer that takes longer than messages can be changed for is whole all the same': async (stage, clock) => {
    expectWhole(await play(stage, clock, wordsOf('Cyrillic', 3_000), { restMs: 20 * 60_000 }));
  },

  'a status line gives way to the answer, and nothing of it stays': async (stage, clock) => {
    const result = await play(stage, clock, wordsOf('CJK', 2_500), { silentMs: 20_000 });
    expectSent(result);
    expect(result.calls[0]?.text).toMatch(/^⚙ `list_dir`… \(\d+s\)$/);
    expectWhole(result);
    expectRates(stage, result);
  },

  'a draft whose last edit is refused goes, and the whole answer is sent once': async (stage, clock) => {
    const result = await play(stage, clock, wordsOf('Latin', 2_500), { atEnd: () => stage.refuseEdits() });
    expect(result.calls.some(({ result: { kind } }) => kind === 'refused')).toBe(true);
    expectWhole(result);
  },

  'after a kill in mid-stream the next process goes on in the same message': async (stage, clock) => {
    const result = await play(stage, clock, wordsOf('CJK', 900), { killedAtStep: 3, stepMs: 4_000 });
    expectSent(result);
    expect(result.calls.map(({ call }) => call)).toEqual(['send', ...result.calls.slice(1).map(() => 'edit')]);
    expectWhole(result);
  },

  'a rate limit in mid-stream costs edits alone, and the answer ends whole': async (stage, clock) => {
    const course = { atStep: { 2: () => stage.limitNextEdit() }, stepMs: 5_000 };
    const result = await play(stage, clock, wordsOf('Cyrillic', 2_500), course);
    expect(result.calls.filter((one) => one.result.kind === 'retry')).toHaveLength(1);
    expectWhole(result);
  },
};

/**
 * `setup` resolves to a fresh chat; `what` names the channel; `unplayable`: titles of cases that its platform
 * cannot come to, each with the reason.
 */
export function streamingContract(
  what: string,
  setup: (clock: FakeClock) => Promise<StreamingStage>,
  unplayable: Readonly<Record<string, string>> = {},
): void {
  // A sample is every third script at one length; the lengths take turns, and the channels have other
  // scripts.
  const sample = (place: number) => ((place + what.length) % 3 === 0 ? [LENGTHS[place % LENGTHS.length] ?? 0] : []);
  const lengthsOf = (place: number) => (isFull ? LENGTHS : sample(place));
  const lengths = Object.keys(SCRIPTS).flatMap((name, place) => lengthsOf(place).map((length) => ({ name, length })));

  describe(`answers that ${what} shows while they are written`, () => {
    vi.setConfig({ testTimeout: PATIENCE });

    test.each(lengths)('$length characters of $name end as one answer, whole and in order', async ({ name, length }) => {
      const clock = new FakeClock();
      await using stage = await setup(clock);
      const text = wordsOf(name, length);
      const result = await play(stage, clock, name === CODE ? `\`\`\`html\n${text}\n\`\`\`` : text);
      expectSent(result);
      expectWhole(result);
      expectRates(stage, result);
    });

    const playable = Object.entries(CASES).filter(([title]) => unplayable[title] === undefined);
    test.each(playable)('%s', async (_title, run) => {
      const clock = new FakeClock();
      await using stage = await setup(clock);
      await run(stage, clock);
    });
  });
}

function wordsOf(name: string, length: number): string {
  let text = '';
  for (let n = 0; text.length < length; n += 1) text += SCRIPTS[name]?.(n) ?? name;
  return text.trimEnd();
}

interface Course {
  /** Into how many pieces the model's text comes. Default 6. */
  readonly steps?: number;
  /** Between two of them. Default 2 s. */
  readonly stepMs?: number;
  /** Between the last piece and the end of the turn. Default none. */
  readonly restMs?: number;
  /** For so long a tool is under way before the first piece, and a status line says so. Default none. */
  readonly silentMs?: number;
  /** Called before the piece of that number. */
  readonly atStep?: Readonly<Record<number, () => void>>;
  /**
   * The process is killed before the piece of that number; the next one asks the model anew. Default: it
   * lives on.
   */
  readonly killedAtStep?: number;
  /** Called before the answer is delivered. */
  readonly atEnd?: () => void;
}

/** The answer as the daemon shows and delivers it; what the chat holds in the end. */
async function play(stage: StreamingStage, clock: FakeClock, source: string, course: Course = {}): Promise<Played> {
  const { steps = 6, stepMs = 2_000, restMs = 0, silentMs = 0, killedAtStep, atStep = {}, atEnd } = course;
  const calls: SendCall[] = [];
  const message = inbound({ channel: stage.channel.name, account: stage.channel.account, ...stage.chat });
  const { callGapMs = 0 } = stage;
  const shared = { clock, calls, callGapMs, hasStatus: silentMs > 0 };
  let alive = startProcess({ ...shared, channel: stage.channel, journal: new MemoryJournal(clock) });
  await using open = new AsyncDisposableStack();
  open.defer(() => alive.delivery[Symbol.asyncDispose]());
  const tell = (event: RunEvent): void => alive.delivery.observe({ ...event, messageId: message.id });
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 500) {
      await clock.advance(Math.min(500, left));
      // Time stands still while a call is at the platform.
      await until('the platform answers', () => alive.under.way === 0);
    }
  };
  const begin = async (attempt: number): Promise<AnswerPlace> => {
    const place = alive.delivery.answer(runOf(message, attempt));
    await place.open();
    tell({ at: 0, type: 'model.started', model: 'm', iteration: 1 });
    return place;
  };
  const size = Math.ceil(source.length / steps);
  const write = async (from: number, to: number): Promise<void> => {
    for (let step = from; step < to; step += 1) {
      atStep[step]?.();
      tell({ at: 0, type: 'model.text', text: source.slice(step * size, (step + 1) * size) });
      await pass(stepMs);
    }
  };
  let place = await begin(1);
  tell({ at: 0, type: 'tool.started', tool: 'list_dir', callId: 'c' });
  await pass(silentMs);
  tell({ at: 0, type: 'tool.done', tool: 'list_dir', callId: 'c', ok: true, ms: silentMs });
  if (killedAtStep !== undefined) {
    await write(0, killedAtStep);
    const journal = alive.kill();
    alive = startProcess({ ...shared, channel: (await stage.restart?.()) ?? stage.channel, journal });
    const { sending, outboxLanes } = await journal.recover();
    await alive.delivery.recover(sending, outboxLanes);
    place = await begin(2);
  }
  await write(0, steps);
  await pass(restMs);
  atEnd?.();
  const plan = { message, text: source, files: [], limits: alive.channel.limits, now: clock.now(), expiresInMs: 1e7 };
  const { parts } = await place.of(answered(planParts(plan)));
  await alive.journal.enqueue(parts);
  for (const { lane } of parts) alive.delivery.poke(lane);
  const settled = async (): Promise<boolean> => {
    await pass(1_000);
    return [...alive.journal.rows.values()].every(({ state }) => state === 'SENT');
  };
  await until('it is settled', settled, PATIENCE);
  return { source, calls, verdicts: await stage.seen() };
}

/** No call was refused or asked to wait. */
function expectSent({ calls }: Played): void {
  expect(calls.filter(({ result }) => result.kind !== 'sent')).toEqual([]);
}

function expectWhole({ source, verdicts }: Played): void {
  expect(verdicts.flatMap(({ violations }) => violations)).toEqual([]);
  // Addresses of links stand behind their words where the platform has no links.
  const shown = verdicts.map(({ visible }) => visible.replace(/ ?\(https:[^)\s]*\)/g, '')).join('\n');
  expect(lettersOf(shown)).toBe(lettersOf(source.replace(/^```html$/gm, '').replace(/\]\(https:[^)\s]*\)/g, ']')));
  for (const { visible } of verdicts) expect(visible.trimEnd()).not.toMatch(/…$/);
}

/** Letters, digits, emoji and brackets: what no dialect may lose, double or turn round. */
function lettersOf(text: string): string {
  return text.replace(/[^\p{L}\p{N}\p{Extended_Pictographic}\p{Regional_Indicator}\p{Emoji_Modifier}]/gu, '');
}

/** Where a message takes any number of edits, what people see is never far behind the model. */
function expectGrowthToTheEnd({ calls }: Played): void {
  const gaps = calls.slice(1).map(({ at }, n) => at - (calls[n]?.at ?? 0));
  expect(Math.max(...gaps)).toBeLessThan(10_000);
}

function expectRates({ rates }: StreamingStage, { calls }: Played): void {
  for (const { calls: kind, most, withinMs } of rates) {
    const times = calls.filter(({ call }) => kind === 'both' || kind === call).map(({ at }) => at);
    const crowded = times.filter((at, n) => (times[n + most] ?? Number.POSITIVE_INFINITY) - at < withinMs);
    expect({ kind, withinMs, crowded }).toEqual({ kind, withinMs, crowded: [] });
  }
}
