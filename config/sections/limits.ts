import { z } from 'zod';

const messages = z.int().min(1).max(1_000_000);
const megabytes = z.int().min(1).max(1_000_000);

/** What one person, one chat and all together may have waiting, and what of it runs at once. In MiB. */
export const limitsSection = z
  .strictObject({
    person_messages: messages
      .optional()
      .describe('Most messages of one person that may wait. Default: a tenth of gateway.high_water, at least 40.'),
    person_mb: megabytes.default(16).describe('Most that the waiting messages of one person may take up, without their files.'),
    person_turns_at_once: z
      .int()
      .min(1)
      .max(1_000)
      .optional()
      .describe(
        'Turns of one person that may run at the same time on one channel; their others wait, in order. Not for the owner. Default: a third of gateway.max_concurrent_sessions, fewer where many channels share those, at least 1.',
      ),
    chat_messages: messages
      .optional()
      .describe(
        'Most messages that may wait in one chat, in a group half of them of one person; each thread of a chat counts for itself. Default: a twentieth of gateway.high_water, at least 20.',
      ),
    chat_mb: megabytes.default(8).describe('The same, for what they take up without their files.'),
    total_mb: megabytes
      .default(256)
      .describe(
        'Most that all waiting messages may take up, and what waits to be sent on one channel. From then on the platforms are asked to hold theirs, as from gateway.high_water messages on.',
      ),
  })
  .prefault({})
  .describe(
    'Limits on what waits and runs, so that one person leaves room for all others. In MB of 1,048,576 bytes. A message beyond a limit of its person or chat is refused, and they are told once.',
  );
