/**
 * What a strict server remembers: what it issued, what it has seen (for its prompt cache), and what it
 * counted.
 */
import type { StrictRequest, Turn, TurnUsage } from './exchange.ts';

export interface MemoryOptions {
  /** All that exist; other names are refused. Absent = every name is accepted. */
  readonly models?: readonly string[];
  readonly retired?: readonly string[];
  /** Tokens. Absent = no limit. */
  readonly contextWindow?: number;
  /** Absent = every key is accepted, but not none. */
  readonly apiKey?: string;
}

const CHARS_PER_TOKEN = 4;
/** Of a picture, in place of its bytes. */
const PICTURE_CHARS = 4_000;
/** Automatic caches begin here and grow in steps. Tokens. */
export const CACHE_MINIMUM = 1_024;
const CACHE_STEP = 64;
/** Prompts kept for comparison. */
const PROMPTS_KEPT = 64;

export class Memory {
  readonly options: MemoryOptions;
  readonly counts: Record<string, number> = {};
  /**
   * By call id, item id or signature, as the wire likes: what this server gave out and must get back
   * unchanged.
   */
  readonly issued = new Map<string, unknown>();
  readonly #prompts: string[] = [];
  #serial = 0;

  constructor(options: MemoryOptions) {
    this.options = options;
  }

  /**
   * Different for each call and the same in each run: `prefix` and then `length` characters of a–z and 0–9.
   */
  nextId(prefix = '', length = 24): string {
    this.#serial += 1;
    return `${prefix}${this.#serial.toString(36).padStart(length, 'x')}`;
  }

  add(counter: string): void {
    this.counts[counter] = (this.counts[counter] ?? 0) + 1;
  }

  /** Names that `GET /models` lists. */
  available(): readonly string[] {
    return (this.options.models ?? []).filter((name) => !this.options.retired?.includes(name));
  }

  /**
   * The server's own count: 4 characters = 1 token. `prefix` is compared with, and kept beside, the ones
   * before it.
   */
  count(turn: Turn, request: StrictRequest, prefix?: string): TurnUsage {
    const reasoning = tokensIn(turn.reasoning?.length ?? 0);
    const calls = (turn.calls ?? []).map(({ name, args }) => name.length + JSON.stringify(args).length);
    const out = reasoning + tokensIn(calls.reduce((sum, chars) => sum + chars, turn.text?.length ?? 0));
    const all = tokensIn(charsIn(request.body));
    return {
      in: all,
      out,
      cached: prefix === undefined ? 0 : Math.min(all, this.cachedTokens(prefix)),
      cacheWrite: 0,
      reasoning,
    };
  }

  /**
   * Tokens of the longest beginning of `prefix` that an earlier prompt had too; 0 below the minimum. Keeps
   * `prefix`.
   */
  cachedTokens(prefix: string): number {
    const longest = Math.max(0, ...this.#prompts.map((earlier) => commonLength(earlier, prefix)));
    this.#prompts.push(prefix);
    if (this.#prompts.length > PROMPTS_KEPT) this.#prompts.shift();
    const tokens = Math.floor(longest / CHARS_PER_TOKEN / CACHE_STEP) * CACHE_STEP;
    return tokens < CACHE_MINIMUM ? 0 : tokens;
  }
}

function commonLength(one: string, other: string): number {
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return at;
}

export function tokensIn(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

/** Length of a request as JSON; a picture counts as a fixed number of characters, whatever its bytes. */
export function charsIn(body: unknown): number {
  let pictures = 0;
  const text = JSON.stringify(body, (key, value: unknown) => {
    if (typeof value !== 'string') return value;
    const isPicture = /^data:[\w/+.-]+;base64,/.test(value) || (key === 'data' && value.length > 64);
    if (isPicture) pictures += 1;
    return isPicture ? '' : value;
  });
  return text.length + pictures * PICTURE_CHARS;
}
