import { z } from 'zod';
import { PRIVATE, UNTRUSTED } from '../core/authority.ts';
import type { ClaimDisk } from '../core/ports.ts';
import type { Exit, RunSpawner } from '../core/process.ts';
import type { RunScope, Tool, ToolContext } from '../core/tool.ts';
import { workspaceLock } from '../workspace/workspace-lock.ts';
import { defineBoundTool, type KnownKit, ToolFailure } from './define.ts';
import { programApproval } from './program-approval.ts';
import { ruleOn } from './shell-rules.ts';
import { OutputSink, type Spilled } from './spill.ts';

const DEFAULT_SECS = 120;
const MOST_SECS = 600;
/** For the start of the worker, the end of all that the command started, and what is made of its output. */
const ENDING_SECS = 5;
const OUTPUT_BYTES = 50_000;
/** A longer script belongs in a file. */
const MAX_COMMAND_BYTES = 65_536;

interface Args {
  readonly command: string;
  readonly timeout_secs: number;
}

interface Port {
  readonly spawner: RunSpawner;
  readonly claimDisk: ClaimDisk | undefined;
}

type Output = string | Spilled;

const facts = {
  name: 'shell',
  description: 'Run a shell command in the workspace. Returns output, errors and exit code.',
  schema: z.strictObject({
    command: z.string().min(1).describe('For sh -c'),
    timeout_secs: z.number().default(DEFAULT_SECS).describe(`1 to ${MOST_SECS}`),
  }),
  tags: ['runtime'],
  outputBytes: OUTPUT_BYTES,
  act: 'program',
  // It prints any file of the workspace, and with the network anything at all.
  reads: UNTRUSTED | PRIVATE,
  needs: 'sh',
  bindsWorkspace: true,
  rule: (args: unknown) => ruleOf(commandIn(args)),
  run: (args: Args, context: ToolContext, port: Port) => runShell(args, context, port),
} as const;

/** A yes is to the command within what holds it now. */
const judge = ({ spawner: { bounds } }: Port): Pick<Tool, 'approval'> => ({
  approval: async (args, call) => await programApproval({ command: commandIn(args), bounds }, call),
});

/** What no sandbox holds, or one with the network, may reach others. */
const contained = defineBoundTool({
  ...{ ...facts, judge, effect: 'workspace' },
  bind: ({ spawner, claimDisk }) => (spawner?.isContained ? { spawner, claimDisk } : undefined),
});
const open = defineBoundTool({
  ...{ ...facts, judge, effect: 'outside' },
  bind: ({ spawner, claimDisk }) => (spawner && !spawner.isContained ? { spawner, claimDisk } : undefined),
});

/** Known as what it can be at most. */
export const shell: KnownKit = Object.assign((scope: RunScope) => [...contained(scope), ...open(scope)], { facts: open.facts });

/** Of arguments that nothing has checked. */
function commandIn(args: unknown): string {
  const { command } = (args ?? {}) as { readonly command?: unknown };
  return typeof command === 'string' ? command : '';
}

function ruleOf(command: string): ReturnType<NonNullable<Tool['rule']>> {
  const rule = ruleOn(command);
  if (rule?.kind === 'deny') return { kind: 'deny', reason: `commands such as \`${rule.what}\` are never run` };
  return rule && { kind: 'ask', reason: `\`${rule.what}\` needs a yes each time` };
}

async function runShell(args: Args, context: ToolContext, { spawner, claimDisk }: Port): Promise<Output> {
  const { command, timeout_secs } = args;
  if (Buffer.byteLength(command) > MAX_COMMAND_BYTES)
    throw new ToolFailure(`the command is longer than ${MAX_COMMAND_BYTES} bytes; write it to a file and run that`);
  if (command.includes('\0')) throw new ToolFailure('the command holds a NUL character');
  const { callId, workspace: cwd, signal } = context;
  using _ = await workspaceLock.write(context);
  const seconds = secondsOf(timeout_secs, context);
  // Bash reads `.bashrc` where its input is a socket, as if rshd had started it, and the model may write
  // that.
  const argv = [...(spawner.programs.has('bash') ? ['bash', '--norc'] : ['sh']), '-c', command];
  await using whole = new OutputSink({ name: 'shell', context, claimDisk, outputBytes: OUTPUT_BYTES });
  let taken = Promise.resolve();
  const onOutput = (bytes: Uint8Array): Promise<void> => {
    taken = taken.then(() => whole.write(bytes));
    return taken;
  };
  const limits = { timeoutMs: seconds * 1_000, outputBytes: OUTPUT_BYTES };
  const program = { argv, cwd, callId, ...limits, onOutput, isHome: true, writes: true } as const;
  const exit = await spawner.run(program, signal);
  if (exit.timedOut) throw new ToolFailure(`timed out after ${seconds} s, and ended with all that it started\n${outputOf(exit)}`);
  const status = exit.code === null ? 'Ended by a signal' : `Exit code: ${exit.code}`;
  if (exit.cut === 0) return `${outputOf(exit)}\n${status}`;
  // The worker kept the ends of it alone; here is all of what it printed.
  await taken;
  await whole.write(`${errorsOf(exit)}\n${status}`);
  return await whole.end();
}

/** Ends before the call does: of a call whose time is over neither the output nor the outcome is known. */
function secondsOf(asked: number, { leftMs }: ToolContext): number {
  const left = leftMs ? Math.floor(leftMs() / 1_000) - ENDING_SECS : MOST_SECS;
  return Math.max(1, Math.min(MOST_SECS, asked, left));
}

function outputOf(exit: Exit): string {
  return `${exit.out.trimEnd()}${errorsOf(exit)}`.replace(/^\n/, '');
}

function errorsOf({ err }: Exit): string {
  return err === '' ? '' : `\n--- stderr ---\n${err.trimEnd()}`;
}
