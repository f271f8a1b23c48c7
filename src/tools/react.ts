import { z } from 'zod';
import { errorText } from '../core/errors.ts';
import { defineBoundTool, ToolFailure } from './define.ts';

export const react = defineBoundTool({
  name: 'react',
  description:
    'Put a reaction under the message you are answering, where an emoji says it better than words. It does not replace your answer, which is sent in any case.',
  schema: z.strictObject({ emoji: z.string().describe('One emoji, such as 👍; apps take only some of them') }),
  tags: ['message'],
  effect: 'outside',
  act: 'home',
  // The same reaction again is one.
  idempotent: true,
  bind: ({ answer }) => answer?.react,
  async run({ emoji: given }, { signal }, put) {
    const emoji = emojiOf(given);
    try {
      await put(emoji, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw new ToolFailure(`no reaction was put: ${errorText(error)}`);
    }
    return `Reacted with ${emoji}`;
  },
});

/** In its full spelling: platforms differ in which one they take, and adapters can shorten this one. */
function emojiOf(given: string): string {
  const found = [given.trim(), `${given.trim()}\uFE0F`].find((text) => /^\p{RGI_Emoji}$/v.test(text));
  if (found === undefined) throw new ToolFailure('give exactly one emoji');
  return found;
}
