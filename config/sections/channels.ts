import { z } from 'zod';
import { QUEUE_WORDS } from '../../src/core/queueing.ts';
import { isSlowPattern } from '../../src/lib/slow-pattern.ts';
import { thinkingLevel } from './model-entry.ts';
import { channelPolicy } from './tool-policy.ts';

const SLOW = {
  message: 'takes too long on some texts: one message could stop the daemon',
  params: {
    hint: 'avoid a repeat in a repeat, such as (a+)+, and repeats in a row that take the same characters, such as .*.*',
  },
};

/** Whether each pattern that was seen is slow: the file is read again with each change of it. */
const judged = new Map<string, boolean>();

/** Fails for what is no regular expression, and for one that a message could make slow. */
function checkPattern(text: string, context: z.RefinementCtx<string>): void {
  let pattern: RegExp;
  try {
    pattern = new RegExp(text, 'iu');
  } catch {
    context.addIssue({ code: 'custom', message: 'must be a regular expression' });
    return;
  }
  const isSlow = judged.get(text) ?? isSlowPattern(pattern);
  judged.set(text, isSlow);
  if (isSlow) context.addIssue({ code: 'custom', ...SLOW });
}

/** One, or none. Which of them a platform takes is its own choice. */
const emoji = z.string().regex(/^(?:\p{RGI_Emoji})?$/v, { error: 'must be one emoji, or empty' });

/** What every channel entry has, whatever its type; `settings` is checked by the channel's own schema. */
export const channelEntry = z.strictObject({
  type: z.string().min(1).describe('Which kind of channel, for example cli, telegram or email.'),
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, { error: 'must be letters, digits, "-" or "_", at most 64' })
    .optional()
    .describe('Name of this instance; only needed when two entries have the same type. Default: the type.'),
  allowed_senders: z
    .array(z.string().min(1))
    .default([])
    .describe(
      'Immutable sender ids that may talk to the agent; "*" lets everyone in. Empty: only people you approved by pairing.',
    ),
  allowed_groups: z
    .array(z.string().min(1))
    .default([])
    .describe('Group chat ids in which the agent answers; "*" means all. Empty: no group.'),
  group_admins: z
    .array(z.string().min(1))
    .optional()
    .describe(
      'Immutable sender ids that may, beside the owner, use the commands in groups that change the conversation for all: /new, /reset, /s, /back, /delete, /compact, and /thinking, /queue and /status with a word. Default: none.',
    ),
  group_mode: z
    .enum(['mention', 'pattern', 'always'])
    .default('mention')
    .describe('In groups: answer only when mentioned or replied to, also when one of group_patterns fits, or always.'),
  group_patterns: z
    .array(z.string().min(1).max(200).superRefine(checkPattern))
    .max(20)
    .default([])
    .describe(
      'Regular expressions, letter case ignored, that address the agent in a group with group_mode "pattern", or by voice with group_voice. One that some texts make slow is refused, and one that takes longer than 50 ms on a message is not used any more.',
    ),
  group_voice: z
    .boolean()
    .optional()
    .describe(
      'In groups: transcribe the voice notes of allowed senders that address nobody, and answer those in whose words one of group_patterns fits, with group_mode "mention" too. Each is paid for like any transcription. Default false.',
    ),
  context_from: z
    .record(z.string().min(1), z.enum(['allowed', 'everyone']))
    .optional()
    .describe(
      'By group chat id, or "*": whose earlier words the agent is shown when it is called into a group or thread. allowed: of people who may write to it, and how many others there were. everyone: of all of them, as words that are not trusted. Discord, Feishu and Slack only, and only where the conversation is new. Default: allowed.',
    ),
  allow_demo: z
    .boolean()
    .optional()
    .describe('Let the demo model answer on this channel while no real model is configured. Default false.'),
  streaming: z
    .enum(['edit', 'off'])
    .default('edit')
    .describe(
      'edit: an answer that takes longer than a second is shown while it is written, by editing its message, where the platform can. off: it is sent when it is complete.',
    ),
  status_line: z
    .boolean()
    .optional()
    .describe(
      'Show what goes on (✦ Thinking… (12s)) from the second second on in which the model writes nothing, where messages can be edited. The answer takes the place of it, so the notification that people get is that of the status. Default false.',
    ),
  reactions: z
    .strictObject({
      working: emoji.default('👀').describe('From 3 seconds on, while the agent works on a message. "" puts none.'),
      done: emoji.default('').describe('After an answer. "" takes the one for working away.'),
      failed: emoji.default('').describe('After a failure. "" takes the one for working away.'),
    })
    .optional()
    .describe(
      'Emoji that the agent puts under a message as signs of life, where the platform has reactions. Default: 👀 while it works.',
    ),
  model: z.string().min(1).optional().describe('Name in "models" of the model that answers on this channel.'),
  sender_models: z
    .record(z.string().min(1), z.string().min(1))
    .optional()
    .describe('Name in "models" of the model that answers a sender, by immutable sender id. Goes before "model".'),
  thinking: thinkingLevel.optional().describe('How much the models think before they answer on this channel.'),
  queue_mode: z
    .enum(QUEUE_WORDS)
    .optional()
    .describe(
      'What happens on this channel to a message that arrives while a turn of its chat runs. Default: gateway.queue_mode.',
    ),
  debounce_ms: z
    .int()
    .min(0)
    .max(60_000)
    .optional()
    .describe(
      'Messages of one person that follow each other within this time are answered together. Default 0: each begins its turn at once. Stopping, commands that are answered at once and answers to questions never wait for it.',
    ),
  tool_policy: channelPolicy
    .optional()
    .describe('Which tools the agent may use on this channel. A rule more beside tool_policy: both must allow.'),
  settings: z.record(z.string(), z.unknown()).default({}).describe('Settings of this type of channel.'),
});
