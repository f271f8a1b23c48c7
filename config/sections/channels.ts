import { z } from 'zod';

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
  group_mode: z
    .enum(['mention', 'always'])
    .default('mention')
    .describe('In groups: answer only when mentioned or replied to, or always.'),
  allow_demo: z
    .boolean()
    .optional()
    .describe('Let the demo model answer on this channel while no real model is configured. Default false.'),
  settings: z.record(z.string(), z.unknown()).default({}).describe('Settings of this type of channel.'),
});
