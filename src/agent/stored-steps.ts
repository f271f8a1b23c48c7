/** The form that steps are stored in. What cannot be read is undefined. */

import type { Json, MediaKind } from '../core/message.ts';
import type { ModelAnswer, StopReason } from '../core/model.ts';
import type { ProviderState, SessionMessage, ToolCall } from '../core/session.ts';
import type { AttachedFile, ToolResult } from '../core/tool.ts';
import type { AgentRun } from '../core/turn.ts';

/** A model answer and when it was stored (epoch ms): a replayed line keeps its time. */
export interface StoredAnswer {
  readonly answer: ModelAnswer;
  /** Tool calls that the model asked for beyond the limit; they are not in `answer`. Absent: none. */
  readonly notRun?: number;
  /** So many of the last calls of `answer` are not run: each has a result that says so. Absent: none. */
  readonly skipped?: number;
  /** How many notes the model was told before it. Absent: none. */
  readonly notes?: number;
  readonly at: number;
}

/**
 * What the model was asked, stored with its first answer: a turn that ends without its agent is remembered by
 * it.
 */
export interface StoredInput {
  /** Of a run that keeps them (`AgentRun.keepsTools`): the names of those that it was offered. */
  readonly tools?: readonly string[];
  readonly content: string;
  /** Paths in the session's workspace. */
  readonly media: readonly string[];
  /** As `AgentRun.notice`. Absent: there is none. */
  readonly notice?: string;
}

export interface StoredCall {
  readonly result: ToolResult;
  /**
   * Absent: the tool came to an end of its own. `not-run`: it never began. `unknown`: it is not known whether
   * it took effect.
   */
  readonly ended?: 'not-run' | 'unknown';
  /** `result.wait` is for a yes to the call, which has not begun. */
  readonly needsYes?: true;
  /** Bits of what the result brings in. Absent = 0. */
  readonly taint?: number;
  readonly at: number;
}

/** A summary that stands for the messages up to the one with the id `to`. */
export interface StoredSummary {
  readonly to: string;
  readonly line: SessionMessage;
}

type Fields = Readonly<Record<string, Json>>;

export function storedInput({ input, notice, keepsTools, tools }: AgentRun): StoredInput {
  const { content, media = [] } = input;
  return { content, media, ...(notice ? { notice } : {}), ...(keepsTools ? { tools: tools.map(({ name }) => name) } : {}) };
}

export function encodeCompacted({ to, line: { id, content, taint = 0, timestamp } }: StoredSummary): Json {
  return { to, id, content, taint, timestamp };
}

export function decodeCompacted(value: Json | undefined): StoredSummary | undefined {
  const step = fields(value);
  if (typeof step?.['to'] !== 'string' || typeof step['content'] !== 'string') return undefined;
  const { to, content } = step;
  const taint = count(step['taint']);
  const line = { id: text(step['id']), role: 'system', content, timestamp: text(step['timestamp']) } as const;
  return { to, line: taint === 0 ? line : { ...line, taint } };
}

/** `input` goes with the first answer of a run. */
export function encodeAnswer({ answer, notRun, skipped, notes, at }: StoredAnswer, input?: StoredInput): Json {
  return {
    at,
    ...(input === undefined ? {} : { input: { ...input } }),
    ...(notRun === undefined ? {} : { notRun }),
    ...(skipped === undefined ? {} : { skipped }),
    ...(notes ? { notes } : {}),
    text: answer.text,
    ...(answer.reasoning === undefined ? {} : { reasoning: answer.reasoning }),
    toolCalls: answer.toolCalls.map(({ id, name, arguments: args, provider_ids: ids }) => ({
      ...{ id, name, arguments: args },
      ...(ids ? { provider_ids: ids } : {}),
    })),
    stop: answer.stop,
    usage: {
      tokensIn: answer.usage.tokensIn,
      tokensOut: answer.usage.tokensOut,
      tokensCached: answer.usage.tokensCached,
    },
    provider: answer.provider,
    model: answer.model,
    ...(answer.providerState === undefined ? {} : { providerState: { ...answer.providerState } }),
  };
}

export function encodeCall(call: ToolCall, stored: StoredCall): Json {
  const { ok, output, by, media, files = [], choices } = stored.result;
  return {
    callId: call.id,
    name: call.name,
    at: stored.at,
    ...(stored.ended === undefined ? {} : { ended: stored.ended }),
    result: { ok, output, ...(by === undefined ? {} : { by }), ...(media ? { media } : {}) },
    // Beside the result, where earlier versions look for them.
    files: files.map(({ file, caption }) => ({
      file: { path: file.path, name: file.name, mime: file.mime, kind: file.kind, bytes: file.bytes },
      ...(caption === undefined ? {} : { caption }),
    })),
    ...(choices === undefined ? {} : { choices: choices.map(({ label, value }) => ({ label, value })) }),
  };
}

