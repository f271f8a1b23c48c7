import { z } from 'zod';
import type { Exit, RunSpawner } from '../core/process.ts';
import type { RunScope, Tool, ToolContext } from '../core/tool.ts';
import { defineBoundTool, type KnownKit, ToolFailure } from './define.ts';
import { type ApprovalCall, programApproval } from './program-approval.ts';
import { ruleOn } from './shell-rules.ts';

const DEFAULT_SECS = 120;
const MOST_SECS = 600;
const OUTPUT_BYTES = 50_000;
/** A longer script belongs in a file. */
const MAX_COMMAND_BYTES = 65_536;

interface Args {
  readonly command: string;
  readonly timeout_secs: number;
}

const facts = {
  name: 'shell',
  description: 'Run a shell command in the workspace. Returns its output, its errors and its exit code.',
  schema: z.strictObject({
    command: z.string().min(1).describe('For sh -c'),
    timeout_secs: z.number().default(DEFAULT_SECS).describe(`1 to ${MOST_SECS}`),
  }),
  tags: ['runtime'],
  outputBytes: OUTPUT_BYTES,
  act: 'program',
  needs: 'sh',
  rule: (args: unknown) => ruleOf(commandIn(args)),
  approval: (args: unknown, call: ApprovalCall) => programApproval(commandIn(args), call),
  run: (args: Args, context: ToolContext, spawner: RunSpawner) => runShell(args, context, spawner),
} as const;

/** What no sandbox holds, or one with the network, may reach others. */
const contained = defineBoundTool({
  ...{ ...facts, effect: 'workspace' },
  bind: ({ spawner }) => (spawner?.isContained ? spawner : undefined),
});
const open = defineBoundTool({
  ...{ ...facts, effect: 'outside' },
  bind: ({ spawner }) => (spawner && !spawner.isContained ? spawner : undefined),
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

async function runShell({ command, timeout_secs }: Args, context: ToolContext, spawner: RunSpawner): Promise<string> {
  if (Buffer.byteLength(command) > MAX_COMMAND_BYTES)
    throw new ToolFailure(`the command is longer than ${MAX_COMMAND_BYTES} bytes; write it to a file and run that`);
  if (command.includes('\0')) throw new ToolFailure('the command holds a NUL character');
  const seconds = Math.min(MOST_SECS, Math.max(1, timeout_secs));
  const { callId, workspace: cwd, signal } = context;
  const argv = [spawner.programs.has('bash') ? 'bash' : 'sh', '-c', command];
  const exit = await spawner.run({ argv, cwd, callId, timeoutMs: seconds * 1_000, outputBytes: OUTPUT_BYTES }, signal);
  if (exit.timedOut) throw new ToolFailure(`timed out after ${seconds} s, and ended with all that it started\n${outputOf(exit)}`);
  return `${outputOf(exit)}\n${exit.code === null ? 'Ended by a signal' : `Exit code: ${exit.code}`}`;
}

function outputOf({ out, err }: Exit): string {
  const errors = err === '' ? '' : `--- stderr ---\n${err.trimEnd()}`;
  return [out.trimEnd(), errors].filter((text) => text !== '').join('\n');
}
