import { z } from 'zod';
import { choiceLabels, LABEL_BYTES } from './choice-labels.ts';
import { defineBoundTool } from './define.ts';

export const offerChoices = defineBoundTool({
  name: 'offer_choices',
  description:
    'Show choices below your answer of this turn, to press or to type: buttons where the app has them, else a numbered list. ' +
    'The pick arrives as the next message of whoever made it, as the label or its number. Ask in your answer, and do not repeat the list there. ' +
    'A second call replaces the first.',
  schema: z.strictObject({
    choices: z
      .array(z.string())
      .min(2)
      .max(10)
      .describe(`Labels of 1 to 5 words in the language of the person, at most ${LABEL_BYTES} bytes each`),
  }),
  tags: ['message'],
  // It changes nothing until the answer is committed, and then the last call counts.
  effect: 'none',
  bind: ({ answer }) => answer,
  async run({ choices }, _context, answer) {
    const labels = choiceLabels(choices, (words) => answer.isReserved(words));
    // Stays in the session beside the answer: a typed "2" is understood by it.
    const list = labels.map((label, n) => `${n + 1}. ${label}`).join('\n');
    return { output: `Offered below the answer:\n${list}`, choices: labels.map((label) => ({ label, value: label })) };
  },
});
