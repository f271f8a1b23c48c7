// What a history may hold that one provider wrote, or a stranger, and another provider refuses: it would be
// refused with every later message.
import { expect, test } from 'vitest';
import type { SessionMessage } from '../../core/session.ts';
import { line } from '../../testing/agent-run.ts';
import { errorReply, startModelServer } from '../../testing/model-server.ts';
import { SteadyClock } from '../../testing/steady-clock.ts';
import { collect, modelRequest } from '../contract.ts';
import { createWire } from '../create.ts';
import { resolveProvider } from '../providers/resolve.ts';

const TARGETS = [
  ['openai', 'gpt-4o'],
  ['openai', 'gpt-6.1-sol'],
  ['anthropic', 'claude-opus-5-5'],
  ['gemini', 'gemini-3.8-flash'],
  ['mistral', 'mistral-medium-latest'],
] as const;

async function bodyFor(provider: string, model: string, messages: readonly SessionMessage[]): Promise<unknown> {
  await using server = await startModelServer({ script: () => errorReply(400, { message: 'seen' }) });
  const wire = createWire(resolveProvider({ provider, model, base_url: `${server.url}/v1` }), 'k', {
    timeouts: { connectMs: 1_000, totalMs: 5_000 },
    clock: new SteadyClock(),
  });
  await collect(wire.call(modelRequest('hi', { messages }), new AbortController().signal));
  return server.requests[0]?.body;
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

function namesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { name } = value as { name?: unknown };
  return [...(typeof name === 'string' ? [name] : []), ...Object.values(value).flatMap(namesIn)];
}

// A model that makes up a tool is told so, and both stay in the history.
const CALLED = ['web search', 'functions.look-up', '', 'é', 'x'.repeat(200), 'look_up'];

test.each(TARGETS)('%s/%s is sent names of past calls that every provider takes', async (provider, model) => {
  const calls = CALLED.map((name, n) => ({ id: `call${n}`, name, arguments: '{}' }));
  const body = await bodyFor(provider, model, [
    line('user', 'look'),
    line('assistant', '', { tool_calls: calls }),
    ...calls.map(({ id }) => line('tool', 'Error: unknown tool', { tool_call_id: id })),
    line('user', 'and now?'),
  ]);
  const names = namesIn(body);
  expect(names.length).toBeGreaterThanOrEqual(CALLED.length);
  for (const name of names) expect(name).toMatch(/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/);
  expect(names).toContain('look_up');
});

// Anthropic: "The request body is not valid JSON: no low surrogate in string".
test.each(TARGETS)(
  '%s/%s is sent whole characters, whatever half of one a message or an argument holds',
  async (provider, model) => {
    const args = JSON.stringify({ q: 'half \udc00 of \\ud83d', path: 'C:\\udir\\\\ud83d' });
    const body = await bodyFor(provider, model, [
      line('user', 'half \ud83d of one, one \u{1f600}, and the words \\ud83d'),
      line('assistant', 'ok', { tool_calls: [{ id: 'call1', name: 'look_up', arguments: args }] }),
      line('tool', '\ud83d', { tool_call_id: 'call1' }),
      line('user', 'and now?'),
    ]);
    const strings = stringsIn(body);
    expect(strings.filter((text) => !text.isWellFormed())).toEqual([]);
    expect(strings).toContain('half \ufffd of one, one \u{1f600}, and the words \\ud83d');
    expect(strings.join('').replaceAll('\\\\', '\\')).toContain('C:\\udir');
  },
);
