/** Bytes of a session file <-> session. Pure: no file system, no clock. README.md describes the format. */
import { isUtf8 } from 'node:buffer';
import type { ProviderState, SessionHeader, SessionMessage, ThinkingLevel, ToolCall } from '../src/core/session.ts';
import { isDeep } from '../src/lib/json-depth.ts';
import { oneLine } from '../src/lib/one-line.ts';
import { type Fields, isListOf, isObject, isOptional, isString } from './fields.ts';
import { fnv1a64, splitKey } from './file-name.ts';

const SCHEMA_VERSION = 1;
const NEWLINE = 0x0a;
const BRACE_OPEN = 0x7b;
const BRACE_CLOSE = 0x7d;
/** More joints than this in one bad line are not tried: bounds the work on a hostile file. */
const MAX_JOINTS = 64;

interface BadLine {
  /** 1-based. */
  readonly number: number;
  readonly bytes: Uint8Array;
}

export type ParsedFile =
  | {
      readonly kind: 'session';
      readonly header: SessionHeader;
      readonly messages: readonly SessionMessage[];
      readonly bad: readonly BadLine[];
      /** The file differs from what would be written: bad lines, a rebuilt header, a missing last newline. */
      readonly mustRewrite: boolean;
      /** The header was missing or wrong and was made anew. */
      readonly headerRebuilt: boolean;
    }
  /** A valid header of another session: nothing of this file may be shown. */
  | { readonly kind: 'foreign'; readonly owner: string }
  | { readonly kind: 'newer'; readonly version: number };

/**
 * Proves which version and session a header was written for although one of its bytes rotted. Without it a
 * flipped bit in the key would look like another chat's file, and one in the version like a newer program's.
 */
function headerCheck(version: number, key: string): string {
  return fnv1a64(Buffer.from(`${version}\n${key}`, 'utf8'));
}

export function newHeader(key: string, now: number, over: Partial<SessionHeader> = {}): SessionHeader {
  const at = new Date(now).toISOString();
  const { topic } = splitKey(key);
  const base = topic === undefined ? {} : { topic };
  return { ...base, created_at: at, updated_at: at, ...over, schema_version: SCHEMA_VERSION, session_key: key };
}

/** Words of a person that a session is called by. Characters. */
const TITLE_CHARS = 100;

/** The header of a session that begins with these messages: its summary is what a person says first. */
export function firstHeader(key: string, now: number, messages: readonly SessionMessage[]): SessionHeader {
  const first = messages.find(({ role, content }) => role === 'user' && content.trim() !== '');
  return newHeader(key, now, first ? { summary: oneLine(first.content, TITLE_CHARS) } : {});
}

/** The lines of an archive, each once; it holds the headers of all files that were put there. */
export function linesOfArchive(bytes: Buffer | undefined): readonly SessionMessage[] {
  const lines = new Map<string, SessionMessage>();
  for (const { value, number } of bytes ? segmentsOf(bytes) : []) {
    const parsed = value && toMessage(value, number);
    if (parsed && !lines.has(parsed.message.id)) lines.set(parsed.message.id, parsed.message);
  }
  return [...lines.values()];
}

export function formatHeader(header: SessionHeader): string {
  const { schema_version, session_key, ...rest } = header;
  return `${JSON.stringify({ schema_version, session_key, check: headerCheck(schema_version, session_key), ...rest })}\n`;
}

/** One line each; `id` first, so that it is found by eye. */
export function formatMessages(messages: readonly SessionMessage[]): string {
  return messages.map(({ id, ...rest }) => `${JSON.stringify({ id, ...rest })}\n`).join('');
}

export function formatFile(header: SessionHeader, messages: readonly SessionMessage[]): string {
  return formatHeader(header) + formatMessages(messages);
}

