import { z } from 'zod';

/** Section `heartbeat` (spec E4). */
export const heartbeatSection = z
  .strictObject({
    every_minutes: z
      .int()
      .min(0)
      .max(7 * 24 * 60)
      .default(30)
      .describe('How often HEARTBEAT.md of the data directory is looked at. 0: never. Applies without a restart.'),
    max_a_day: z
      .int()
      .min(1)
      .max(1440)
      .default(48)
      .describe('Most times a day that the agent is asked about it. Applies without a restart.'),
  })
  .prefault({})
  .describe(
    'The agent is asked about the list in HEARTBEAT.md when that says something new; without the file, never. It answers in the first chat of gateway.owner.',
  );
