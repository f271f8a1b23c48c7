import type { ChatSettings } from '../../core/chats.ts';
import type { InboundMessage } from '../../core/message.ts';
import { QUEUE_MODES, type QueueMode, queueModeOf } from '../../core/queueing.ts';
import { oneLine } from '../../lib/one-line.ts';
import type { CommandSpec, Prompted, PromptPorts } from './command.ts';
import { type Conversation, GROUP_REFUSAL } from './conversation.ts';

/** Goes back to what the config says. */
const DEFAULT = 'default';
/** Longest quotation of what a person asked for. */
const QUOTE_CHARS = 60;

const WHAT: Readonly<Record<QueueMode, string>> = {
  followup: 'one after the other',
  collect: 'what waits is answered together',
  steer: 'it is told to the work under way; of what waits only the newest counts',
  interrupt: 'it ends the work under way and takes its place',
  speculative: 'it is answered at once, beside the work under way (a short “yes” is taken as a question of its own)',
};

export const queueCommand: CommandSpec = {
  name: 'queue',
  args: `[${QUEUE_MODES.join('|')}]`,
  summary: 'what happens to messages that come while I work; or choose it',
  isPrivate: true,
  read: (words) => ({ kind: 'queue', ...(words.length > 0 ? { value: words.join(' ') } : {}) }),
};

/** What a chat chose, which the commit of the answer writes; without a word, what is in force. */
export async function answerQueue(
  { value }: { readonly value?: string },
  { message }: Conversation,
  { answer, mayChange, queue }: PromptPorts,
): Promise<Prompted> {
  const say = (text: string, settings?: ChatSettings): Prompted => {
    if (settings) queue.chosen(message);
    return { outcome: 'queue', parts: answer(message, text), ...(settings ? { settings } : {}) };
  };
  if (value === undefined) return say(await shown(message, queue));
  if (!mayChange(message)) return { outcome: 'not-permitted', parts: answer(message, GROUP_REFUSAL) };
  const wanted = value.toLowerCase();
  if (wanted === DEFAULT) {
    const { mode } = queue.configured(message);
    return say(`From now on the queue mode is ${mode} here, as the config says.`, { queue: null });
  }
  const mode = queueModeOf(wanted);
  if (mode)
    return say(`From now on the queue mode is ${mode} here: ${WHAT[mode]}. \`/queue ${DEFAULT}\` goes back.`, { queue: mode });
  const names = [...QUEUE_MODES, DEFAULT].join(', ');
  return say(`There is no queue mode “${oneLine(value, QUOTE_CHARS)}”. Nothing was changed. There are: ${names}.`);
}

async function shown(message: InboundMessage, queue: PromptPorts['queue']): Promise<string> {
  const { mode, from } = await queue.of(message);
  const list = QUEUE_MODES.map((one) => `/queue ${one} – ${WHAT[one]}`);
  return [`Queue mode: ${mode}, ${from}.`, '', ...list, `/queue ${DEFAULT} – as the config says`].join('\n');
}
