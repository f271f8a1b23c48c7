/**
 * The faults of a provider behind the stack that serves a turn: wire, retry, and a chain of two models. What
 * the wires make of broken bytes is in `wire-faults.test.ts`. Here is what becomes of it: the model is asked
 * again, another one is asked, or the user is told.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { FailureKind, ModelEvent } from '../core/model.ts';
import { FakeClock, until } from '../testing/fakes.ts';
import { type ModelServer, type Reply, startModelServer, stream } from '../testing/model-server.ts';
import { WireMatrix } from '../testing/wire-matrix.ts';
import { collect, modelRequest, streamedText } from './contract.ts';
import { failureText } from './failure-text.ts';
import { anthropicSubject } from './protocols/anthropic-contract.ts';
import { geminiSubject } from './protocols/gemini-contract.ts';
import { openAiChatSubject } from './protocols/openai-chat-contract.ts';
import { openAiResponsesSubject } from './protocols/openai-responses-contract.ts';
import { type RawWire, type WireSubject, wireOptions } from './protocols/wire-contract.ts';
import { createRetryGate, withRetry } from './retry.ts';
import { createChain } from './routing/chain.ts';

type SlotName = 'main' | 'spare';
/** How one request of a wire ends: with an answer, a name that does not resolve, or a lookup without end. */
type Play = Reply | 'ENOTFOUND' | 'EAI_AGAIN' | 'lookup hangs';
/** The n-th request of a slot gets the n-th play, all further ones the last. */
type Script = (raw: RawWire) => readonly Play[];

/** What a call came to. */
interface Outcome {
  /** Requests that the wires of main and spare made. */
  readonly requests: readonly [number, number];
  /** Waits between them, ms. */
  readonly waits: readonly number[];
  /** Why the other model took over, and why the first one again. */
  readonly switched?: readonly FailureKind[];
  /** Text or reasoning was taken back that often. */
  readonly restarts?: number;
  /** What the user has in the end: the text of the answer, or a sentence. */
  readonly user: string;
}

interface Fault {
  /** Row of the fault matrix, and what happens. */
  readonly name: string;
  readonly main: Script;
  /** Default: answers. */
  readonly spare?: Script;
  /** Both models are asked with the same key. */
  readonly oneKey?: boolean;
  /** Time passes for the main model only once this is there: its request, or its first text. */
  readonly silentAfter?: 'request' | 'text';
  readonly outcome: Outcome;
}

const WHOLE = 'main answers';
const SPARE = 'spare answers';
/** The nominal waits of 1, 2 and 4 s at their shortest (`random` is 0). */
const BACKOFF = [500, 1_000, 2_000];
/** With another model at hand, a wait above this is not waited. */
const MAX_WAIT_MS = 10_000;

const says = (raw: RawWire, text: string): Reply => stream([raw.open + raw.text(text, 0) + raw.close(false)]);
const main = (raw: RawWire): Reply => says(raw, WHOLE);
const spare: Script = (raw) => [says(raw, SPARE)];
const status = (code: number, headers: Readonly<Record<string, string>> = {}): Reply => ({
  status: code,
  headers: { 'content-type': 'application/json', ...headers },
  pieces: [JSON.stringify({ error: { message: 'no' } })],
});
/** Text that is to be taken back, and then `rest`. */
const breaks = (raw: RawWire, rest: string, end: Reply['end'] = 'close'): Reply =>
  stream([raw.open + raw.text('par', 0), rest], { end });
const empty = (raw: RawWire): Reply => stream([raw.open + raw.close(false)]);
const thoughtOnly = (raw: RawWire): Reply => stream([raw.open + raw.thought('hm') + raw.close(false)]);
const halfCall = (raw: RawWire): Reply => {
  const call = raw.calls([{ id: 'call_1', name: 'pay', arguments: '{"amount":100}' }]);
  return breaks(raw, call.slice(0, Math.floor(call.length * 0.8)), 'destroy');
};
const crumbs = (raw: RawWire): Reply => {
  const bytes = Buffer.from((raw.open + raw.text(WHOLE, 0) + raw.close(false)).replace(/\r?\n/g, '\r\n').trimEnd());
  return stream(Array.from({ length: Math.ceil(bytes.length / 7) }, (_, n) => bytes.subarray(n * 7, n * 7 + 7)));
};

