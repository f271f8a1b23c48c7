import { z } from 'zod';
import type { Messages } from '../core/messages.ts';
import type { Act, Tool } from '../core/tool.ts';
import { choiceLabels } from './choice-labels.ts';
import { defineBoundTool, ToolFailure } from './define.ts';
import { isFiller } from './filler.ts';

/** What a person could still be asked to read. */
const MOST_CHARS = 40_000;
const MOST_BUTTONS = 10;

/** Where a call goes, of arguments that nothing has checked. */
const Where = z.looseObject({ channel: z.string().optional(), chat_id: z.string().optional() });
const Button = z.looseObject({ text: z.string() });
const Metadata = z.strictObject({
  inline_keyboard: z
    .array(z.array(Button))
    .optional()
    .describe('Rows of buttons {"text": …}. A pick comes back as a message with that text'),
});

export const message = defineBoundTool({
  name: 'message',
  description:
    'Send a message at once: to this chat while you are still at work, or to another chat that has written to you. ' +
    'Your answer reaches this chat by itself, so never repeat it here. Other chats read on whose behalf you write.',
  schema: z.strictObject({
    content: z.string().min(1).max(MOST_CHARS).describe('Markdown'),
    channel: z.string().optional().describe('Default: the channel of this chat'),
    chat_id: z
      .string()
      .optional()
      .describe(
        'Id of a chat or of the person in it, or their name. Default: this chat; on another channel, their own chat there',
      ),
    metadata: Metadata.optional(),
  }),
  tags: ['message'],
  effect: 'outside',
  // By the key of the call: what was written before is not written again.
  idempotent: true,
  act: (args) => actOf(args, ({ channel, chat_id: chatId }) => channel === undefined && chatId === undefined),
  bind: ({ messages }) => messages,
  judge: (messages) => ({
    act: (args) => actOf(args, ({ channel, chat_id: chatId }) => messages.isHome({ channel, chatId })),
    approval: approvalFor(messages),
  }),
  async run({ content, channel, chat_id: chatId, metadata = {} }, { idempotencyKey, signal, taint = 0 }, messages) {
    if (!/\S/.test(content)) throw new ToolFailure('the content is empty');
    const buttons = buttonsIn(metadata.inline_keyboard ?? [], messages);
    if (buttons.length === 0 && isFiller(content))
      return 'Not sent: it says only that there is work, which the chat is shown anyway.';
    const choices = buttons.map((label) => ({ label, value: label }));
    const sent = await messages.write({ chat: { channel, chatId }, text: content, choices, taint }, idempotencyKey, signal);
    if (sent.kind === 'refused') throw new ToolFailure(sent.reason);
    const list = buttons.map((label, n) => `\n${n + 1}. ${label}`).join('');
    return `On its way to ${sent.title}.${list === '' ? '' : ` With the choices:${list}`}`;
  },
});

/** What cannot be read reaches as far as the tool can. */
function actOf(args: unknown, isHome: (where: z.output<typeof Where>) => boolean): Act {
  const read = Where.safeParse(args);
  return read.success && isHome(read.data) ? 'home' : 'chat';
}

/** A yes covers whom it reaches; the arguments hold every word. */
function approvalFor(messages: Messages): NonNullable<Tool['approval']> {
  return async (args) => {
    const { channel, chat_id: chatId } = Where.parse(args);
    const found = await messages.find({ channel, chatId });
    if (found.kind === 'refused') throw new ToolFailure(found.reason);
    const { title, head } = found;
    return { digest: { title, head }, shown: `To ${title}, below the line:\n${head}` };
  };
}

function buttonsIn(rows: readonly (readonly z.output<typeof Button>[])[], messages: Messages): readonly string[] {
  const buttons = rows.flat();
  if (buttons.length > MOST_BUTTONS) throw new ToolFailure(`a message has at most ${MOST_BUTTONS} buttons`);
  for (const button of buttons) {
    const [odd] = Object.keys(button).filter((key) => key !== 'text' && key !== 'callback_data');
    if (odd !== undefined)
      throw new ToolFailure(
        `buttons send back their text, and can do nothing else: ${odd} is not possible. Put an address into the content`,
      );
  }
  return choiceLabels(
    buttons.map(({ text }) => text),
    (words) => messages.isReserved(words),
  );
}
