import { describe, expect, test } from 'vitest';
import { scriptedModel } from '../../testing/scripted-model.ts';
import { createProviderRouter, type RouterEntry } from './provider-router.ts';

const entry = (key: string, id: string): RouterEntry => ({ key, model: scriptedModel(() => 'hi', { id }) });

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