const FAULTS: readonly Fault[] = [
  {
    name: 'F23 name does not resolve',
    main: () => ['ENOTFOUND'],
    outcome: { requests: [4, 1], waits: BACKOFF, switched: ['network'], user: SPARE },
  },
  {
    name: 'F23 name resolves again',
    main: (raw) => ['EAI_AGAIN', main(raw)],
    outcome: { requests: [2, 0], waits: [500], user: WHOLE },
  },
  {
    name: 'F23 lookup without end',
    main: () => ['lookup hangs'],
    silentAfter: 'request',
    outcome: { requests: [1, 1], waits: [], switched: ['timeout'], user: SPARE },
  },
  {
    name: 'F23 no name resolves',
    main: () => ['ENOTFOUND'],
    spare: () => ['ENOTFOUND'],
    outcome: {
      ...{ requests: [4, 4], waits: [...BACKOFF, ...BACKOFF], switched: ['network'] },
      user: 'The AI model cannot be reached. Please ask again later; the operator has the details. (GH2104)',
    },
  },
  {
    name: 'F24 429, Retry-After 3',
    main: (raw) => [status(429, { 'retry-after': '3' }), main(raw)],
    outcome: { requests: [2, 0], waits: [3_000], user: WHOLE },
  },
  {
    name: 'F24 429, Retry-After 30',
    main: () => [status(429, { 'retry-after': '30' })],
    outcome: { requests: [1, 1], waits: [], switched: ['rate-limit'], user: SPARE },
  },
  {
    // The other model is of the same key: it is not asked within the limit, and nobody else is left.
    name: 'F24 429 of a shared key',
    main: (raw) => [status(429, { 'retry-after': '30' }), main(raw)],
    oneKey: true,
    outcome: { requests: [2, 0], waits: [30_000], switched: ['rate-limit', 'rate-limit'], user: WHOLE },
  },
  {
    name: 'F24 429 everywhere, 5 min',
    main: () => [status(429, { 'retry-after': '300' })],
    spare: () => [status(429, { 'retry-after': '600' })],
    outcome: {
      ...{ requests: [1, 1], waits: [], switched: ['rate-limit'] },
      user: 'The AI model gets too many requests at the moment. Please ask again in 5 min. (GH2102)',
    },
  },
  {
    name: 'F25 500, 502, 529, answer',
    main: (raw) => [status(500), status(502), status(529), main(raw)],
    outcome: { requests: [4, 0], waits: BACKOFF, user: WHOLE },
  },
  {
    name: 'F25 502 for good',
    main: () => [status(502)],
    outcome: { requests: [4, 1], waits: BACKOFF, switched: ['server'], user: SPARE },
  },
  {
    name: 'F25 overloaded in the stream',
    main: (raw) => [breaks(raw, raw.overloaded('busy')), main(raw)],
    outcome: { requests: [2, 0], waits: [500], restarts: 1, user: WHOLE },
  },
  {
    name: 'F25 529 everywhere',
    main: () => [status(529)],
    spare: () => [status(529)],
    outcome: {
      ...{ requests: [4, 4], waits: [...BACKOFF, ...BACKOFF], switched: ['overloaded'] },
      user: 'The AI model is overloaded at the moment. Please ask again in a minute. (GH2103)',
    },
  },
  ...(
    [
      [401, 'auth'],
      [403, 'forbidden'],
      [402, 'payment'],
    ] as const
  ).map(
    ([code, kind]): Fault => ({
      name: `F26 ${code}`,
      main: () => [status(code)],
      outcome: { requests: [1, 1], waits: [], switched: [kind], user: SPARE },
    }),
  ),
  {
    name: 'F26 401 everywhere',
    main: () => [status(401)],
    spare: () => [status(401)],
    outcome: {
      ...{ requests: [1, 1], waits: [], switched: ['auth'] },
      user: 'The AI model refused our access key. The operator has to renew it. (GH2101)',
    },
  },
  {
    name: 'F27 headers, then silence',
    main: (raw) => [stream([raw.open], { end: 'hang' })],
    silentAfter: 'request',
    outcome: { requests: [1, 1], waits: [], switched: ['timeout'], user: SPARE },
  },
  {
    name: 'F27 text, then silence',
    main: (raw) => [breaks(raw, '', 'hang')],
    silentAfter: 'text',
    outcome: { requests: [1, 1], waits: [], switched: ['timeout'], restarts: 1, user: SPARE },
  },
  {
    name: 'F27 silence everywhere',
    main: (raw) => [stream([raw.open], { end: 'hang' })],
    spare: () => ['lookup hangs'],
    silentAfter: 'request',
    outcome: {
      ...{ requests: [1, 1], waits: [], switched: ['timeout'] },
      user: 'The AI model did not answer in time. Please ask again. (GH2105)',
    },
  },
  {
    name: 'F28 crumbs, CRLF, no last line',
    main: (raw) => [crumbs(raw)],
    outcome: { requests: [1, 0], waits: [], user: WHOLE },
  },
  {
    name: 'F28 broken JSON, then answer',
    main: (raw) => [breaks(raw, 'data: {"choi\n\n'), main(raw)],
    outcome: { requests: [2, 0], waits: [500], restarts: 1, user: WHOLE },
  },
  {
    name: 'F28 endless line, then answer',
    main: (raw) => [breaks(raw, `data: "${'x'.repeat(1_100_000)}`), main(raw)],
    outcome: { requests: [2, 0], waits: [500], restarts: 1, user: WHOLE },
  },
  {
    name: 'F28 cut in a call, for good',
    main: (raw) => [halfCall(raw)],
    outcome: { requests: [2, 1], waits: [500], switched: ['malformed'], restarts: 1, user: SPARE },
  },
  {
    name: 'F28 no end, everywhere',
    main: (raw) => [breaks(raw, '')],
    spare: (raw) => [breaks(raw, '')],
    outcome: {
      ...{ requests: [2, 2], waits: [500, 500], switched: ['malformed'], restarts: 1 },
      user: 'The answer of the AI model broke off. Please ask again. (GH2109)',
    },
  },
  {
    name: 'F29 empty',
    main: (raw) => [empty(raw)],
    outcome: { requests: [1, 1], waits: [], switched: ['empty'], user: SPARE },
  },
  {
    name: 'F29 only reasoning',
    main: (raw) => [thoughtOnly(raw)],
    outcome: { requests: [1, 1], waits: [], switched: ['empty'], restarts: 1, user: SPARE },
  },
  {
    name: 'F29 empty everywhere',
    main: (raw) => [empty(raw)],
    spare: (raw) => [thoughtOnly(raw)],
    outcome: {
      ...{ requests: [1, 1], waits: [], switched: ['empty'] },
      user: 'The AI model returned no answer. Please ask again in other words. (GH2108)',
    },
  },
  {
    name: 'F29 refusal',
    main: (raw) => [stream([raw.refusal])],
    outcome: { requests: [1, 1], waits: [], switched: ['content-filter'], user: SPARE },
  },
  {
    name: 'F29 refusal everywhere',
    main: (raw) => [stream([raw.refusal])],
    spare: (raw) => [stream([raw.refusal])],
    outcome: {
      ...{ requests: [1, 1], waits: [], switched: ['content-filter'] },
      user: 'The AI provider withheld the answer. Please ask in other words. (GH2111)',
    },
  },
];

