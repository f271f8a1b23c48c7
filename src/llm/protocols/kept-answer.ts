import type { Json } from '../../core/message.ts';
import type { PastCall, Step } from './history.ts';
import { asRecord } from './tool-call-assembly.ts';

/** A block of an answer as kept for its provider; text and arguments stay where the history holds them. */
export interface KeptPart {
  /** Characters of the answer's text. */
  readonly chars?: number;
  /** A call, by its id in `PastCall.providerIds`. */
  readonly call?: string;
  /** The block itself, where the history holds nothing of it. */
  readonly whole?: Readonly<Record<string, Json>>;
  /** What the wire sent with it: an id, a signature. */
  readonly id?: string;
  readonly signature?: string;
}

export type PlacedPart = KeptPart & { readonly text: string; readonly past?: PastCall };

/** The parts that `state` keeps; plain text and calls without one, or when text or calls changed since. */
export function placeParts({ state, text, calls }: Extract<Step, { role: 'assistant' }>): readonly PlacedPart[] {
  const kept = asRecord(state)['parts'];
  const parts: readonly unknown[] = Array.isArray(kept) ? kept : [];
  let at = 0;
  const placed = (parts.every(isPart) ? parts : []).map((part): PlacedPart => {
    const past = calls.find(({ providerIds }) => part.call !== undefined && providerIds.includes(part.call));
    const from = at;
    at += part.chars ?? 0;
    return { ...part, text: text.slice(from, at), ...(past ? { past } : {}) };
  });
  const found = new Set(placed.flatMap(({ past }) => past ?? []));
  const unchanged = at === text.length && found.size === calls.length && placed.every(({ call, past }) => !call === !past);
  if (placed.length > 0 && unchanged) return placed;
  return [{ text }, ...calls.map((past) => ({ text: '', past, call: past.providerIds[0] ?? past.id, id: past.id }))];
}

/** A session file may say anything: what is no part is not sent; only thoughts are sent whole. */
function isPart(value: unknown): value is KeptPart {
  const { chars = 0, call = '', id = '', signature = '', whole } = asRecord(value);
  const { type, thought } = asRecord(whole);
  const isThought = thought === true || type === 'thinking' || type === 'redacted_thinking';
  const isKnown = Number.isInteger(chars) && Number(chars) >= 0 && (whole === undefined || isThought);
  return isKnown && asRecord(value) === value && [call, id, signature].every((text) => typeof text === 'string');
}
