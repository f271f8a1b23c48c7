import { z } from 'zod';

const megabytes = z.int().min(1).max(1_000_000_000);

/** What files in workspaces may take up. In MiB. */
export const diskSection = z
  .strictObject({
    person_mb: megabytes
      .default(2_048)
      .describe('Most that the files of one chat, its topics together, may take up: uploads, and what the agent writes.'),
    total_mb: megabytes
      .default(20_480)
      .describe('The same for all chats together. Counted at the start, once a day, and before a file is refused because of it.'),
    reserve_mb: z
      .int()
      .min(0)
      .max(1_000_000_000)
      .default(256)
      .describe('So much of the disk stays free for the journal: no file is fetched or written that would need it.'),
  })
  .prefault({})
  .describe(
    'Limits on the disk, in MB of 1,048,576 bytes. A file that does not fit is refused, and its sender is told. Uploads are removed after 30 days, and the oldest sooner where those of one conversation exceed 1 GB.',
  );
