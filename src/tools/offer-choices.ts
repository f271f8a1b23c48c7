import { z } from 'zod';
import { defineBoundTool, ToolFailure } from './define.ts';

/**
 * Bytes of a label, which is also what comes back when it is pressed: Telegram gives that 64
 * (`Choice.value`).
 */
const LABEL_BYTES = 60;

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
    const labels = choices.map((label) =>
      label
        .normalize('NFC')
        .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
        .trim(),
    );
    for (const label of labels) assertLabel(label);
    if (new Set(labels.map((label) => label.toLowerCase())).size < labels.length) {
      throw new ToolFailure('every choice needs a label of its own; upper and lower case are not told apart');
    }
    const reserved = labels.find((label) => answer.isReserved(label));
    if (reserved !== undefined) {
      throw new ToolFailure(`"${reserved}" is a command of the chat itself and would never reach you; word it in another way`);
    }
    // Stays in the session beside the answer: a typed "2" is understood by it.
    const list = labels.map((label, n) => `${n + 1}. ${label}`).join('\n');
    return { output: `Offered below the answer:\n${list}`, choices: labels.map((label) => ({ label, value: label })) };
  },
});

function assertLabel(label: string): void {
  if (label === '') throw new ToolFailure('a choice has no label');
  const bytes = Buffer.byteLength(label, 'utf8');
  if (bytes > LABEL_BYTES) {
    throw new ToolFailure(`"${label}" has ${bytes} bytes in UTF-8; a choice has at most ${LABEL_BYTES}, so shorten it`);
  }
  // It could be the number of another choice.
  if (/^\d+[.)]?$/.test(label)) throw new ToolFailure(`"${label}" is only a number; add what it counts, as in "${label} people"`);
}