const STOPS: readonly string[] = ['end', 'tools', 'length', 'filtered'] satisfies StopReason[];
const KINDS: readonly string[] = ['photo', 'voice', 'audio', 'video', 'document'] satisfies MediaKind[];

export function decodeAnswer(value: Json | undefined): StoredAnswer | undefined {
  const step = fields(value);
  const usage = fields(step?.['usage']);
  if (!step || !usage || !isStop(step['stop']) || typeof step['text'] !== 'string') return undefined;
  const toolCalls = list(step['toolCalls']).map((item) => ({
    id: text(item['id']),
    name: text(item['name']),
    arguments: text(item['arguments']),
    ...(strings(item['provider_ids']).length > 0 ? { provider_ids: strings(item['provider_ids']) } : {}),
  }));
  const state = decodeState(step['providerState']);
  const notRun = count(step['notRun']);
  const skipped = count(step['skipped']);
  const notes = count(step['notes']);
  return {
    at: count(step['at']),
    ...(notRun > 0 ? { notRun } : {}),
    ...(skipped > 0 ? { skipped } : {}),
    ...(notes > 0 ? { notes } : {}),
    answer: {
      text: step['text'],
      ...(typeof step['reasoning'] === 'string' ? { reasoning: step['reasoning'] } : {}),
      toolCalls,
      stop: step['stop'],
      usage: {
        tokensIn: count(usage['tokensIn']),
        tokensOut: count(usage['tokensOut']),
        tokensCached: count(usage['tokensCached']),
      },
      provider: text(step['provider']),
      model: text(step['model']),
      ...(state ? { providerState: state } : {}),
    },
  };
}

export function decodeInput(value: Json | undefined): StoredInput | undefined {
  const input = fields(fields(value)?.['input']);
  if (typeof input?.['content'] !== 'string') return undefined;
  const { content, tools } = input;
  const notice = text(input['notice']);
  const beside = { ...(notice === '' ? {} : { notice }), ...(tools === undefined ? {} : { tools: strings(tools) }) };
  return { content, media: strings(input['media']), ...beside };
}

export function decodeCall(value: Json | undefined): StoredCall | undefined {
  const step = fields(value);
  const result = fields(step?.['result']);
  if (!step || !result || typeof result['ok'] !== 'boolean' || typeof result['output'] !== 'string') return undefined;
  const media = strings(result['media']);
  const { ended } = step;
  const files = list(step['files']).flatMap((item) => decodeFile(item) ?? []);
  const choices = list(step['choices']).map((item) => ({ label: text(item['label']), value: text(item['value']) }));
  return {
    at: count(step['at']),
    ...(ended === 'not-run' || ended === 'unknown' ? { ended } : {}),
    result: {
      ...{ ok: result['ok'], output: result['output'] },
      ...(typeof result['by'] === 'string' ? { by: result['by'] } : {}),
      ...(media.length > 0 ? { media } : {}),
      ...(files.length > 0 ? { files } : {}),
      ...(choices.length > 0 ? { choices } : {}),
    },
  };
}

/** Of a call that began: the arguments that a hook gave it in place of its own. */
export function decodeReplaced(value: Json | undefined): string | undefined {
  const replaced = fields(value)?.['replaced'];
  return typeof replaced === 'string' ? replaced : undefined;
}

function decodeFile(item: Fields): AttachedFile | undefined {
  const file = fields(item['file']);
  const kind = file?.['kind'];
  if (!file || !isKind(kind) || typeof file['path'] !== 'string') return undefined;
  return {
    file: { path: file['path'], name: text(file['name']), mime: text(file['mime']), kind, bytes: count(file['bytes']) },
    ...(typeof item['caption'] === 'string' ? { caption: item['caption'] } : {}),
  };
}

function decodeState(value: Json | undefined): ProviderState | undefined {
  const state = fields(value);
  if (!state || state['data'] === undefined) return undefined;
  return { provider: text(state['provider']), model: text(state['model']), data: state['data'] };
}

function strings(value: Json | undefined): readonly string[] {
  return value !== undefined && isList(value) ? value.filter((item) => typeof item === 'string') : [];
}

function fields(value: Json | undefined): Fields | undefined {
  return typeof value === 'object' && value !== null && !isList(value) ? value : undefined;
}

function list(value: Json | undefined): readonly Fields[] {
  return value !== undefined && isList(value) ? value.map(fields).filter((item) => item !== undefined) : [];
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

function count(value: Json | undefined): number {
  return typeof value === 'number' ? value : 0;
}

function isStop(value: Json | undefined): value is StopReason {
  return typeof value === 'string' && STOPS.includes(value);
}

function isKind(value: Json | undefined): value is MediaKind {
  return typeof value === 'string' && KINDS.includes(value);
}
