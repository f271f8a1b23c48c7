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
      .enum(['auto', 'bwrap', 'macos', 'docker', 'none', 'off'])
      .default('auto')
      .describe(
        'What programs of the agent run in. auto: bubblewrap on Linux, sandbox-exec on macOS, else containers where `image` is set; where none works the tools are left out, and `gatehouse status` says why. docker: a container of `image` for each program. none: in nothing, with all that the user of the daemon may do. off: no tool runs programs.',
      ),
    allow_network: z
      .boolean()
      .default(false)
      .describe('Whether programs of the agent have the network. Plugins have it where you approved that, and only there.'),
    read_allow_paths: z
      .array(readable)
      .max(64)
      .default([])
      .describe(
        'Directories that programs may read beside those of the system. Nothing of /etc, /proc, /sys, /dev and no socket.',
      ),
    memory_mb: z
      .int()
      .min(64)
      .max(1_000_000)
      .default(2_048)
      .describe(
        'Most memory that all processes of one call may hold together; also the address space of each process. Not on macOS. In MiB.',
      ),
    pids: z.int().min(4).max(10_000).default(128).describe('Processes and threads of one program at once.'),
    worker_socket: z
      .string()
      .regex(/^\/[^\0\n]{0,100}$/, 'must be an absolute path of at most 101 characters')
      .optional()
      .describe(
        'Socket of a worker that the system runs, such as /run/gatehouse-tools/socket of gatehouse-tools.socket. Default: the daemon starts one.',
      ),
    image: z
      .string()
      .regex(/^[a-z0-9][A-Za-z0-9._/:@-]{0,254}$/, 'must be the name of an image, such as debian:bookworm')
      .optional()
      .describe(
        'Image of the containers. It must be there (`docker pull`), and needs a shell; the tools `grep` and `git` also rg and git.',
      ),
  })
  .superRefine(({ mode, image }, context) => {
    if (mode === 'docker' && image === undefined)
      context.addIssue({
        code: 'custom',
        path: ['mode'],
        message: 'needs an image',
        params: { hint: 'add "image": "debian:bookworm", or one of yours with ripgrep and git in it' },
      });
    if (image !== undefined && mode !== 'docker' && mode !== 'auto')
      context.addIssue({
        code: 'custom',
        path: ['image'],
        message: `does nothing beside "mode": "${mode}"`,
        params: { hint: 'remove it, or set "mode": "docker"' },
      });
  })
  .describe(
    'Tools that run programs, such as `shell`, `grep` and those of plugins, and what these may reach. Without this section there are none.',
  );
