import { describe, expect, test } from 'vitest';
import type { ModelEvent } from '../../core/model.ts';
import { systemClock } from '../../lib/clock.ts';
import { FakeClock } from '../../testing/fakes.ts';
import { type Script, scriptedModel } from '../../testing/scripted-model.ts';
import { collect, modelContract, modelRequest } from '../contract.ts';
import { createDemoModel } from '../demo.ts';
import { createProviderRouter, type RouterEntry } from './provider-router.ts';
import { createSwappable } from './swappable.ts';

const live = new AbortController().signal;
const clock = new FakeClock();

function entry(key: string, id: string, { script = () => 'hi', maxOutput }: { script?: Script; maxOutput?: number } = {}) {
  const facts = maxOutput === undefined ? {} : { facts: { maxOutputTokens: maxOutput, vision: true, tools: true, price: null } };
  const model = { ...scriptedModel(script, { id, clock }), ...facts };
  return { key, model } satisfies RouterEntry;
}

const answerer = (events: readonly ModelEvent[]): string => {
  const last = events.at(-1);
  return last?.type === 'done' ? last.answer.model : last?.type === 'failed' ? last.failure.kind : '';
};

describe('createProviderRouter (spec B6)', () => {
  const router = createProviderRouter([
    entry('Cheap', 'groq/llama-3'),
    entry('cheap', 'deepseek/chat'),
    entry('openai', 'openai/gpt-4o'),
    entry('strong/claude', 'anthropic/claude'),
  ]);

  test.each([
    ['Cheap', 'Cheap', 'the exact key'],
    ['cheap', 'cheap', 'the exact key before another case'],
    ['OPENAI', 'openai', 'another case'],
    ['openai/o3', 'openai', 'the key before the slash'],
    ['claude', 'strong/claude', 'the end of a key'],
    ['llama-3', 'Cheap', 'the end of a model id'],
  ])('%s is %s: %s', (name, key) => expect(router.find(name)?.key).toBe(key));

  test('there may be none of that name', () => {
    for (const name of ['unknown', ' ', '']) expect(router.find(name)).toBeUndefined();
  });
});

modelContract('swappable', async () => ({
  model: createSwappable(createDemoModel({ clock: systemClock })),
  answered: modelRequest('hello'),
  slow: modelRequest('/demo stream'),
  [Symbol.asyncDispose]: async () => undefined,
}));

describe('createSwappable (spec B6)', () => {
  test('calls made after a swap go to the new model, and it says of itself what that one says', async () => {
    const first = entry('a', 'a/1', { maxOutput: 5 }).model;
    const swappable = createSwappable(first);
    expect(swappable.facts?.maxOutputTokens).toBe(5);
    swappable.swap(scriptedModel(() => 'hi', { id: 'b/2', contextWindow: 7, demo: true }));
    expect(swappable).toMatchObject({ id: 'b/2', contextWindow: 7, demo: true, original: first });
    expect('facts' in swappable).toBe(false);
    expect(answerer(await collect(swappable.call(modelRequest('hi'), live)))).toBe('2');
    swappable.swap(first);
    expect('demo' in swappable).toBe(false);
  });

  test('a call under way ends with the model it began with', async () => {
    const swappable = createSwappable(scriptedModel([{ text: 'old', delayMs: 10 }], { id: 'a/1', clock }));
    const result = collect(swappable.call(modelRequest('hi'), live));
    await clock.advance(0);
    swappable.swap(scriptedModel(() => 'new', { id: 'b/2' }));
    await clock.advance(10);
    expect(answerer(await result)).toBe('1');
  });
});
