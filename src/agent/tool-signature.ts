import { shortHash } from '../core/ids.ts';
import type { ToolCall } from '../core/session.ts';
import { canonicalJson } from '../lib/canonical-json.ts';

/** Equal for two calls that ask for the same: name and arguments, whatever the order of keys and blanks. */
export function toolSignature(call: Pick<ToolCall, 'name' | 'arguments'>): string {
  return `${call.name}\n${canonicalArguments(call.arguments)}`;
}

/** What a STARTED step keeps, so that a later attempt recognises the call and no other. */
export function argsHash(call: Pick<ToolCall, 'name' | 'arguments'>): string {
  return shortHash(toolSignature(call), 32);
}

function canonicalArguments(text: string): string {
  try {
    return canonicalJson(JSON.parse(text));
  } catch {
    // Not JSON, or nested beyond the stack: the text itself is the only form there is.
    return text;
  }
}