const TRIAL_LIMIT_MS = 60_000;

/** Time passes as soon as somebody waits for it; `waits` holds how long that was. */
class JumpingClock extends FakeClock {
  readonly waits: number[] = [];

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    // The limit of a trial: nothing is held up by it.
    if (ms === TRIAL_LIMIT_MS) return super.sleep(ms, signal);
    this.waits.push(ms);
    const slept = super.sleep(ms, signal);
    void this.advance(ms);
    return slept;
  }
}

let server: ModelServer;
const replies: { [slot in SlotName]?: Reply } = {};
beforeAll(async () => {
  server = await startModelServer({ script: ({ path }) => replies[path.startsWith('/main/') ? 'main' : 'spare'] });
});
const matrix = new WireMatrix(FAULTS.map(({ name }) => name));
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  process.stdout.write(`\nwire x fault behind retry and chain\n${matrix}\n`);
});

/** Two models of one wire. Each counts silence on a clock of its own, so that one can be silent alone. */
function stack(subject: WireSubject, plays: { [slot in SlotName]: readonly Play[] }, options: { oneKey?: boolean } = {}) {
  const clock = new JumpingClock();
  const silence = { main: new FakeClock(), spare: new FakeClock() };
  const requests = { main: 0, spare: 0 };
  const gate = createRetryGate();
  const slot = (name: SlotName) => {
    const fetchFn: typeof fetch = (input, init) => {
      const play = plays[name][Math.min(requests[name], plays[name].length - 1)];
      requests[name] += 1;
      if (play === 'lookup hangs') return unanswered(init?.signal);
      if (typeof play === 'string') return Promise.reject(unresolved(play));
      if (play) replies[name] = play;
      return fetch(input, init);
    };
    const timeouts = { connectMs: 10_000, totalMs: 300_000 };
    const wire = subject.create(
      wireOptions(`${server.url}/${name}`, {
        model: subject.model,
        provider: name,
        clock: silence[name],
        fetch: fetchFn,
        timeouts,
      }),
    );
    return {
      model: withRetry(wire, { clock, random: () => 0, maxWaitMs: MAX_WAIT_MS, ...(options.oneKey ? { gate } : {}) }),
    };
  };
  const chain = createChain([slot('main'), slot('spare')], { clock });
  return { clock, silence, requests, chain };
}

