/** Start and end (exclusive) of a stretch that reads wrongly when cut. */
export type Span = readonly [start: number, end: number];

/** Code spans and links of one line `[from, to)` of `text`, in order, none inside another. Linear. */
export function protectedSpans(text: string, from: number, to: number): Span[] {
  const line = text.slice(from, to);
  const spans = [...codeSpans(line), ...linkSpans(line)].sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  const outer: Span[] = [];
  let reached = -1;
  for (const [start, end] of spans) {
    if (end <= reached) continue;
    outer.push([from + start, from + end]);
    reached = end;
  }
  return outer;
}

/** A run of backticks opens code when a run of the same length follows (CommonMark 6.1). */
function codeSpans(line: string): Span[] {
  const runs = [...line.matchAll(/`+/g)].map((match) => ({ at: match.index, length: match[0].length }));
  const next = new Map<number, number>();
  const closer = new Array<number>(runs.length);
  for (let index = runs.length - 1; index >= 0; index -= 1) {
    const length = runs[index]?.length ?? 0;
    closer[index] = next.get(length) ?? -1;
    next.set(length, index);
  }
  const spans: Span[] = [];
  for (let index = 0; index < runs.length; index += 1) {
    const open = runs[index];
    const close = runs[closer[index] ?? -1];
    if (!open || !close) continue;
    spans.push([open.at, close.at + close.length]);
    index = closer[index] ?? index;
  }
  return spans;
}

/** `[text](target)` and `![alt](target)`; brackets may nest. */
function linkSpans(line: string): Span[] {
  const spans: Span[] = [];
  const opened: number[] = [];
  let paren = -1;
  for (let index = 0; index < line.length; index += 1) {
    const char = line[index];
    if (char === '[') opened.push(index);
    if (char !== ']') continue;
    const start = opened.pop();
    if (start === undefined || line[index + 1] !== '(') continue;
    // Asked again only beyond the last answer, so that many unclosed targets cost one pass.
    if (paren < index && paren !== line.length) {
      const found = line.indexOf(')', index);
      paren = found === -1 ? line.length : found;
    }
    if (paren === line.length) continue;
    spans.push([line[start - 1] === '!' ? start - 1 : start, paren + 1]);
  }
  return spans;
}
