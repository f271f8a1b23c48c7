import { expect, test } from 'vitest';
import type { ToolContext } from '../core/tool.ts';
import { reactTool } from './react.ts';
import { runTool } from './run.ts';

function run(emoji: string, react?: ToolContext['react']) {
  const context: ToolContext = {
    workspace: '/w',
    session: 's',
    principal: 'p',
    idempotencyKey: 'k',
    attach: () => Promise.reject(new Error('not in this test')),
    offer: () => [],
    ...(react ? { react } : {}),
    signal: new AbortController().signal,
  };
  return runTool(reactTool, JSON.stringify({ emoji }), context, { timeoutMs: 1_000 });
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
  expect(await run('👍')).toEqual({ ok: false, output: 'Error: this channel has no reactions' });
});