/** Never throws: what cannot be read ends up in `bad`, in the file's order. */
export function parseFile(bytes: Buffer, key: string, now: number): ParsedFile {
  const all = segmentsOf(bytes);
  const head = readHeader(all[0], key);
  if (head.kind === 'newer' || head.kind === 'foreign') return head;
  const messages: SessionMessage[] = [];
  const bad: BadLine[] = [];
  let assigned = false;
  all.forEach((segment, index) => {
    if (index === 0 && head.kind === 'ok') return;
    const parsed = segment.value && toMessage(segment.value, segment.number);
    if (parsed) messages.push(parsed.message);
    else bad.push({ number: segment.number, bytes: segment.bytes });
    assigned ||= parsed?.assignedId === true;
  });
  const headerRebuilt = head.kind !== 'ok';
  const oldest = messages[0] === undefined ? now : Date.parse(messages[0].timestamp);
  const header = newHeader(key, oldest, head.kind === 'absent' ? {} : head.fields);
  const mustRewrite = headerRebuilt || assigned || bad.length > 0 || bytes.at(-1) !== NEWLINE;
  return { kind: 'session', header, messages, bad, headerRebuilt, mustRewrite };
}

/** A line, or a piece of a line that did not parse as a whole. No value = unreadable. */
interface Segment extends BadLine {
  readonly value: Fields | undefined;
}

function segmentsOf(bytes: Buffer): Segment[] {
  const allUtf8 = isUtf8(bytes);
  const segments: Segment[] = [];
  let start = 0;
  for (let number = 1; start < bytes.length; number += 1) {
    const newline = bytes.indexOf(NEWLINE, start);
    const line = bytes.subarray(start, newline < 0 ? bytes.length : newline);
    start += line.length + 1;
    if (line.length === 0) continue;
    const value = parseObject(line, allUtf8);
    if (value) segments.push({ number, bytes: line, value });
    else segments.push(...salvage(line, number));
  }
  return segments;
}

type HeaderResult =
  | { readonly kind: 'ok' | 'damaged'; readonly fields: Partial<SessionHeader> }
  /** Line 1 is a message (or the file is empty): nothing to quarantine. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'foreign'; readonly owner: string }
  | { readonly kind: 'newer'; readonly version: number };

function readHeader(first: Segment | undefined, key: string): HeaderResult {
  if (first === undefined) return { kind: 'absent' };
  const value = first.value;
  if (value === undefined) return { kind: 'damaged', fields: {} };
  if (toMessage(value, 1)) return { kind: 'absent' };
  const { schema_version: version, session_key: owner, check } = value;
  const fields = headerFields(value);
  // Written by this version for this key, whatever else the line says now.
  if (check === headerCheck(SCHEMA_VERSION, key)) {
    return { kind: version === SCHEMA_VERSION && owner === key ? 'ok' : 'damaged', fields };
  }
  if (typeof version === 'number' && version > SCHEMA_VERSION) return { kind: 'newer', version };
  if (typeof owner === 'string' && owner !== key) return { kind: 'foreign', owner };
  // Files of other programs carry no check; a wrong one is a damaged header of this session.
  const isOurs = owner === key && version === SCHEMA_VERSION && check === undefined;
  return { kind: isOurs ? 'ok' : 'damaged', fields };
}

function headerFields(value: Fields): Partial<SessionHeader> {
  const text = (name: string) => (typeof value[name] === 'string' ? { [name]: value[name] } : {});
  const time = (name: string) => (isTime(value[name]) ? { [name]: value[name] } : {});
  return {
    ...text('parent_key'),
    ...text('topic'),
    ...text('summary'),
    ...text('cut'),
    ...(isThinkingLevel(value['thinking']) ? { thinking: value['thinking'] } : {}),
    ...text('model'),
    ...time('created_at'),
    ...time('updated_at'),
  };
}

function isThinkingLevel(value: unknown): value is ThinkingLevel {
  return value === 'off' || value === 'low' || value === 'medium' || value === 'high' || value === 'auto';
}

export function parseObject(line: Buffer, knownUtf8: boolean): Fields | undefined {
  if (!knownUtf8 && !isUtf8(line)) return undefined;
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined; // not JSON: the caller quarantines the line
  }
}

/** Files of other programs have no ids: a line gets one from its place, and the file is rewritten with it. */
export function toMessage(value: Fields, number: number): { message: SessionMessage; assignedId: boolean } | undefined {
  const { id, role, content, media, tool_calls, tool_call_id, reasoning_content, timestamp } = value;
  if (!isRole(role) || typeof content !== 'string' || !isTime(timestamp)) return undefined;
  if (id !== undefined && typeof id !== 'string') return undefined;
  if (!isOptional(media, (list) => isListOf(list, isString)) || !isOptional(tool_calls, (list) => isListOf(list, isToolCall))) {
    return undefined;
  }
  if (!isOptional(tool_call_id, isString) || !isOptional(reasoning_content, isString)) return undefined;
  const { provider_state: state, taint, by, joined, beside } = value;
  return {
    message: {
      id: id ?? `line-${number}`,
      role,
      content,
      ...(media === undefined ? {} : { media }),
      ...(tool_calls === undefined ? {} : { tool_calls }),
      ...(tool_call_id === undefined ? {} : { tool_call_id }),
      ...(reasoning_content === undefined ? {} : { reasoning_content }),
      // Without it the line is as good: the provider is asked without its earlier thoughts.
      ...(isProviderState(state) ? { provider_state: state } : {}),
      ...(isString(by) ? { by } : {}),
      ...(isListOf(joined, isJoined) ? { joined } : {}),
      ...(typeof taint === 'number' && Number.isInteger(taint) && taint > 0 ? { taint } : {}),
      ...(typeof beside === 'string' ? { beside } : {}),
      timestamp,
    },
    assignedId: id === undefined,
  };
}

