import type { CommandSpec, Prompted, PromptPorts } from './command.ts';
import { type Conversation, GROUP_REFUSAL } from './conversation.ts';

/** Spec A6: shows what the model thought. How much it thinks is `/think`. */
export const thinkingCommand: CommandSpec = {
  ...{ name: 'thinking', args: '[on|off]', isPrivate: true },
  summary: 'whether the thoughts of the model stand above its answers',
  read(words) {
    const [word, ...more] = words.map((one) => one.toLowerCase());
    if (more.length > 0 || (word !== undefined && word !== 'on' && word !== 'off')) return undefined;
    return { kind: 'thinking', ...(word === undefined ? {} : { isOn: word === 'on' }) };
  },
};

export async function answerThinking(
  { isOn }: { readonly isOn?: boolean },
  { message, settings }: Conversation,
  { answer, mayChange, mayShowThinking }: PromptPorts,
): Promise<Prompted> {
  const say = (outcome: string, text: string): Prompted => ({ outcome, parts: answer(message, text) });
  if (isOn === undefined) {
    const isShown = settings.showThinking === true && mayShowThinking();
    return say('thinking', `The thoughts of the model are ${isShown ? '' : 'not '}shown here. /thinking on or off changes that.`);
  }
  if (!mayChange(message)) return say('not-permitted', GROUP_REFUSAL);
  if (isOn && !mayShowThinking())
    return say(
      'not-permitted',
      'The operator has not allowed that thoughts are shown (gateway.show_thinking). Nothing was changed.',
    );
  const text = isOn
    ? 'From now on the thoughts of the model stand above its answers, where it tells them.'
    : 'The thoughts of the model are no longer shown here.';
  return { ...say('thinking', text), settings: { showThinking: isOn } };
}
