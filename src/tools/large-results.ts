// output of a tool -> what the model is shown of it at once; the whole stays in a file that read_file pages
import type { ClaimDisk } from '../core/ports.ts';
import type { Tool, ToolContext, ToolResult } from '../core/tool.ts';
import { OutputSink, PREFIX_BYTES, type Spilled } from './spill.ts';

/** Spec P13, in characters. */
const SHOWN_CHARS = 4_000;
const SUMMARY_FROM_CHARS = 12_000;
const SUMMARY_LINES = 20;

export interface LargeResultOptions {
  /** `session`: 70 % head and 30 % tail of the tool's `outputBytes` (C4). `task`: the tiers of P13. */
  readonly shape: 'session' | 'task';
  /** Absent = no limit. */
  readonly claimDisk?: ClaimDisk;
}

/**
 * The tool, whose larger outputs are kept in a file of the workspace that the model is told of. `read_file`
 * pages by itself: what it says is in a file already.
 */
export function keepingLarge(tool: Tool, options: LargeResultOptions): Tool {
  const { resume } = tool;
  return {
    ...tool,
    run: async (args, context) => await kept(await tool.run(args, context), tool, context, options),
    ...(resume && {
      async resume(values, args, context) {
        const result = await resume(values, args, context);
        return result && (await kept(result, tool, context, options));
      },
    }),
  };
}

async function kept(all: ToolResult, tool: Tool, context: ToolContext, options: LargeResultOptions): Promise<ToolResult> {
  const { stored: before, ...result } = all;
  if (result.wait) return result;
  const { output } = result;
  const isReading = tool.name === 'read_file';
  if (options.shape === 'task') {
    if (output.length <= SHOWN_CHARS) return result;
    if (isReading) return { ...result, output: page(output) };
    const stored = before ?? (await store(tool, output, context, options)).stored;
    return { ...result, output: tiered(output, stored) };
  }
  if (isReading || before || Buffer.byteLength(output, 'utf8') <= tool.outputBytes - PREFIX_BYTES) return result;
  return { ...result, output: (await store(tool, output, context, options)).output };
}

async function store(
  tool: Tool,
  output: string,
  context: ToolContext,
  { shape, claimDisk }: LargeResultOptions,
): Promise<Spilled> {
  const outputBytes = shape === 'task' ? SHOWN_CHARS : tool.outputBytes;
  await using sink = new OutputSink({ name: tool.name, context, claimDisk, outputBytes });
  await sink.write(output);
  return await sink.end();
}

/** P13: 4,001 to 12,000 characters are cut, of more the first lines are shown. */
function tiered(output: string, stored: ToolResult['stored']): string {
  const bytes = stored?.bytes ?? Buffer.byteLength(output, 'utf8');
  const isSummary = output.length > SUMMARY_FROM_CHARS;
  const lines = isSummary ? output.split('\n', SUMMARY_LINES).join('\n') : output;
  const shown = cut(lines, SHOWN_CHARS);
  const where = stored
    ? `All of it is in ${stored.path}: read_file pages it by start_line and end_line.`
    : 'The rest could not be kept.';
  return `${shown}\n[${shown.length} characters of an output of ${bytes} bytes. ${where}]`;
}

/** Whole lines of what read_file showed, and where it goes on. */
function page(output: string): string {
  // A line of read_file's own may stand before the first line of the file.
  const first = output.search(/^\d+│/m);
  const end = output.lastIndexOf('\n', SHOWN_CHARS);
  const lines = end > first ? output.slice(0, end) : cut(output, SHOWN_CHARS);
  const last = Number(/(?:^|\n)(\d+)│[^\n]*$/.exec(lines)?.[1] ?? 0);
  return `${lines}\n[cut at ${SHOWN_CHARS} characters; go on with start_line ${last + 1}]`;
}

/** Never between the halves of a character. */
function cut(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const half = text.charCodeAt(chars - 1);
  return text.slice(0, half >= 0xd800 && half <= 0xdbff ? chars - 1 : chars);
}
