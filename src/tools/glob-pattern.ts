/**
 * A pattern such as `src/**` + `/*.{ts,tsx}`, matched name by name so that a walk knows which directories can
 * hold a match. No match takes more steps than the name has characters times those of the pattern (A45).
 */
import { ToolFailure } from './define.ts';

const MAX_PATTERN_CHARS = 1_000;
const MAX_ALTERNATIVES = 32;
const MAX_NAMES = 40;

/** One name of a pattern. `any`: `**`, which stands for any number of directories. */
type Part = 'any' | readonly Piece[];

type Piece =
  | { readonly kind: 'char'; readonly char: string }
  | { readonly kind: 'one' }
  | { readonly kind: 'many' }
  | { readonly kind: 'set'; readonly negated: boolean; readonly ranges: readonly (readonly [from: string, to: string])[] };

/** Where a walk stands in each alternative of the pattern: indexes of parts that come next. */
export type GlobState = readonly (readonly [alternative: number, part: number])[];

export class GlobPattern {
  readonly #alternatives: readonly (readonly Part[])[];

  /** Throws `ToolFailure` for a pattern that leaves the workspace, or that is none. */
  constructor(pattern: string) {
    if (pattern.length > MAX_PATTERN_CHARS) throw new ToolFailure(`the pattern is longer than ${MAX_PATTERN_CHARS} characters`);
    this.#alternatives = alternativesOf(pattern).map(partsOf);
  }

  /** At the workspace itself. */
  get start(): GlobState {
    return closed(
      this.#alternatives.map((_, i) => [i, 0] as const),
      this.#alternatives,
    );
  }

  /** After one more name: whether the path up to it matches, and what can match below it. */
  enter(state: GlobState, name: string): { readonly matches: boolean; readonly below: GlobState } {
    const next = state.flatMap(([alternative, at]): GlobState => {
      const part = this.#alternatives[alternative]?.[at];
      if (part === undefined) return [];
      if (part === 'any') return name.startsWith('.') ? [] : [[alternative, at]];
      return matchesName(part, name) ? [[alternative, at + 1]] : [];
    });
    const reached = closed(next, this.#alternatives);
    const isEnd = ([alternative, at]: readonly [number, number]) => at === this.#alternatives[alternative]?.length;
    return { matches: reached.some(isEnd), below: reached.filter((one) => !isEnd(one)) };
  }
}

/** With the states that `**` leads to by standing for no directory. */
function closed(state: GlobState, alternatives: readonly (readonly Part[])[]): GlobState {
  const all = new Map<string, readonly [number, number]>();
  const add = (one: readonly [number, number]): void => {
    const [alternative, at] = one;
    if (all.has(one.join())) return;
    all.set(one.join(), one);
    if (alternatives[alternative]?.[at] === 'any') add([alternative, at + 1]);
  };
  for (const one of state) add(one);
  return [...all.values()];
}

/** `{a,b}` written out, also one in another. */
function alternativesOf(pattern: string): readonly string[] {
  const done: string[] = [];
  const todo = [pattern];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const group = innermost(next);
    if (!group) done.push(next);
    else for (const choice of group.choices) todo.push(group.before + choice + group.after);
    if (done.length + todo.length > MAX_ALTERNATIVES)
      throw new ToolFailure(`the pattern has more than ${MAX_ALTERNATIVES} alternatives in braces`);
  }
  return done;
}

function innermost(
  pattern: string,
): { readonly before: string; readonly after: string; readonly choices: readonly string[] } | undefined {
  const end = pattern.indexOf('}');
  const start = end === -1 ? -1 : pattern.lastIndexOf('{', end);
  if (start === -1) return undefined;
  return { before: pattern.slice(0, start), after: pattern.slice(end + 1), choices: pattern.slice(start + 1, end).split(',') };
}

function partsOf(pattern: string): readonly Part[] {
  const shown = JSON.stringify(pattern);
  if (pattern.startsWith('/') || pattern.startsWith('~') || pattern.includes('\\'))
    throw new ToolFailure(`the pattern ${shown} must be relative to the workspace, with names separated by /`);
  const names = pattern.split('/').filter((name) => name !== '' && name !== '.');
  if (names.length === 0) throw new ToolFailure('the pattern is empty');
  if (names.includes('..')) throw new ToolFailure(`the pattern ${shown} leaves the workspace`);
  if (names.length > MAX_NAMES) throw new ToolFailure(`the pattern has more than ${MAX_NAMES} names`);
  const needed = names.filter((name, i) => name !== '**' || names[i - 1] !== '**');
  return needed.map((name) => (name === '**' ? 'any' : piecesOf(name)));
}

function piecesOf(name: string): readonly Piece[] {
  const pieces: Piece[] = [];
  const chars = [...name];
  for (let at = 0; at < chars.length; at += 1) {
    const char = chars[at] ?? '';
    if (char === '?') pieces.push({ kind: 'one' });
    else if (char === '*') {
      if (pieces.at(-1)?.kind !== 'many') pieces.push({ kind: 'many' });
    } else {
      const end = char === '[' ? chars.indexOf(']', at + 2) : -1;
      pieces.push(end === -1 ? { kind: 'char', char } : setOf(chars.slice(at + 1, end)));
      if (end !== -1) at = end;
    }
  }
  return pieces;
}

function setOf(chars: readonly string[]): Piece {
  const negated = chars[0] === '!' || chars[0] === '^';
  const inside = negated ? chars.slice(1) : chars;
  const ranges: (readonly [string, string])[] = [];
  for (let at = 0; at < inside.length; at += 1) {
    const from = inside[at] ?? '';
    const to = inside[at + 1] === '-' ? inside[at + 2] : undefined;
    ranges.push([from, to ?? from]);
    if (to !== undefined) at += 2;
  }
  return { kind: 'set', negated, ranges };
}

/** A name that begins with a dot is meant by one that does too. Goes back to the last `*` alone. */
function matchesName(pieces: readonly Piece[], name: string): boolean {
  const [first] = pieces;
  if (name.startsWith('.') && !(first?.kind === 'char' && first.char === '.')) return false;
  const chars = [...name];
  let [piece, at, star, starAt] = [0, 0, -1, 0];
  while (at < chars.length) {
    const here = pieces[piece];
    if (here?.kind === 'many') {
      star = piece;
      starAt = at;
      piece += 1;
    } else if (here && matchesChar(here, chars[at] ?? '')) {
      piece += 1;
      at += 1;
    } else if (star !== -1) {
      piece = star + 1;
      starAt += 1;
      at = starAt;
    } else return false;
  }
  return pieces.slice(piece).every(({ kind }) => kind === 'many');
}

function matchesChar(piece: Piece, char: string): boolean {
  switch (piece.kind) {
    case 'char':
      return piece.char === char;
    case 'set':
      return piece.ranges.some(([from, to]) => from <= char && char <= to) !== piece.negated;
    case 'one':
      return true;
    case 'many':
      return false;
  }
}
