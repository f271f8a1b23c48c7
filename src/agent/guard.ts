/**
 * Text that speaks to the model as if it were its operator (spec G5). What a tool brings in is redacted
 * before the model, a session or a journal has it; what people write is only counted. It tells of attempts
 * and stops none that is worded otherwise: what a run may do is decided by the policy and the taint gate,
 * whatever the model was told.
 */
import type { ToolResult } from '../core/tool.ts';
import type { AgentEmit } from './agent-emit.ts';
import { GUARD_RULES, type GuardLabel } from './guard-rules.ts';

interface Found {
  readonly label: GuardLabel;
  readonly isRedacted: boolean;
  readonly from: number;
  readonly to: number;
}

export interface Guarded {
  /** With a mark in place of each text of medium severity and above. */
  readonly text: string;
  /** What was found, each once, in the order of the text. */
  readonly labels: readonly GuardLabel[];
}

export function guardText(text: string): Guarded {
  const found = findAll(text);
  const labels = [...new Set(found.map(({ label }) => label))];
  let out = '';
  let done = 0;
  for (const { label, isRedacted, from, to } of found) {
    if (!isRedacted || to <= done) continue;
    // Of two that overlap, the rest of the second goes with the first.
    if (from >= done) out += `${text.slice(done, from)}[injection-blocked:${label}]`;
    done = to;
  }
  return { text: out + text.slice(done), labels };
}

/** What a tool said, as the model may read it. What is found is told as an event without its words. */
export function guardResult(
  result: ToolResult,
  call: { readonly tool: string; readonly callId: string },
  emit: AgentEmit,
): ToolResult {
  const { text, labels } = guardText(result.output);
  if (labels.length === 0) return result;
  emit({ type: 'guard.found', from: 'tool', ...call, labels });
  return { ...result, output: text };
}

/** By where they begin; of two at one place the longer first. */
function findAll(text: string): readonly Found[] {
  const folded = fold(text);
  // A search first, which most texts end with: `matchAll` makes a copy of the pattern.
  const found = GUARD_RULES.filter(({ pattern }) => folded.text.search(pattern) >= 0).flatMap(({ label, severity, pattern }) =>
    Array.from(folded.text.matchAll(pattern), ({ 0: match, index }): Found => {
      const isRedacted = severity !== 'low';
      return { label, isRedacted, from: folded.start(index), to: folded.end(index + match.length - 1) };
    }),
  );
  return found.sort((a, b) => a.from - b.from || b.to - a.to);
}

interface Folded {
  readonly text: string;
  /** Where in the text the character at an index of the folded one begins and ends. */
  readonly start: (at: number) => number;
  readonly end: (at: number) => number;
}

const UNSEEN = /^\p{Default_Ignorable_Code_Point}$/u;
const HAS_UNSEEN = /\p{Default_Ignorable_Code_Point}/u;

/** Without characters that are not seen, and with those of other widths and styles as plain ones. */
function fold(text: string): Folded {
  // Nearly every text is like that, and folding one by one takes a hundred times as long.
  const isFolded = !/[^\0-\x7f]/.test(text) || (!HAS_UNSEEN.test(text) && text.normalize('NFKC') === text);
  if (isFolded) return { text, start: (at) => at, end: (at) => at + 1 };
  const starts: number[] = [];
  const ends: number[] = [];
  let [folded, at] = ['', 0];
  for (const char of text) {
    const plain = char < '\x80' ? char : UNSEEN.test(char) ? '' : char.normalize('NFKC');
    for (let i = 0; i < plain.length; i += 1) {
      starts.push(at);
      ends.push(at + char.length);
    }
    folded += plain;
    at += char.length;
  }
  return { text: folded, start: (i) => starts[i] ?? at, end: (i) => ends[i] ?? at };
}
