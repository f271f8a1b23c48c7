import { shortHash } from '../core/ids.ts';
import type { ToolCall } from '../core/session.ts';

/** Equal for two calls that ask for the same thing: the name and the arguments without regard to key order and blanks. */
export function toolSignature(call: Pick<ToolCall, 'name' | 'arguments'>): string {
  return `${call.name}\n${canonicalJson(call.arguments)}`;
}

/** What a STARTED step keeps, so that a later attempt recognises the call and no other. */
export function argsHash(call: Pick<ToolCall, 'name' | 'arguments'>): string {
  return shortHash(toolSignature(call), 32);
}

function canonicalJson(text: string): string {
  try {
    return JSON.stringify(sorted(JSON.parse(text)));
  } catch {
    // Not JSON, or nested beyond the stack: the text itself is the only form there is.
    return text;
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}
