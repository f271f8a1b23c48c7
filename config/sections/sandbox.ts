import { z } from 'zod';

/** Of a path that programs may read; what must not be shown is refused where the sandbox is made. */
const readable = z
  .string()
  .regex(/^\/[^:\0\n]*$/, 'must be an absolute path without a colon')
  .refine((path) => !path.split('/').includes('..'), 'must not hold ..');

/** Absent = no tool runs programs. */
export const sandboxSection = z
  .strictObject({
    mode: z
      .enum(['auto', 'bwrap', 'macos', 'none', 'off'])
      .default('auto')
      .describe(
        'What programs of the agent run in. auto: bubblewrap on Linux, sandbox-exec on macOS; where that does not work the tools are left out, and `gatehouse status` says why. none: in nothing, with all that the user of the daemon may do. off: no tool runs programs.',
      ),
    allow_network: z.boolean().default(false).describe('Whether programs of the agent have the network.'),
    read_allow_paths: z
      .array(readable)
      .max(64)
      .default([])
      .describe(
        'Directories that programs may read beside those of the system. Nothing of /etc, /proc, /sys, /dev and no socket.',
      ),
    memory_mb: z.int().min(64).max(1_000_000).default(2_048).describe('Address space of each process of a program. In MiB.'),
    pids: z.int().min(4).max(10_000).default(128).describe('Processes and threads of one program at once.'),
    worker_socket: z
      .string()
      .regex(/^\/[^\0\n]{0,100}$/, 'must be an absolute path of at most 101 characters')
      .optional()
      .describe(
        'Socket of a worker that the system runs, such as /run/gatehouse-tools/socket of gatehouse-tools.socket. Default: the daemon starts one.',
      ),
  })
  .describe('Tools that run programs, `shell` and `grep`, and what these may reach. Without this section there are none.');
