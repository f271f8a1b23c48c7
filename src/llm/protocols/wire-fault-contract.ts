/** What an emulator cannot play: streams that are broken in single bytes. One suite for all wires. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ModelEvent } from '../../core/model.ts';
import type { ToolCall } from '../../core/session.ts';
import { FakeClock } from '../../testing/fakes.ts';
import { type Reply, startModelServer, stream } from '../../testing/model-server.ts';
import { collect, modelRequest, streamedText } from '../contract.ts';
import type { WireOptions } from './wire.ts';
import { answerOf, failureOf, type WireSubject, wireOptions } from './wire-contract.ts';

const EVENT_STREAM = { 'content-type': 'text/event-stream' };
const CALLS: readonly ToolCall[] = [
  { id: 'call_1', name: 'read', arguments: '{"path":"é.txt"}' },
  { id: 'call_2', name: 'list', arguments: '{"deep":true}' },
];

/** A `fetch` that answers with these chunks, one read each, and keeps count of what was read. */
function chunkFetch(chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): typeof fetch & { read: number } {
  const answer = async (): Promise<Response> => {
    async function* counted(): AsyncGenerator<Uint8Array> {
      for await (const chunk of chunks) {
        counting.read += chunk.length;
        yield chunk;
      }
    }
    return new Response(ReadableStream.from(counted()), { headers: EVENT_STREAM });
  };
  const counting = Object.assign(answer, { read: 0 });
  return counting;
}

/** Events with ids of calls replaced by their order: some wires make them up. */
function withoutIds(events: readonly ModelEvent[]): unknown[] {
  return events.map((event) =>
    event.type === 'done'
      ? { ...event, answer: { ...event.answer, toolCalls: event.answer.toolCalls.map((call, id) => ({ ...call, id })) } }
      : event,
  );
}