/** As the platform's fetch says it. */
function unresolved(code: string): Error {
  const cause = Object.assign(new Error(`getaddrinfo ${code} model.invalid`), { code, syscall: 'getaddrinfo' });
  return new TypeError('fetch failed', { cause });
}

function unanswered(signal: AbortSignal | null | undefined): Promise<never> {
  return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }));
}

function outcomeOf(
  events: readonly ModelEvent[],
  requests: { readonly [slot in SlotName]: number },
  waits: readonly number[],
): Outcome {
  const switched = events.flatMap((event) => (event.type === 'switched' ? [event.reason as FailureKind] : []));
  const restarts = events.filter(({ type }) => type === 'restart').length;
  const last = events.at(-1);
  // One end, and on the screen of a consumer what the answer says: nothing twice, nothing of a broken one.
  expect(events.filter(({ type }) => type === 'done' || type === 'failed')).toHaveLength(1);
  if (last?.type === 'done') {
    expect(streamedText(events)).toBe(last.answer.text);
    expect(last.answer.toolCalls).toEqual([]);
  }
  return {
    requests: [requests.main, requests.spare],
    waits,
    ...(switched.length > 0 ? { switched } : {}),
    ...(restarts > 0 ? { restarts } : {}),
    user: last?.type === 'done' ? last.answer.text : last?.type === 'failed' ? failureText(last.failure) : 'nothing',
  };
}