function isJoined(value: unknown): value is NonNullable<SessionMessage['joined']>[number] {
  return isObject(value) && isString(value['by']) && isOptional(value['run'], isString);
}

function isProviderState(value: unknown): value is ProviderState {
  if (!isObject(value) || !isString(value['provider']) || !isString(value['model'])) return false;
  return value['data'] !== undefined && !isDeep(value['data']);
}

/**
 * Whole lines inside one that does not parse. When the byte that rotted is a newline, or zeros cover one, the
 * lines beside it are intact and must not be lost with it.
 */
function salvage(line: Buffer, number: number): Segment[] {
  const segments: Segment[] = [];
  let pending = line;
  let tries = 0;
  while (pending.length > 0) {
    const found = nextObject(pending, () => tries++ < MAX_JOINTS);
    const garbage = pending.subarray(0, found ? found.from : pending.length);
    if (garbage.length > 0) segments.push({ number, bytes: garbage, value: undefined });
    if (!found) break;
    segments.push({ number, bytes: pending.subarray(found.from, found.to), value: found.value });
    pending = pending.subarray(found.to);
  }
  return segments;
}

/** A whole line starts at the beginning or after a joint, and ends before a joint or at the end. */
function nextObject(line: Buffer, mayTry: () => boolean) {
  const starts = [0];
  const ends: number[] = [];
  for (let index = 0; index < line.length; index += 1) {
    if (line[index] === BRACE_CLOSE && isJointAfter(line, index + 1)) ends.push(index + 1);
    if (line[index] === BRACE_OPEN && isJointBefore(line, index)) starts.push(index);
  }
  for (const from of starts) {
    for (const to of ends) {
      if (to <= from) continue;
      if (!mayTry()) return undefined;
      const value = parseObject(line.subarray(from, to), false);
      // Tool calls are objects with a joint beside them too; only a whole line has one of these.
      if (value && (isString(value['role']) || value['schema_version'] !== undefined)) return { from, to, value };
    }
  }
  return undefined;
}

/** After `}`: the end, one strange byte before the end or `{`, or a control byte, never unescaped in JSON. */
function isJointAfter(line: Buffer, index: number): boolean {
  const byte = line[index];
  if (byte === undefined || byte < 0x20) return true;
  const next = line[index + 1];
  return next === undefined || next === BRACE_OPEN;
}

function isJointBefore(line: Buffer, index: number): boolean {
  const byte = line[index - 1];
  // Index 1: the strange byte is first because the line before it was already cut off.
  return byte !== undefined && (byte < 0x20 || index === 1 || line[index - 2] === BRACE_CLOSE);
}

function isTime(value: unknown): value is string {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}

function isRole(value: unknown): value is SessionMessage['role'] {
  return value === 'system' || value === 'user' || value === 'assistant' || value === 'tool';
}

function isToolCall(value: unknown): value is ToolCall {
  if (!isObject(value) || !isString(value['id']) || !isString(value['name']) || !isString(value['arguments'])) return false;
  return isOptional(value['provider_ids'], (list) => isListOf(list, isString));
}
