import { describe, expect, test } from 'vitest';
import type { Model } from '../../core/model.ts';
import { systemClock } from '../../lib/clock.ts';
import { FakeClock, MemoryLogger } from '../../testing/fakes.ts';
import { scriptedModel } from '../../testing/scripted-model.ts';
import { collect, modelContract, modelRequest } from '../contract.ts';
import { createDemoModel } from '../demo.ts';
import { withRetry } from '../retry.ts';
import { compose } from './compose.ts';
import { withLogging } from './logging.ts';

const { signal } = new AbortController();

modelContract('withLogging', async () => {
  const model = compose(
    createDemoModel({ clock: systemClock }),
    (inner) => withRetry(inner, { clock: systemClock, random: Math.random }),
    (inner) => withLogging(inner, new MemoryLogger(), systemClock),
  );
  return {
    model,
    answered: modelRequest('hello'),
    slow: modelRequest('/demo stream'),
    async [Symbol.asyncDispose]() {},
  };
});

describe('withLogging', () => {
  test('a call is one line with model, purpose, tokens, cost and times, and without content', async () => {
    const clock = new FakeClock();
    const logger = new MemoryLogger();
    const usage = { tokensIn: 9, tokensOut: 4, tokensCached: 2, costUsd: 0.001 };
    const inner = scriptedModel([{ text: 'the secret answer', delayMs: 250, usage, provider: 'acme', model: 'fallback' }], {
      clock,
    });
    const call = collect(withLogging(inner, logger, clock).call(modelRequest('the secret question'), signal));
    await clock.advance(300);
    await call;
    expect(logger.lines).toEqual([
      {
        level: 'info',
        event: 'model.call',
        data: { model: 'acme/fallback', purpose: 'turn', outcome: 'done', stop: 'end', ...usage, ms: 250, ttftMs: 250 },
      },
    ]);
    expect(JSON.stringify(logger.lines)).not.toContain('secret');
  });

  test('a failure is a warning with kind and code but without the words of the provider; an abort is none', async () => {
    const logger = new MemoryLogger();
    const failure = {
      kind: 'overloaded',
      code: 'GH2103',
      message: 'quoted content',
      hint: 'x',
      retryable: true,
      status: 529,
    } as const;
    const model = withLogging(scriptedModel([{ fail: failure }, { fail: 'aborted' }]), logger, new FakeClock());
    await collect(model.call(modelRequest('x'), signal));
    await collect(model.call(modelRequest('x'), signal));
    expect(logger.lines).toMatchObject([
      { level: 'warn', data: { outcome: 'failed', kind: 'overloaded', code: 'GH2103', status: 529 } },
      { level: 'info', data: { outcome: 'failed', kind: 'aborted' } },
    ]);
    expect(JSON.stringify(logger.lines)).not.toContain('quoted');
  });

  test('a consumer that leaves early leaves a line, and one that leaves with the answer in hand leaves a complete one', async () => {
    const logger = new MemoryLogger();
    const model = withLogging(scriptedModel([{ chunks: ['a', 'b'] }, 'c']), logger, new FakeClock());
    for await (const event of model.call(modelRequest('x'), signal)) if (event.type === 'text') break;
    for await (const event of model.call(modelRequest('x'), signal)) if (event.type === 'done') break;
    expect(logger.lines.map(({ data }) => data['outcome'])).toEqual(['left', 'done']);
  });

  test('compose puts the last wrapper outermost', () => {
    const tag = (name: string) => (inner: Model) => ({ ...inner, id: `${name}(${inner.id})` });
    expect(compose(scriptedModel([], { id: 'wire' }), tag('inner'), tag('outer')).id).toBe('outer(inner(wire))');
  });
});
