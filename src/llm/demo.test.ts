import { describe, expect, test } from 'vitest';
import type { ModelEvent } from '../core/model.ts';
import { systemClock } from '../lib/clock.ts';
import { FakeClock } from '../testing/fakes.ts';
import { collect, modelContract, modelRequest } from './contract.ts';
import { createDemo } from './create.ts';
import { createDemoModel } from './demo.ts';
import type { RetryInfo } from './retry.ts';

const signal = new AbortController().signal;
const listDir = { name: 'list_dir', description: 'Lists.', parameters: {} };

modelContract('demo', async () => ({
  model: createDemoModel({ clock: systemClock }),
  answered: modelRequest('hello'),
  slow: modelRequest('/demo stream'),
  [Symbol.asyncDispose]: async () => undefined,
}));

const ask = (text: string, override: Parameters<typeof modelRequest>[1] = {}): Promise<ModelEvent[]> =>
  collect(createDemoModel({ clock: new FakeClock() }).call(modelRequest(text, override), signal));

function answerOf(events: readonly ModelEvent[]) {
  const last = events.at(-1);
  if (last?.type !== 'done') throw new Error(`expected an answer, got ${JSON.stringify(last)}`);
  return last.answer;
}

describe('the demo', () => {
  test('reports what the gateway did, labels every line, and costs nothing', async () => {
    const answer = answerOf(
      await ask('hello', {
        context: { session: 'cli:local', channel: 'cli', sender: 'cli:local', purpose: 'turn', queuedMs: 2.4 },
      }),
    );
    expect(answer.text.split('\n')[0]).toBe(
      '[demo] I am a script, not an AI. I received message 1 of session cli:local (5 characters) in 2 ms.',
    );
    for (const line of answer.text.split('\n')) expect(line).toMatch(/^\[demo\] /);
    expect(answer).toMatchObject({ usage: { tokensIn: 0, tokensOut: 0, tokensCached: 0 }, provider: 'demo', model: 'demo' });
    expect(createDemoModel({ clock: systemClock }).demo).toBe(true);
  });

  test('/demo tool makes a real call and then reports the real result', async () => {
    const first = answerOf(await ask('/demo tool', { tools: [listDir] }));
    expect(first).toMatchObject({ stop: 'tools', toolCalls: [{ name: 'list_dir', arguments: '{"path":"."}' }] });
    const base = modelRequest('/demo tool', { tools: [listDir] });
    const timestamp = '2026-01-01T00:00:00Z';
    const call = first.toolCalls[0];
    const second = await ask('', {
      messages: [
        ...base.messages,
        { id: 'a', role: 'assistant', content: first.text, tool_calls: first.toolCalls, timestamp },
        { id: 't', role: 'tool', content: 'notes.md\n'.repeat(7), tool_call_id: call?.id ?? '', timestamp },
      ],
    });
    expect(answerOf(second).text).toContain('[demo] notes.md');
    expect(answerOf(second).text).toContain('and 2 more lines');
    expect(answerOf(second).toolCalls).toEqual([]);
  });

  test('/demo tool says so when no such tool is allowed', async () => {
    expect(answerOf(await ask('/demo tool')).toolCalls).toEqual([]);
  });

  test('in a group, where an author stands in front, it is known too', async () => {
    expect(answerOf(await ask('[Ada]\n/demo tool', { tools: [listDir] })).toolCalls).toHaveLength(1);
    expect(answerOf(await ask('what is /demo tool for?', { tools: [listDir] })).toolCalls).toEqual([]);
  });

  test('/demo stream sends 20 tokens a second', async () => {
    const clock = new FakeClock();
    const events = collect(createDemoModel({ clock }).call(modelRequest('/demo stream'), signal));
    const start = clock.monotonic();
    await clock.advance(3_000);
    expect((await events).filter((event) => event.type === 'text')).toHaveLength(61);
    expect(clock.monotonic() - start).toBe(3_000);
  });

  test('an unknown verb lists what exists', async () => {
    for (const text of ['/demo', '/demo fly']) {
      const answer = answerOf(await ask(text));
      for (const verb of ['/demo tool', '/demo fail', '/demo stream']) expect(answer.text).toContain(verb);
    }
  });

  test('/demo fail shows the real retries and then the failure', async () => {
    const clock = new FakeClock();
    const waits: RetryInfo[] = [];
    const model = createDemo({
      clock,
      random: () => 0,
      timeouts: { connectMs: 1, totalMs: 1 },
      onRetry: (info) => waits.push(info),
    });
    expect(model).toMatchObject({ id: 'demo', demo: true });
    const events = collect(model.call(modelRequest('/demo fail'), signal));
    await clock.advance(10_000);
    expect((await events).at(-1)).toMatchObject({ type: 'failed', failure: { kind: 'rate-limit', code: 'GH2102', status: 429 } });
    expect(waits.filter((info) => info.attempt > 0).map((info) => info.waitMs)).toEqual([1_000, 1_000, 1_000]);
  });
});
