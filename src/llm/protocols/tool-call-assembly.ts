import { randomUUID } from 'node:crypto';
import type { ToolCall } from '../../core/session.ts';

interface Draft {
  readonly key: number | undefined;
  id: string;
  name: string;
  text: string;
  /** The last character of `text` that is no blank. */
  last: string;
  /** Length of `text` when it was last parsed. */
  parsed: number;
}

/** A piece of one call; `arguments` may be a piece of JSON text or, from some servers, the whole value. */
export interface CallPiece {
  readonly index?: unknown;
  readonly id?: unknown;
  readonly name?: unknown;
  readonly arguments?: unknown;
}

export interface ToolCallAssembly {
  /** True when the piece brought something. */
  add(piece: CallPiece): boolean;
  readonly size: number;
  /** Names and arguments so far, for counting. */
  readonly text: string;
  /** Undefined when a call never got a name: then no tool may run. */
  finish(): ToolCall[] | undefined;
}

/**
 * Joins the pieces of tool calls by their index. Servers differ (F28): some leave the index out, some give
 * every call index 0 with an id of its own, some repeat id and name in every piece, some never send an id.
 * Where neither tells, a second object behind a whole one begins another call.
 */
export function createToolCallAssembly(): ToolCallAssembly {
  const drafts: Draft[] = [];

  const draftFor = (key: number | undefined, id: string, name: string, text: string): Draft => {
    const same = drafts.findLast((draft) => (key === undefined ? true : draft.key === key));
    const begins = id !== '' && name !== '' && same !== undefined && same.id !== '' && same.id !== id;
    const follows = same !== undefined && text.trimStart().startsWith('{') && isWhole(same);
    if (same && !begins && !follows) return same;
    const draft: Draft = { key, id: '', name: follows && name === '' ? same.name : '', text: '', last: '', parsed: 0 };
    drafts.push(draft);
    return draft;
  };

  return {
    add({ index, id, name, arguments: args }) {
      const callId = typeof id === 'string' ? id : '';
      const callName = typeof name === 'string' ? name : '';
      const text = typeof args === 'string' ? args : args === undefined || args === null ? '' : JSON.stringify(args);
      if (callId === '' && callName === '' && text === '') return false;
      const draft = draftFor(typeof index === 'number' ? index : undefined, callId, callName, text);
      if (draft.id === '') draft.id = callId;
      if (draft.name === '') draft.name = callName;
      draft.text += text;
      draft.last = text.trimEnd().at(-1) ?? draft.last;
      return true;
    },
    get size() {
      return drafts.length;
    },
    get text() {
      return drafts.map(({ name, text }) => name + text).join('');
    },
    finish() {
      const used = new Set<string>();
      const calls: ToolCall[] = [];
      for (const draft of drafts) {
        if (draft.name === '') return undefined;
        // Results are matched by id, so two calls must not share one.
        const id = draft.id === '' || used.has(draft.id) ? `call_${randomUUID().replaceAll('-', '').slice(0, 24)}` : draft.id;
        used.add(id);
        calls.push({ id, name: draft.name, arguments: draft.text });
      }
      return calls;
    },
  };
}

/** Parses a text again when it has doubled: there may be one object after another in it. */
function isWhole(draft: Draft): boolean {
  if (draft.last !== '}' || draft.text.length < 2 * draft.parsed) return false;
  draft.parsed = draft.text.length;
  return isJson(draft.text);
}

export function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // cut off, or never begun
  }
}
