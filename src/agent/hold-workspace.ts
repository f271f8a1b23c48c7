import { callKey } from '../core/call-key.ts';
import type { ToolCall } from '../core/session.ts';
import type { Tool } from '../core/tool.ts';
import type { AgentRun } from '../core/turn.ts';
import { failureText } from '../tools/define.ts';
import { workspaceLock } from '../workspace/workspace-lock.ts';
import { approvalId, type Gate } from './approve.ts';

/** `late`: what becomes of a call whose workspace others did not leave in time. */
interface Hold extends Disposable {
  readonly late?: { readonly call: ToolCall; readonly gate: Gate };
}

const NOTHING: Hold = { [Symbol.dispose]: () => undefined };

/**
 * A call that a person allowed with the files of the workspace has it alone from here on: what is compared
 * next is what runs. It is held until this is disposed of and the programs of the call have ended, also those
 * of a call that was cut off. Rejects only for a defect; after an abort nothing is held.
 */
export async function holdWorkspace(
  tool: Tool,
  call: ToolCall,
  { run, signal }: { readonly run: AgentRun; readonly signal: AbortSignal },
): Promise<Hold> {
  if (!tool.bindsWorkspace || !run.access.verdicts.get(approvalId(call.id))?.isAllowed) return NOTHING;
  const writer = { workspace: run.workspace, idempotencyKey: callKey(run.runId, call.id), signal };
  try {
    return await workspaceLock.alone(writer, run.limits.toolTimeoutMs);
  } catch (error) {
    if (signal.aborted) return NOTHING;
    const reason = failureText(error);
    if (reason === undefined) throw error;
    return { ...NOTHING, late: { call, gate: { kind: 'refused', reason, output: `Error: ${reason}.` } } };
  }
}
