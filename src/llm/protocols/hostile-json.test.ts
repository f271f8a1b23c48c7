import { expect, test, vi } from 'vitest';
import type { ModelEvent } from '../../core/model.ts';
import { collect, modelRequest } from '../contract.ts';
import { createAnthropic } from './anthropic.ts';
import { anthropicEnd, anthropicEvent } from './anthropic-contract.ts';
import { createGemini } from './gemini.ts';
import { createOpenAiChat } from './openai-chat.ts';
import { createOpenAiResponses } from './openai-responses.ts';
import { failureOf, wireOptions } from './wire-contract.ts';

/** It can be parsed, but not written again: JSON.stringify runs out of stack. */
const DEEP = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
const WIRES = { createOpenAiChat, createOpenAiResponses, createAnthropic, createGemini } as const;
const CREATE = Object.entries(WIRES);

/** As a connection brings them: a piece past the length of a line ends the call. */
function* pieces(body: string): Generator<Uint8Array> {
  const bytes = Buffer.from(body);
  for (let at = 0; at < bytes.length; at += 500_000) yield bytes.subarray(at, at + 500_000);
}

async function answered(
  create: (typeof WIRES)[keyof typeof WIRES],
  body: string,
  status = 200,
  named?: string,
): Promise<readonly ModelEvent[]> {
  const headers = { 'content-type': named ?? (status === 200 ? 'text/event-stream' : 'application/json') };
  const stream = (): ReadableStream => ReadableStream.from(pieces(body));
  const options = wireOptions('http://model.test', { fetch: async () => new Response(stream(), { status, headers }) });
  return await collect(create(options).call(modelRequest('hi'), new AbortController().signal));
}

test.each(CREATE)('%s: an error body nested beyond what can be written down keeps its status', async (_, create) => {
  for (const body of [`{"error":{"message":"no such field","x":${DEEP}}}`, `{"error":{"x":${DEEP}}}`])
    expect(failureOf(await answered(create, body, 400))).toMatchObject({ kind: 'bad-request', status: 400 });
});

test('an error nested so in the middle of a stream ends the call as failed', async () => {
  const choice = `data: {"choices":[{"error":{"x":${DEEP}}}]}\n\n`;
  expect(failureOf(await answered(createOpenAiChat, choice))).toMatchObject({ kind: 'server' });
  const failed = `data: {"type":"response.failed","response":{"status":"failed","error":{"x":${DEEP}}}}\n\n`;
  expect(failureOf(await answered(createOpenAiResponses, failed))).toMatchObject({ kind: 'server' });
});

test('arguments nested so that came whole with a call that was never closed end the call as malformed', async () => {
  const block = { index: 0, content_block: { type: 'tool_use', id: 'a', name: 'f', input: { x: 0 } } };
  const start = anthropicEvent('content_block_start', block).replace('"x":0', `"x":${DEEP}`);
  const events = start + anthropicEnd('tool_use');
  expect(failureOf(await answered(createAnthropic, events))).toMatchObject({ kind: 'malformed' });
});

test.each(CREATE)('%s: a list of millions of entries is not parsed, in place of a stream or of an error', async (_, create) => {
  const body = `[${'1,\n'.repeat(3_000_000)}1]`;
  const parse = vi.spyOn(JSON, 'parse');
  try {
    for (const [status, kind] of [
      [200, 'malformed'],
      [503, 'overloaded'],
    ] as const)
      expect(failureOf(await answered(create, body, status, 'application/json'))).toMatchObject({ kind });
    expect(parse.mock.calls.filter(([text]) => text.startsWith('['))).toEqual([]);
  } finally {
    parse.mockRestore();
  }
});

test('a stream of many lines that is named JSON leaves the event loop its turns', async () => {
  let turns = 0;
  const turn = (): void => {
    turns += 1;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  const events = await answered(createAnthropic, `event: ping\n${'\n'.repeat(4_000_000)}`, 200, 'application/json');
  clearImmediate(next);
  expect(failureOf(events)).toMatchObject({ kind: 'malformed' });
  expect(turns).toBeGreaterThan(50);
});
