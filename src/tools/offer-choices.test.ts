import { expect, test } from 'vitest';
import type { Choice } from '../core/message.ts';
import type { ToolContext } from '../core/tool.ts';
import { offerChoicesTool } from './offer-choices.ts';
import { runTool } from './run.ts';

function setUp(reserved: readonly string[] = []) {
  const offered: (readonly Choice[])[] = [];
  const context: ToolContext = {
    workspace: '/w',
    session: 's',
    principal: 'p',
    idempotencyKey: 'k',
    attach: () => Promise.reject(new Error('not in this test')),
    offer(choices) {
      const refused = choices.map(({ label }) => label).filter((label) => reserved.includes(label));
      if (refused.length === 0) offered.push(choices);
      return refused;
    },
    signal: new AbortController().signal,
  };
  const run = (choices: unknown) => runTool(offerChoicesTool, JSON.stringify({ choices }), context, { timeoutMs: 1_000 });
  return { offered, run };
}

test('choices are offered with their label as the value, one line each, and the result numbers them for the session', async () => {
  const it = setUp();
  expect(await it.run([' Tea ', 'Coffee\n with milk'])).toEqual({
    ok: true,
    output: 'Offered below the answer:\n1. Tea\n2. Coffee with milk',
  });
  expect(it.offered).toEqual([
    [
      { label: 'Tea', value: 'Tea' },
      { label: 'Coffee with milk', value: 'Coffee with milk' },
    ],
  ]);
});

test.each<[string, unknown, RegExp]>([
  ['one choice', ['Tea'], /invalid arguments for offer_choices: choices/],
  ['eleven choices', Array.from({ length: 11 }, (_, n) => `c${n}`), /invalid arguments/],
  ['a label of nothing', ['Tea', ' \n'], /a choice has no label/],
  ['a label above what Telegram carries', ['Tea', 'я'.repeat(31)], /has 62 bytes in UTF-8; a choice has at most 60/],
  ['two labels that differ in case', ['Tea', 'TEA'], /a label of its own/],
  ['a number, which may name another choice', ['2', '3'], /"2" is only a number/],
  ['a word of the gateway', ['Tea', 'Cancel'], /"Cancel" is a command of the chat itself/],
])('%s is refused with what to do, and nothing is offered', async (_name, choices, problem) => {
  const it = setUp(['Cancel']);
  const { ok, output } = await it.run(choices);
  expect([ok, output]).toEqual([false, expect.stringMatching(problem)]);
  expect(it.offered).toEqual([]);
});
