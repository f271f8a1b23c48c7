import { describe, expect, test } from 'vitest';
import type { Model, ModelFailure, ModelRequest } from '../core/model.ts';
import { createFailure } from '../llm/failure.ts';
import { createAdaptiveRouter } from '../llm/routing/adaptive-router.ts';
import { createChain } from '../llm/routing/chain.ts';
import type { Slot } from '../llm/routing/slot.ts';
import { estimateTokens } from '../llm/tokens.ts';
import { profiles } from '../runs/profile.ts';
import { agentRun, line } from '../testing/agent-run.ts';
import { FakeClock } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { runAgent } from './run.ts';

/** About 40,000 tokens. */
const HISTORY = Array.from({ length: 80 }, (_, n) =>
  line(n % 2 === 0 ? 'user' : 'assistant', `${n} ${'word '.repeat(400)}`, { id: `h${n}` }),
);

/** Believed to take 100,000 tokens; refuses what is longer than its window. */
function overrated(window: number, failure: Partial<ModelFailure> = {}): Model & { sizes: number[] } {
  const sizes: number[] = [];
  const script = ({ messages }: ModelRequest) => {
    const size = estimateTokens(messages);
    sizes.push(size);
    return size <= window
      ? 'done'
      : { fail: { ...createFailure('context-length', { message: 'too long', status: 400 }), ...failure } };
  };
  return { ...scriptedModel(script, { contextWindow: 100_000 }), sizes };
}

const ask = (model: Model, windows: Map<string, number>) => runAgent(agentRun({ model, windows, history: HISTORY }));

describe('a prompt that a model finds too long (M9)', () => {
  test('the window that the refusal names is kept to at once, and by later runs from their first call', async () => {
    const model = overrated(20_000, { contextWindow: 20_000 });
    const windows = new Map<string, number>();
    expect((await ask(model, windows)).outcome).toEqual({ kind: 'answered', text: 'done' });
    expect(model.sizes).toHaveLength(2);
    expect((await ask(model, windows)).outcome.kind).toBe('answered');
    expect(model.sizes).toHaveLength(3);
    expect([...windows]).toEqual([['scripted/model', 20_000]]);
  });

  test('a run that may take less than the window of its model is shortened before it is sent', async () => {
    const model = overrated(100_000);
    const limits = { ...profiles().session, contextWindow: 8_000 };
    const { outcome } = await runAgent(agentRun({ model, limits, history: HISTORY }));
    expect(outcome.kind).toBe('answered');
    expect(model.sizes).toEqual([expect.any(Number)]);
    expect(model.sizes[0]).toBeLessThan(8_000);
  });

  test('where none is named half of it is tried, and kept when that was enough', async () => {
    const model = overrated(35_000);
    const windows = new Map<string, number>();
    expect((await ask(model, windows)).outcome.kind).toBe('answered');
    expect(model.sizes).toHaveLength(2);
    expect([...windows.values()]).toEqual([50_000]);
  });

  test('a named window that is no smaller than the known one says that the estimate was short: nothing is kept', async () => {
    const model = overrated(35_000, { contextWindow: 100_000 });
    const windows = new Map<string, number>();
    expect((await ask(model, windows)).outcome.kind).toBe('answered');
    expect([model.sizes.length, windows.size]).toEqual([2, 0]);
  });

  test('there is one more try and no third, and the person is told', async () => {
    const model = overrated(10);
    const { outcome } = await ask(model, new Map());
    expect(outcome).toMatchObject({ kind: 'failed', failure: { kind: 'context-length', code: 'GH2107' } });
    expect(model.sizes).toHaveLength(2);
    expect(model.sizes[1]).toBeLessThan(model.sizes[0] ?? 0);
  });

  test('a server that names a window too small for any work is asked within it once, and not for good', async () => {
    const windows = new Map<string, number>();
    await ask(overrated(10, { contextWindow: 256 }), windows);
    expect([...windows.values()]).toEqual([4_096]);
    let calls = 0;
    const script = () => {
      calls += 1;
      return calls % 2 === 1 ? { fail: 'context-length' as const } : 'done';
    };
    const model = scriptedModel(script, { contextWindow: 100_000 });
    for (let n = 0; n < 20; n += 1) expect((await ask(model, windows)).outcome.kind).toBe('answered');
    expect([...windows.values()]).toEqual([4_096]);
  });

  test('the window of a model that stood by is not taken for that of the main one', async () => {
    let isDown = true;
    const main = scriptedModel(() => (isDown ? { fail: 'auth' } : 'from main'), { id: 'p/main', contextWindow: 100_000 });
    const spare = { ...overrated(20_000, { contextWindow: 20_000 }), id: 'p/spare' };
    const model = createChain([{ model: main }, { model: spare }], { clock: new FakeClock(), probeIntervalMs: 0 });
    const windows = new Map<string, number>();
    for (let n = 0; n < 3; n += 1) await ask(model, windows);
    expect(spare.sizes.length).toBeGreaterThan(1);
    isDown = false;
    await ask(model, windows);
    const sent = main.requests.at(-1)?.messages ?? [];
    expect(estimateTokens(sent)).toBeGreaterThan(30_000);
    expect([...windows]).toEqual([['p/spare', 20_000]]);
  });

  test.each([
    ['a chain', (slots: readonly Slot[], clock: FakeClock) => createChain(slots, { clock })],
    ['a router', (slots: readonly Slot[], clock: FakeClock) => createAdaptiveRouter(slots, { clock, random: () => 0.99 })],
  ] as const)('of %s is answered by a spare with a smaller window while the main model is down', async (_name, create) => {
    const main = scriptedModel(() => ({ fail: 'server' }), { id: 'p/main', contextWindow: 200_000 });
    const spare = { ...overrated(20_000), id: 'p/spare', contextWindow: 20_000 };
    const model = create([{ model: main }, { model: spare }], new FakeClock());
    const windows = new Map<string, number>();
    for (let n = 0; n < 3; n += 1) expect((await ask(model, windows)).outcome).toEqual({ kind: 'answered', text: 'done' });
    // Not asked again once two failures in a row have shown that it is down.
    expect(main.requests).toHaveLength(2);
    expect(spare.sizes).toHaveLength(6);
    expect([...windows]).toEqual([['p/spare', 20_000]]);
  });

  test('another failure is not asked again for', async () => {
    const model = scriptedModel([{ fail: 'bad-request' }]);
    await ask(model, new Map());
    expect(model.requests).toHaveLength(1);
  });
});
