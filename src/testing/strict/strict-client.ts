/**
 * How the tests of the strict servers speak to them: plain requests, and OpenAI's own client for the streams.
 */
import OpenAI from 'openai';
import { expect } from 'vitest';
import type { Refusal, StrictServer } from './strict-server.ts';

export type Body = Readonly<Record<string, unknown>>;

export interface Reply {
  readonly status: number;
  /** Parsed, or the text where it is no JSON. */
  readonly body: unknown;
}

export const KEY = 'sk-strict-1234';

export async function post(server: StrictServer, body: Body, key: string | undefined = KEY): Promise<Reply> {
  const response = await fetch(`${server.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key === '' ? {} : { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ stream: true, ...body }),
  });
  const text = await response.text();
  return { status: response.status, body: isJson(response) ? JSON.parse(text) : text };
}

function isJson(response: Response): boolean {
  return response.headers.get('content-type') === 'application/json';
}

/**
 * One request that the rule refuses, with exactly this answer, and one that differs only in what the rule is
 * about.
 */
export async function expectRule(server: StrictServer, rule: { bad: Body; good: Body } & Refusal): Promise<void> {
  expect(await post(server, rule.bad)).toEqual({ status: rule.status, body: rule.body });
  expect(await post(server, rule.good)).toMatchObject({ status: 200, body: expect.stringContaining('data: [DONE]') });
}

/** The deltas of a stream as OpenAI's client reads them. */
export async function read(server: StrictServer, body: Body): Promise<readonly OpenAI.Chat.ChatCompletionChunk[]> {
  const client = new OpenAI({ apiKey: KEY, baseURL: server.baseUrl, maxRetries: 0 });
  const chunks: OpenAI.Chat.ChatCompletionChunk[] = [];
  const request = { stream: true, ...body } as unknown as OpenAI.Chat.ChatCompletionCreateParamsStreaming;
  for await (const chunk of await client.chat.completions.create(request)) chunks.push(chunk);
  return chunks;
}

/** The values of one field of all deltas, in order, absent ones left out. */
export function deltas(chunks: readonly OpenAI.Chat.ChatCompletionChunk[], field: string): readonly unknown[] {
  return chunks
    .flatMap(({ choices }) => choices.map(({ delta }) => (delta as Record<string, unknown>)[field]))
    .filter((value) => value !== undefined && value !== '');
}

interface CallDelta {
  readonly index: number;
  readonly id?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
}

/** The calls of an answer, put together as a message holds them. */
export function callsIn(chunks: readonly OpenAI.Chat.ChatCompletionChunk[]): readonly Call[] {
  const calls: { id: string; type: string; function: { name: string; arguments: string } }[] = [];
  for (const delta of (deltas(chunks, 'tool_calls') as CallDelta[][]).flat()) {
    calls[delta.index] ??= {
      id: delta.id ?? '',
      type: 'function',
      function: { name: delta.function?.name ?? '', arguments: '' },
    };
    const call = calls[delta.index];
    if (call !== undefined) call.function.arguments += delta.function?.arguments ?? '';
  }
  return calls;
}

export interface Call {
  readonly id: string;
  readonly type: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

export const user = (content = 'What is in the file?'): object => ({ role: 'user', content });

export function asks(...ids: readonly string[]): object {
  const calls = ids.map((id) => ({ id, type: 'function', function: { name: 'read_file', arguments: `{"path":"${id}"}` } }));
  return { role: 'assistant', content: null, tool_calls: calls };
}

export const result = (id: string, content = 'The file is empty.'): object => ({ role: 'tool', tool_call_id: id, content });

export const TOOLS = [
  {
    type: 'function',
    function: {
      name: 'read_file',
      description: 'Reads a file',
      parameters: { type: 'object', properties: { path: { type: 'string' } } },
    },
  },
];
