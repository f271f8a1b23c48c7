import type { Clock } from '../core/ports.ts';
import type { Tool, ToolContext, ToolResult } from '../core/tool.ts';
import { systemClock } from '../lib/clock.ts';
import { isDeep } from '../lib/json-depth.ts';
import { alteredNumberIn } from '../lib/long-numbers.ts';
import { sanitize, shapeOutput } from './output.ts';

/** Spec G1. */
const MAX_ARGUMENT_BYTES = 1024 * 1024;

export interface RunToolOptions {
  readonly timeoutMs: number;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/**
 * One tool call as the agent asks for it. Every way it can go wrong is a failed result the model can read:
 * arguments too large or no JSON, time-out, exception. The result is shaped (spec C4) and sanitized (G6). An
 * abort of `context.signal` reaches the tool and nothing else: the caller decides how long the tool may still
 * take, so that one that just finished keeps its result. Never rejects.
 */
export async function runTool(tool: Tool, argsJson: string, context: ToolContext, options: RunToolOptions): Promise<ToolResult> {
  const parsed = parseArguments(tool.name, argsJson);
  const result: ToolResult = parsed.ok
    ? await runLimited(tool, parsed.args, context, options)
    : { ok: false, output: parsed.problem };
  return shapeResult(tool, result);
}

/**
 * As the model may read it: cut to what the tool may say, and cleaned. What goes with a failure is left out,
 * but for its taint: the text of a failure is read as well.
 */
export function shapeResult(tool: Tool, result: ToolResult): ToolResult {
  const output = result.ok || result.output.startsWith('Error: ') ? result.output : `Error: ${result.output}`;
  const { ok, output: _, ...added } = result;
  const { taint } = added;
  const kept = ok ? added : taint === undefined ? {} : { taint };
  return { ok, output: sanitize(shapeOutput(output, tool.outputBytes)), ...kept };
}

type Parsed = { readonly ok: true; readonly args: unknown } | { readonly ok: false; readonly problem: string };

/** What `runTool` hands to the tool, or why it does not. */
export function parseArguments(name: string, json: string): Parsed {
  const bytes = Buffer.byteLength(json, 'utf8');
  if (bytes > MAX_ARGUMENT_BYTES) {
    return { ok: false, problem: `Error: the arguments of ${name} are larger than 1 MiB (${bytes} bytes)` };
  }
  // Providers send an empty text for a call without arguments.
  if (json.trim() === '') return { ok: true, args: {} };
  try {
    const args: unknown = JSON.parse(json);
    // What decides on a call could not write them down, for a person or for a hash.
    if (isDeep(args)) return { ok: false, problem: `Error: the arguments of ${name} are nested too deeply.` };
    const altered = alteredNumberIn(json);
    if (altered !== undefined) {
      const shown = altered.length > 40 ? `${altered.slice(0, 40)}…` : altered;
      const problem = `the arguments of ${name} contain the whole number ${shown}, which is too long to be passed on unchanged`;
      const fix = 'Send it as a string if the tool takes one; otherwise do not make this call.';
      return { ok: false, problem: `Error: ${problem}. ${fix}` };
    }
    return { ok: true, args };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { ok: false, problem: `Error: the arguments of ${name} are not valid JSON (${detail}). Send one JSON object.` };
  }
}

async function runLimited(tool: Tool, args: unknown, context: ToolContext, options: RunToolOptions): Promise<ToolResult> {
  const { timeoutMs, clock = systemClock } = options;
  // Aborted when the call is over, either way: ends the timer of a tool that was quick and the work of one
  // that was not.
  const over = new AbortController();
  const signal = AbortSignal.any([context.signal, over.signal]);
  const timedOut: ToolResult = {
    ok: false,
    output: `Error: ${tool.name} timed out after ${Math.round(timeoutMs / 1000)} s; whether it took effect is unknown`,
  };
  const end = clock.monotonic() + timeoutMs;
  const timeout = clock.sleep(timeoutMs, over.signal).then(
    () => timedOut,
    () => timedOut, // the call is over; this is not read
  );
  // The race settles both, so a tool that fails after its time-out is no unhandled rejection.
  const work = runCaught(tool, args, { ...context, leftMs: () => end - clock.monotonic(), signal });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    over.abort(new DOMException(`the call of ${tool.name} is over`, 'AbortError'));
  }
}

async function runCaught(tool: Tool, args: unknown, context: ToolContext): Promise<ToolResult> {
  try {
    return await tool.run(args, context);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { ok: false, output: `Error: ${tool.name} failed: ${withoutPaths(detail, context.workspace)}` };
  }
}

/** A48: paths in the workspace become relative, all others vanish; a URL keeps its path. */
export function withoutPaths(text: string, workspace: string): string {
  return text
    .replaceAll(/\/proc\/self\/fd\/\d+\/?/g, '')
    .replaceAll(`${workspace}/`, '')
    .replaceAll(workspace, '.')
    .replaceAll(/(['"`])(?:\/|[A-Za-z]:\\)[^'"`\n]*\1/g, '$1[path]$1')
    .replaceAll(/(?<![\w.:/])\/[^\s'"`,;)\]}>]+/g, '[path]')
    .replaceAll(/(?<![\w])[A-Za-z]:\\[^\s'"`,;)\]}>]+/g, '[path]');
}
