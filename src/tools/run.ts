import { errorText } from '../core/errors.ts';
import type { Clock } from '../core/ports.ts';
import type { Tool, ToolContext, ToolResult } from '../core/tool.ts';

/** Runs one call: parses the arguments, bounds the time, and turns whatever the tool throws into a failed result. Never rejects. */
export async function runTool(
  tool: Tool,
  argsJson: string,
  context: ToolContext,
  options: { timeoutMs: number; clock: Clock },
): Promise<ToolResult> {
  let args: unknown;
  try {
    args = JSON.parse(argsJson === '' ? '{}' : argsJson);
  } catch (error) {
    return { ok: false, output: `Error: the arguments are not valid JSON (${errorText(error)})` };
  }
  const timeout = new AbortController();
  const finished = new AbortController();
  const signal = AbortSignal.any([context.signal, timeout.signal]);
  const late = options.clock.sleep(options.timeoutMs, finished.signal).then(
    (): ToolResult => {
      timeout.abort(new Error('the tool call took too long'));
      return { ok: false, output: `Error: ${tool.name} did not finish within ${options.timeoutMs / 1000} s` };
    },
    (): ToolResult => ({ ok: false, output: `Error: ${tool.name} was stopped` }),
  );
  try {
    return await Promise.race([tool.run(args, { ...context, signal }), late]);
  } catch (error) {
    return { ok: false, output: `Error: ${tool.name} failed: ${errorText(error)}` };
  } finally {
    finished.abort();
  }
}