/** The outcome as the title of a test says it. */
function fact({ requests, waits, switched = [], user }: Outcome): string {
  const waited = waits.reduce((sum, ms) => sum + ms, 0) / 1_000;
  return `${requests.join('+')} requests, ${waited} s, ${switched.length > 0 ? 'switched' : 'same model'}, "${user}"`;
}

const signal = new AbortController().signal;

describe.each([openAiChatSubject, openAiResponsesSubject, anthropicSubject, geminiSubject])('$name', (subject) => {
  const { raw } = subject;

  test.each(FAULTS.map((fault) => [`${fault.name}: ${fact(fault.outcome)}`, fault] as const))('%s', async (_title, fault) => {
    matrix.set(subject.name, fault.name, 'FAIL');
    const plays = { main: fault.main(raw), spare: (fault.spare ?? spare)(raw) };
    const { clock, silence, requests, chain } = stack(subject, plays, fault);
    const events: ModelEvent[] = [];
    const call = (async () => {
      for await (const event of chain.call(modelRequest('hi'), signal)) events.push(event);
    })();
    if (fault.silentAfter) {
      await until('the main model was asked', () => requests.main === 1);
      if (fault.silentAfter === 'text') await until('it began to speak', () => events.some(({ type }) => type === 'text'));
      await silence.main.advance(60_000);
      if (plays.spare[0] === 'lookup hangs') {
        await until('the spare model was asked', () => requests.spare === 1);
        await silence.spare.advance(60_000);
      }
    }
    await call;
    expect(outcomeOf(events, requests, clock.waits)).toEqual(fault.outcome);
    matrix.set(subject.name, fault.name, 'ok');
  });

  test('F25 F26 a model that failed two calls is left alone, gets one trial a minute later, and is back after it', async () => {
    for (const code of [502, 401]) {
      const each = code === 502 ? 4 : 1;
      // Recovers after two calls and one failed trial, for which no message waits.
      const refused = Array.from({ length: 3 * each }, () => status(code));
      const { clock, requests, chain } = stack(subject, { main: [...refused, main(raw)], spare: spare(raw) });
      const ask = async () => outcomeOf(await collect(chain.call(modelRequest('hi'), signal)), requests, []).user;
      const settled = (circuit: string) => vi.waitFor(() => expect(chain.snapshot()[0]?.circuit).toBe(circuit));
      const asked: string[] = [];
      for (let call = 0; call < 5; call += 1) asked.push(`${await ask()} ${requests.main}`);
      expect(asked).toEqual([1, 2, 2, 2, 2].map((tried) => `${SPARE} ${tried * each}`));
      await clock.advance(60_000);
      expect(await ask()).toBe(SPARE);
      await settled('open');
      expect([await ask(), requests.main]).toEqual([SPARE, 3 * each]);
      await clock.advance(60_000);
      await ask();
      await settled('closed');
      expect([await ask(), requests.main]).toEqual([WHOLE, 3 * each + 2]);
    }
  });

  test('F27 a stream that always brings something ends by the limit of the whole answer', async () => {
    const pieces = Array.from({ length: 60 }, (_, n) => raw.text(`word${n} `, n));
    const { silence, requests, chain } = stack(subject, {
      main: [stream([raw.open, ...pieces], { end: 'hang' })],
      spare: spare(raw),
    });
    const events: ModelEvent[] = [];
    for await (const event of chain.call(modelRequest('hi'), signal)) {
      events.push(event);
      // Never silent for longer than a third of the limit between two chunks.
      if (event.type === 'text' && requests.spare === 0) await silence.main.advance(10_000);
    }
    expect(events.filter(({ type }) => type === 'text').length).toBeGreaterThan(20);
    expect(outcomeOf(events, requests, [])).toEqual({
      requests: [1, 1],
      waits: [],
      switched: ['timeout'],
      restarts: 1,
      user: SPARE,
    });
  });
});

test('every cell of the matrix is green', () => {
  expect(matrix.missing()).toEqual([]);
});
