// answer of a sub-agent -> what its parent reads of it; a longer one is a file of the workspace
import type { ClaimDisk } from '../core/ports.ts';
import type { RunRow, TurnResult } from '../core/run.ts';
import type { ToolResult } from '../core/tool.ts';
import { OutputSink } from '../tools/spill.ts';
import { type ProgressOptions, progressAtPark } from './progress.ts';
import type { RunnerOptions } from './runner-options.ts';
import { sessionWorkspace } from './workspace.ts';

/** Spec A8. */
const WHOLE_BYTES = 1_000;
const SHOWN_CHARS = 800;

export interface KeptResultOptions {
  /** Of the run that began it, and its own. */
  readonly workspace: string;
  /** Absent = no limit. */
  readonly claimDisk?: ClaimDisk | undefined;
  readonly signal: AbortSignal;
}

/**
 * Called before the run ends, so that the file is on disk when its parent is told of it; again after a crash,
 * which writes the same file. Never rejects.
 */
async function keptResult(row: RunRow, result: ToolResult, options: KeptResultOptions): Promise<ToolResult> {
  const { workspace, claimDisk, signal } = options;
  const bytes = Buffer.byteLength(result.output, 'utf8');
  if (row.profile !== 'subagent' || bytes <= WHOLE_BYTES) return result;
  const context = { workspace, idempotencyKey: row.key, signal };
  await using sink = new OutputSink({ name: 'subagent', context, claimDisk, outputBytes: WHOLE_BYTES });
  await sink.write(result.output);
  const { stored } = await sink.end();
  const shown = result.output.slice(0, SHOWN_CHARS).toWellFormed();
  const where = stored
    ? `All of it is in ${stored.path}: read_file pages it by start_line and end_line.`
    : 'The rest could not be kept.';
  return { ...result, output: `${shown}\n[${shown.length} characters of a result of ${bytes} bytes. ${where}]` };
}

/**
 * The end of a run, with the line about the sub-agents that it waits for, and its own result as others read
 * it.
 */
export async function withChildren<Result extends TurnResult>(
  row: RunRow,
  ended: Result,
  options: ProgressOptions & Pick<RunnerOptions, 'dataDir' | 'claimDisk'>,
  signal: AbortSignal,
): Promise<Result> {
  const { dataDir, claimDisk } = options;
  const parts = [...ended.parts, ...progressAtPark(row, ended.waits, options)];
  if (!ended.result) return { ...ended, parts };
  const workspace = sessionWorkspace(dataDir, row.workspace ?? row.session);
  return { ...ended, parts, result: await keptResult(row, ended.result, { workspace, claimDisk, signal }) };
}
