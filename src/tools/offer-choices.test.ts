import { expect, test } from 'vitest';
import { onlyTool, toolCall } from '../testing/tool-scope.ts';
import { offerChoices } from './offer-choices.ts';
import { runTool } from './run.ts';

function setUp(reserved: readonly string[] = []) {
  const tool = onlyTool(offerChoices, { isReserved: (words) => reserved.includes(words) });
  return (choices: unknown) => runTool(tool, JSON.stringify({ choices }), toolCall(), { timeoutMs: 1_000 });
}

test('choices are offered with their label as the value, one line each, and the result numbers them for the session', async () => {
  expect(await setUp()([' Tea ', 'Coffee\n with milk'])).toEqual({
    ok: true,
    output: 'Offered below the answer:\n1. Tea\n2. Coffee with milk',
    choices: [
      { label: 'Tea', value: 'Tea' },
      { label: 'Coffee with milk', value: 'Coffee with milk' },
    ],
  });
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
  expect(await setUp(['Cancel'])(choices)).toEqual({ ok: false, output: expect.stringMatching(problem) });
});
