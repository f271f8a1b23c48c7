// action, path, ref -> git, with a config of our own in place of the repository's -> what it prints
import { lstat } from 'node:fs/promises';
import { z } from 'zod';
import { PRIVATE, UNTRUSTED } from '../core/authority.ts';
import type { RunSpawner } from '../core/process.ts';
import type { ToolContext } from '../core/tool.ts';
import { isErrno } from '../lib/errno.ts';
import { openParent, splitWorkspacePath } from '../workspace/path.ts';
import { defineBoundTool, ToolFailure } from './define.ts';
import { GIT_SCRIPT } from './git-script.ts';
import { judgeLook } from './look-program.ts';

const TIMEOUT_MS = 60_000;
const OUTPUT_BYTES = 50_000;

const ACTIONS = ['status', 'diff', 'log', 'show', 'blame'] as const;

interface Args {
  readonly action: (typeof ACTIONS)[number];
  readonly path: string;
  readonly ref?: string | undefined;
  readonly count: number;
}

export const git = defineBoundTool({
  name: 'git',
  description: 'Look at a git repository of the workspace: status, diff, log, show, blame. Changes nothing.',
  schema: z.strictObject({
    action: z.enum(ACTIONS),
    path: z.string().default('.').describe('The repository, or a file or directory in it, relative to the workspace'),
    ref: z.string().min(1).max(200).optional().describe('Commit, branch, tag or range a..b'),
    count: z.int().min(1).max(200).default(10).describe('Commits of log'),
  }),
  tags: ['runtime'],
  effect: 'none',
  outputBytes: OUTPUT_BYTES,
  // As read_file: what it prints are words of files.
  reads: UNTRUSTED | PRIVATE,
  needs: 'git',
  bind: ({ spawner }) => (spawner?.programs.has('git') ? spawner : undefined),
  judge: judgeLook,
  run: (args, call, spawner) => look(args, call, spawner),
});

async function look(args: Args, { callId, workspace: cwd, signal }: ToolContext, spawner: RunSpawner): Promise<string> {
  const { action, ref } = args;
  // Not even behind --end-of-options: older versions of some commands do not know it.
  if (ref?.startsWith('-')) throw new ToolFailure('a ref does not begin with -');
  if (ref !== undefined && !/^[\w./@{}^~:#+-]+$/.test(ref)) throw new ToolFailure('this is no name of a commit, branch or tag');
  const at = await placeOf(cwd, args.path);
  if (action === 'blame' && at.name === '.') throw new ToolFailure('blame needs the path of a file');
  const argv = ['sh', '-c', GIT_SCRIPT, 'git', at.directory, ...SAFE, ...commandOf(args), '--', at.name];
  const program = { argv, cwd, callId, network: false, timeoutMs: TIMEOUT_MS, outputBytes: OUTPUT_BYTES };
  const exit = await spawner.run(program, signal);
  if (exit.timedOut) throw new ToolFailure(`git took longer than ${TIMEOUT_MS / 1_000} s; name a path`);
  if (exit.code !== 0) throw new ToolFailure(exit.err.trim().replace(/^fatal: /, '') || 'git failed');
  return exit.out.trimEnd() || EMPTY[action];
}

/** What git does without being told: nothing that starts a program, and nothing that it writes. */
const SAFE = [
  ...['--no-pager', '--no-optional-locks', '--literal-pathspecs', '-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null'],
  ...['-c', 'protocol.allow=never', '-c', 'safe.bareRepository=explicit', '-c', 'diff.autoRefreshIndex=false'],
  ...['-c', 'log.showSignature=false', '-c', 'submodule.recurse=false', '-c', 'color.ui=false'],
];
const NO_PROGRAMS = ['--no-ext-diff', '--no-textconv', '--ignore-submodules=all'];
const LOG_LINE = '--format=%h %ad %an: %s';

function commandOf({ action, ref, count }: Args): readonly string[] {
  const at = ref === undefined ? [] : [ref];
  switch (action) {
    case 'status':
      return ['status', '--short', '--branch', '--ignore-submodules=all'];
    case 'diff':
      return ['diff', ...NO_PROGRAMS, ...at];
    case 'log':
      return ['log', `--max-count=${count}`, '--date=short', LOG_LINE, ...at];
    case 'show':
      return ['show', ...NO_PROGRAMS, '--date=short', ...(at.length > 0 ? at : ['HEAD'])];
    case 'blame':
      return ['blame', '--no-textconv', '--date=short', ...at];
  }
}

const EMPTY: Readonly<Record<Args['action'], string>> = {
  status: 'Nothing changed',
  diff: 'No differences',
  log: 'No commits',
  show: 'Nothing changed there',
  blame: '(empty file)',
};

/** The directory that git starts in, and what of it is meant. A file may be gone: its history is not. */
async function placeOf(workspace: string, path: string): Promise<{ readonly directory: string; readonly name: string }> {
  if (splitWorkspacePath(path).length === 0) return { directory: '.', name: '.' };
  const { parent, name } = await openParent(workspace, path);
  await using _ = parent;
  const names = splitWorkspacePath(path);
  const isDirectory = await lstat(parent.child(name)).then(
    (info) => info.isDirectory(),
    (error: unknown) => {
      if (isErrno(error, 'ENOENT')) return false;
      throw error;
    },
  );
  const directory = ['.', ...(isDirectory ? names : names.slice(0, -1))].join('/');
  return { directory, name: isDirectory ? '.' : name };
}
