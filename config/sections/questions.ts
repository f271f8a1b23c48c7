import { z } from 'zod';

/** Section `questions`: what the agent asks people. */
export const questionsSection = z
  .strictObject({
    remind_after_hours: z
      .number()
      .min(0)
      .max(30 * 24)
      .default(24)
      .describe(
        'A person who was asked by ask_human and has not answered for so long is asked once more. 0: never. Holds for questions that are asked from then on.',
      ),
  })
  .prefault({})
  .describe('Questions that the agent asks people, and waits for.');
