import { expect, test } from 'vitest';
import type { AnswerScope } from '../core/tool.ts';
import { onlyTool, runScope, toolCall } from '../testing/tool-scope.ts';
import { react as reactKit } from './react.ts';
import { runTool } from './run.ts';

function run(emoji: string, react: NonNullable<AnswerScope['react']>) {
  return runTool(onlyTool(reactKit, { react }), JSON.stringify({ emoji }), toolCall(), { timeoutMs: 1_000 });
}

test.each([
  ['👍', '👍'],
  [' ❤ ', '❤\uFE0F'],
  ['🤷‍♂️', '🤷‍♂️'],
  ['👍🏽', '👍🏽'],
  ['1️⃣', '1️⃣'],
])('%s is put, in its full spelling', async (given, put) => {
  const seen: string[] = [];
  const react = async (emoji: string): Promise<void> => void seen.push(emoji);
  expect(await run(given, react)).toEqual({ ok: true, output: `Reacted with ${put}` });
  expect(seen).toEqual([put]);
});

test.each(['', 'ok', '1', '👍👍', ':tada:', 'a\uFE0F'])('"%s" is not one emoji', async (given) => {
  const react = () => Promise.reject(new Error('must not be asked'));
  expect(await run(given, react)).toEqual({ ok: false, output: 'Error: give exactly one emoji' });
});

test('what the platform says against it is a result that the model reads', async () => {
  const react = () => Promise.reject(new Error('setMessageReaction: 400 Bad Request: REACTION_INVALID'));
  expect(await run('🦖', react)).toEqual({
    ok: false,
    output: 'Error: no reaction was put: setMessageReaction: 400 Bad Request: REACTION_INVALID',
  });
  expect(reactKit(runScope())).toEqual([]);
});
