import { expect, test } from 'vitest';
import type { ModelBook, ModelSwitch } from '../core/model-book.ts';
import { runScope, toolCall } from '../testing/tool-scope.ts';
import { modelCheck } from './model-check.ts';

function scene(made: ModelSwitch = { kind: 'chosen', name: 'fast' }) {
  const chosen: string[] = [];
  const modelBook: ModelBook = {
    list: async () => ({
      models: [
        { name: 'openai/m', id: 'openai/m', price: { in: 1, out: 5 }, health: { isLeftAlone: true, errorRate: 0.254 } },
        { name: 'fast', id: 'vllm/f', description: 'for\nshort questions', price: { in: 0, out: 0 } },
        { name: 'odd', id: 'x/y', price: null, health: { isLeftAlone: false, errorRate: 0 } },
        { name: 'new', id: 'x/z', price: { in: 2, out: 3, guess: true } },
      ],
      ...{ current: 'openai/m', from: 'the default' },
    }),
    async choose(name) {
      chosen.push(name);
      return made;
    },
  };
  const [tool] = modelCheck({ ...runScope(), modelBook });
  return { chosen, run: async (args: object) => await tool?.run(args, toolCall()) };
}

test('the models are listed with what they cost and how they do, one line each', async () => {
  const { run, chosen } = scene();
  expect((await run({ action: 'list' }))?.output.split('\n')).toEqual([
    'Here answers openai/m, the default.',
    '- openai/m: 1 in, 5 out (USD per million tokens); left alone for now, 25 % of its last calls failed',
    '- fast: vllm/f; costs nothing; for short questions',
    '- odd: x/y; price not known; 0 % of its last calls failed',
    '- new: x/z; at most 2 in, 3 out (USD per million tokens)',
  ]);
  expect(chosen).toEqual([]);
});

test('a switch is told with the name that holds, and each reason why there is none', async () => {
  const { run, chosen } = scene();
  expect(await run({ action: 'switch', model: ' FAST ' })).toEqual({
    ...{ ok: true, output: 'From the next message on, fast answers here. /model default goes back.' },
  });
  expect(chosen).toEqual(['FAST']);
  expect(await run({ action: 'switch' })).toEqual({ ok: false, output: 'Error: switch needs a model' });
  expect((await scene({ kind: 'unknown' }).run({ action: 'switch', model: 'no\nne' }))?.output).toBe(
    'Error: there is no model no ne. There are: openai/m, fast, odd, new, default',
  );
  expect((await scene({ kind: 'refused' }).run({ action: 'switch', model: 'fast' }))?.output).toContain('only the owner');
});

test('a list changes nothing, and a switch is what later runs act on', () => {
  const { act } = modelCheck.facts;
  const acts = [{ action: 'list' }, { action: 'switch', model: 'x' }, {}, undefined].map(
    (args) => typeof act === 'function' && act(args),
  );
  expect(acts).toEqual(['none', 'setting', 'setting', 'setting']);
  expect(modelCheck(runScope())).toEqual([]);
});
