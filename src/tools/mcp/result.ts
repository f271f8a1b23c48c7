/** What a server answers to a call -> what the model reads. */
import { z } from 'zod';
import type { ToolResult } from '../../core/tool.ts';
import { isDeep } from '../../lib/json-depth.ts';
import { oneLine } from '../../lib/one-line.ts';
import { visibleText } from '../../lib/visible-text.ts';
import { outputProblem } from './check-output.ts';
import type { ServerTool } from './offered.ts';

/** Blocks beyond these are only counted. */
const MAX_BLOCKS = 1_000;
/** Longest address or name that is shown. UTF-16 units. */
const MAX_SHOWN = 500;

const blockSchema = z.looseObject({ type: z.string() });
const answerSchema = z.object({
  content: z.array(blockSchema).default([]),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
  isError: z.boolean().default(false),
});

type Block = z.output<typeof blockSchema>;

/** `notes`: what Gatehouse has to say about the call, each a sentence. */
export function resultOf(tool: Pick<ServerTool, 'outputSchema'>, answer: unknown, notes: readonly string[] = []): ToolResult {
  if (isDeep(answer)) return failed('the answer of the server is nested too deeply', notes);
  const parsed = answerSchema.safeParse(answer);
  if (!parsed.success) return failed('the server gave no valid answer; whether the call took effect is unknown', notes);
  const { content, structuredContent, isError } = parsed.data;
  const { outputSchema } = tool;
  if (outputSchema && !isError) {
    const problem = structuredContent ? outputProblem(outputSchema, structuredContent) : 'there is none';
    if (problem)
      return failed(
        `the structured result is not what the tool promises: ${oneLine(problem, MAX_SHOWN)}. The call was made`,
        notes,
      );
  }
  const texts = content.slice(0, MAX_BLOCKS).map(textOf);
  if (content.length > MAX_BLOCKS) texts.push(`[${content.length - MAX_BLOCKS} more parts not shown]`);
  if (structuredContent) {
    // Once: a server may send a thousand texts beside it.
    const json = JSON.stringify(structuredContent);
    if (!texts.some((text) => isSameJson(text, json))) texts.push(json);
  }
  const output = [...texts.map(visibleText), ...notes].join('\n');
  return { ok: !isError, output: output === '' ? '(no output)' : output };
}

/** `reason`: for the model, a clause without a full stop. */
export function failed(reason: string, notes: readonly string[] = []): ToolResult {
  return { ok: false, output: [`Error: ${reason}`, ...notes].join('\n') };
}

function textOf(block: Block): string {
  switch (block.type) {
    case 'text':
      return string(block['text']);
    case 'image':
    case 'audio':
      return `[${block.type}, ${shown(block['mimeType'])}, ${bytesOf(block['data'])} bytes, not shown]`;
    case 'resource_link':
      return `[resource ${shown(block['name'])}: ${shown(block['uri'])}]`;
    case 'resource':
      return embedded(block['resource']);
    default:
      return `[part of an unknown kind: ${shown(block.type)}]`;
  }
}

function embedded(value: unknown): string {
  const { uri, mimeType, text, blob } = z.looseObject({}).catch({}).parse(value);
  if (typeof text === 'string') return `[resource ${shown(uri)}]\n${text}`;
  return `[resource ${shown(uri)}, ${shown(mimeType)}, ${bytesOf(blob)} bytes, not shown]`;
}

/** Servers are asked to send structured results as text too. */
function isSameJson(text: string, json: string): boolean {
  if (!text.trimStart().startsWith('{')) return false;
  try {
    return JSON.stringify(JSON.parse(text)) === json;
  } catch {
    return false; // not JSON
  }
}

function string(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function shown(value: unknown): string {
  const text = oneLine(string(value), MAX_SHOWN);
  return text === '' ? 'unknown' : text;
}

function bytesOf(value: unknown): number {
  return Math.floor((string(value).length * 3) / 4);
}