export function wireFaultContract(subject: WireSubject): void {
  const { raw } = subject;
  const answered = raw.open + raw.text('Grüße ', 0) + raw.text('👋🏽 ok', 1) + raw.close(false);
  const asked = raw.open + raw.calls(CALLS) + raw.close(true);

  const callWith = async (fetchFn: typeof fetch, override: Partial<WireOptions> = {}): Promise<readonly ModelEvent[]> => {
    const model = subject.create(wireOptions('http://127.0.0.1:9', { fetch: fetchFn, ...override }));
    return await collect(model.call(modelRequest('hi'), new AbortController().signal));
  };
  const callBytes = (...chunks: readonly (string | Uint8Array)[]) =>
    callWith(chunkFetch(chunks.map((chunk) => (typeof chunk === 'string' ? Buffer.from(chunk) : chunk))));
  const callServer = async (reply: Reply, override: Partial<WireOptions> = {}) => {
    await using server = await startModelServer({ script: () => reply });
    const model = subject.create(wireOptions(server.url, override));
    const events = await collect(model.call(modelRequest('hi'), new AbortController().signal));
    return { events, requests: server.requests };
  };

  test('F28 the raw streams of this suite are answers: a text, and two calls', async () => {
    expect(answerOf(await callBytes(answered))).toMatchObject({
      text: 'Grüße 👋🏽 ok',
      stop: 'end',
      usage: { tokensIn: 7, tokensOut: 5 },
    });
    const { toolCalls, stop } = answerOf(await callBytes(asked));
    expect(stop).toBe('tools');
    expect(toolCalls.map(({ name, arguments: text }) => [name, JSON.parse(text)])).toEqual([
      ['read', { path: 'é.txt' }],
      ['list', { deep: true }],
    ]);
  });

  test('F28 a stream split at any byte gives the events of the whole one', async () => {
    // Every third place in the second one, which is long and differs from the first by its calls.
    for (const [text, step] of [
      [answered, 1],
      [asked, 3],
    ] as const) {
      const bytes = Buffer.from(text);
      const whole = withoutIds(await callBytes(bytes));
      for (let at = 1; at < bytes.length; at += step) {
        const split = withoutIds(await callBytes(bytes.subarray(0, at), bytes.subarray(at)));
        expect({ at, split }).toEqual({ at, split: whole });
      }
      expect(withoutIds(await callBytes(...[...bytes].map((byte) => Uint8Array.of(byte))))).toEqual(whole);
    }
  });

  test('F28 line ends of any kind, keep-alives and a missing last blank line change nothing, however the bytes are cut', async () => {
    const lineEnd = fc.constantFrom('\n', '\r\n');
    const text = fc.constantFrom(answered, asked);
    const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 });
    const property = fc.asyncProperty(
      text,
      fc.infiniteStream(lineEnd),
      cuts,
      fc.boolean(),
      fc.boolean(),
      async (source, ends, at, alive, last) => {
        let mixed = source.replaceAll('\r\n', '\n').replace(/\n/g, () => ends.next().value);
        if (alive) mixed = `: keep-alive\n\n${mixed}`;
        if (!last) mixed = mixed.trimEnd();
        const bytes = Buffer.from(mixed);
        const places = [0, ...at.map((part) => Math.floor(part * bytes.length)).sort((a, b) => a - b), bytes.length];
        const chunks = places.slice(1).map((end, i) => bytes.subarray(places[i], end));
        const whole = withoutIds(await callBytes(source));
        expect(withoutIds(await callBytes(...chunks.filter(({ length }) => length > 0)))).toEqual(whole);
      },
    );
    await fc.assert(property, { numRuns: 50 });
  });

  test('F28 a line of 10 MB ends the call as malformed before it is read', async () => {
    const fetchFn = chunkFetch([
      Buffer.from(raw.open + raw.text('par', 0)),
      Buffer.from('data: "'),
      ...Array.from({ length: 100 }, () => Buffer.alloc(100_000, 'x')),
    ]);
    const events = await callWith(fetchFn);
    expect(streamedText(events)).toBe('par');
    expect(failureOf(events)).toMatchObject({ kind: 'malformed', retryable: true });
    expect(fetchFn.read).toBeLessThan(2_000_000);
  });

  test('F28 invalid JSON, a clean end without a stop reason and no bytes at all are malformed', async () => {
    const invalid = raw.text('x', 1).replaceAll('"', "'");
    for (const rest of [invalid, '', raw.text('x', 1).slice(0, -12)]) {
      const events = await callBytes(raw.open + raw.text('par', 0) + rest);
      expect(streamedText(events)).toMatch(/^par/);
      expect(failureOf(events)).toMatchObject({ kind: 'malformed', code: 'GH2109', retryable: true });
    }
    expect(failureOf(await callBytes())).toMatchObject({ kind: 'malformed' });
  });

  test('F28 a stream that is cut inside a call hands on no call', async () => {
    const open = raw.open + raw.calls(CALLS);
    for (const part of [0.4, 0.7, 1]) {
      const pieces = [open.slice(0, Math.floor(open.length * part))];
      const { events } = await callServer(stream(pieces, { end: 'destroy' }));
      expect(failureOf(events)).toMatchObject({ kind: 'malformed', retryable: true });
    }
  });

  test('F28 calls with the same id or none get ids of their own', async () => {
    for (const id of ['same', '']) {
      const calls = ['read', 'list'].map((name) => ({ id, name, arguments: '{"a":1}' }));
      const { toolCalls } = answerOf(await callBytes(raw.open + raw.calls(calls) + raw.close(true)));
      expect(toolCalls.map(({ name, arguments: text }) => `${name} ${text}`)).toEqual(['read {"a":1}', 'list {"a":1}']);
      expect(new Set(toolCalls.map((call) => call.id)).size).toBe(2);
      expect(toolCalls.every((call) => call.id !== '')).toBe(true);
    }
  });

  if (!subject.argumentsAreObjects) {
    test('F28 arguments that are cut off reach the caller as the model wrote them', async () => {
      const calls = [{ id: 'call_1', name: 'read', arguments: '{"path": "/et' }];
      const { toolCalls } = answerOf(await callBytes(raw.open + raw.calls(calls) + raw.close(true)));
      expect(toolCalls.map((call) => call.arguments)).toEqual(['{"path": "/et']);
    });
  }

  test('F28 an end that comes before the text is an answer or a typed failure, never both', async () => {
    const events = await callBytes(raw.open + raw.close(false) + raw.text('late', 0));
    expect(events.filter(({ type }) => type === 'done' || type === 'failed')).toHaveLength(1);
    const last = events.at(-1);
    if (last?.type === 'done') expect(last.answer.text).toBe(streamedText(events));
    else expect(failureOf(events)).toMatchObject({ kind: 'empty', retryable: true });
  });

  test('connections serve one call after the other', async () => {
    let connections = 0;
    const server = createServer((_request, response) => response.writeHead(200, EVENT_STREAM).end(answered));
    server.on('connection', () => {
      connections += 1;
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const model = subject.create(wireOptions(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
    for (let call = 0; call < 5; call += 1) answerOf(await collect(model.call(modelRequest('hi'), new AbortController().signal)));
    server.closeAllConnections();
    server.close();
    // The pool opens a second one for a call that begins in the very step in which the one before it ends.
    expect(connections).toBeLessThanOrEqual(2);
  });

  test('F25 an error in the middle of a stream keeps its kind', async () => {
    const { events } = await callServer(stream([raw.open, raw.text('par', 0), raw.overloaded('busy')]));
    expect(streamedText(events)).toBe('par');
    expect(failureOf(events)).toMatchObject({ kind: 'overloaded', code: 'GH2103', retryable: true });
  });

  test('F27 one byte a minute is no progress', async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    async function* trickle(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(raw.open + raw.text('par', 0));
      for (const byte of Buffer.from(raw.text('never complete', 1))) {
        await clock.sleep(60_000, stop.signal).catch(() => undefined);
        if (stop.signal.aborted) return;
        yield Uint8Array.of(byte);
      }
    }
    const start = clock.now();
    const timeouts = { connectMs: 1_000, totalMs: 600_000, idleMs: 150_000, thinkingMs: 150_000 };
    const call = callWith(chunkFetch(trickle()), { clock, timeouts });
    let ended = false;
    call.then(
      () => {
        ended = true;
      },
      () => undefined,
    );
    // Loading a client library for the first time takes real time, not the clock's.
    for (let minute = 0; minute < 10 && !ended; minute += 1) {
      await new Promise((resolve) => setTimeout(resolve, minute === 0 ? 300 : 5));
      await clock.advance(30_000);
    }
    const events = await call;
    stop.abort();
    expect(streamedText(events)).toBe('par');
    expect(failureOf(events)).toMatchObject({ kind: 'timeout', code: 'GH2105' });
    expect(clock.now() - start).toBeLessThanOrEqual(240_000);
  });

  test('F27 headers and then silence end by the limit of the first token or sign of life, and the socket closes', async () => {
    const timeouts = { connectMs: 10_000, totalMs: 20_000, idleMs: 1_000, firstTokenMs: () => 1_000 };
    const { events, requests } = await callServer(stream([raw.open], { end: 'hang' }), { timeouts });
    expect(failureOf(events).message).toMatch(/first token|sign of life/);
    expect(requests).toHaveLength(1);
    await expect.poll(() => requests[0]?.cut).toBe(true);
  });

  test('A29 a key that an answer quotes leaks into no failure, and into no address', async () => {
    const key = 'sk-canary-7f3a9c51d2e8b604';
    const forms = [key, encodeURIComponent(key), Buffer.from(key).toString('base64'), key.slice(0, 16)];
    for (const status of [400, 401, 403, 429, 500]) {
      const pieces = [JSON.stringify({ error: { message: `refused: ${forms.join(' ')}`, status: key, type: key, code: key } })];
      const { events, requests } = await callServer({ status, headers: { 'content-type': 'application/json' }, pieces });
      const said = JSON.stringify(failureOf(events));
      expect(said).not.toContain('canary');
      expect(said).not.toContain(Buffer.from(key).toString('base64').slice(0, 12));
      expect(requests[0]?.path).not.toContain('canary');
      expect(Object.values(requests[0]?.headers ?? {}).filter((value) => String(value).includes(key))).toHaveLength(1);
    }
  });
}
