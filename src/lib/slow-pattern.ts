import { createContext, Script } from 'node:vm';
import { type PatternNode, type PatternSequence, patternTree } from './pattern-tree.ts';

/**
 * CPU of one probe above which a pattern is refused. One that is quadratic needs about 1 ms for such a text.
 */
const PROBE_MS = 25;
const PROBE_CHARS = 500;
/** Bombs with a fixed count, such as `(a?){25}a{25}`, are slow on short texts alone. */
const SHORT_CHARS = 30;
/**
 * Time of each try, in multiples of the CPU it may take. The first is just above it: a slow pattern blocks
 * the event loop for no longer. The others leave room for a thread that has to share its core.
 */
const PATIENCE = [1.2, 4, 4, 4, 4];
/** All probes of a pattern together. */
const ALL_MS = 1_500;
/** One of each kind that classes tell apart, and of some scripts. */
const SAMPLES = ['a', 'Z', '0', ' ', '_', '-', '.', '!', '\n', 'é', 'я', '中', 'あ', '한', 'ع', 'א', '🤖'];
/** What makes the rest of a pattern fail: in no usual class, or the end of what `.` takes. */
const ENDINGS = ['\u0000', '\n!', ''];

/**
 * Whether a text can make this pattern slow. Texts are made from the pattern that repeat what its quantifiers
 * take and then break off, and it is tried on them: this finds what takes exponential or cubic time. It is no
 * proof that a pattern is fast, so that what people write is tried within a time as well: see `testWithin`.
 * Takes up to 0.2 s of CPU, on the event loop. The pattern has the flag `u`.
 */
export function isSlowPattern(pattern: RegExp): boolean {
  const since = cpuMs();
  for (const texts of probes(pattern.source)) {
    // All at once, and one by one only where that takes long: a time limit costs more than most matches do.
    if (within(PROBE_MS, () => texts.filter((text) => pattern.test(text)))) continue;
    if (texts.some((text) => testWithin(pattern, text, PROBE_MS) === undefined)) return true;
    if (cpuMs() - since > ALL_MS) return true;
  }
  return false;
}

/** Whether a pattern repeats anything: one that does not is never slow. */
export function hasRepeats(pattern: RegExp): boolean {
  return !pumps(patternTree(pattern.source), []).next().done;
}

/**
 * Whether a pattern fits a text. Undefined: this took more than `ms` of CPU, or was broken off before. A
 * machine that stands still meanwhile does not count.
 */
export function testWithin(pattern: RegExp, text: string, ms: number): boolean | undefined {
  return within(ms, () => pattern.test(text))?.result;
}

const script = new Script('run()');
let context: { run?: () => unknown } | undefined;

function within<T>(ms: number, work: () => T): { readonly result: T } | undefined {
  context ??= createContext({});
  let result: T | undefined;
  context.run = () => {
    result = work();
  };
  // Tried again when this thread was not given the time: nothing is known of the pattern then.
  for (const patience of PATIENCE) {
    const since = cpuMs();
    try {
      // V8 looks whether this time is over while a pattern backtracks, too.
      script.runInContext(context, { timeout: Math.ceil(patience * ms) });
      return cpuMs() - since > ms ? undefined : { result: result as T };
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      if (cpuMs() - since > ms) return undefined;
    }
  }
  return undefined;
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** In groups that differ in the ending alone, and in how often a piece is repeated. */
function* probes(source: string): Generator<readonly string[]> {
  const letters = [...new Set([...source.matchAll(/\\u\{([0-9a-f]+)\}|\\[ux]([0-9a-f]{2,4})|(.)/gisu)].map(decoded)), ...SAMPLES];
  const sampler = new Sampler(letters);
  const seen = new Set<string>();
  for (const { before, pump } of pumps(patternTree(source), [])) {
    for (const letter of letters) {
      const [prefix, piece] = [sampler.of(before, letter), sampler.of(pump, letter)];
      const key = JSON.stringify([prefix, piece]);
      if (piece === '' || seen.has(key)) continue;
      seen.add(key);
      const bodies = [SHORT_CHARS, PROBE_CHARS].map((chars) => prefix + piece.repeat(Math.ceil(chars / piece.length)));
      yield bodies.flatMap((body) => ENDINGS.map((ending) => body + ending));
    }
  }
}

function decoded([whole, long, short]: RegExpExecArray): string {
  const code = long ?? short;
  return code === undefined ? whole : String.fromCodePoint(Number.parseInt(code, 16));
}

interface Pump {
  readonly before: PatternSequence;
  readonly pump: PatternSequence;
}

/**
 * What a text may repeat: what a quantifier takes, and what leads to it, which a search may begin with
 * anywhere.
 */
function* pumps(options: readonly PatternSequence[], before: PatternSequence): Generator<Pump> {
  for (const sequence of options) {
    for (const [index, node] of sequence.entries()) {
      const lead = sequence.slice(0, index);
      if (node.kind === 'repeat') {
        yield { before: [...before, ...lead], pump: [node.body] };
        if (lead.length > 0) yield { before, pump: lead };
        yield* pumps([[node.body]], [...before, ...lead]);
      } else if (node.kind === 'group') {
        yield* pumps(node.options, [...before, ...lead]);
      }
    }
  }
}

/** Texts that a part of a pattern takes. */
class Sampler {
  readonly #letters: readonly string[];
  /** The letters that one character of a pattern takes, by how it is written. */
  readonly #taken = new Map<string, ReadonlySet<string>>();

  constructor(letters: readonly string[]) {
    this.#letters = letters;
  }

  /** Made of this letter wherever it fits. */
  of(sequence: PatternSequence, letter: string): string {
    return sequence.map((node) => this.#sample(node, letter)).join('');
  }

  #sample(node: PatternNode, letter: string): string {
    if (node.kind === 'one') {
      const taken = this.#takenBy(node.source);
      return taken.has(letter) ? letter : ([...taken][0] ?? '');
    }
    if (node.kind === 'repeat') return this.#sample(node.body, letter).repeat(Math.min(Math.max(node.least, 1), PROBE_CHARS));
    if (node.kind === 'none' || node.width === 0) return '';
    const samples = node.options.map((option) => this.of(option, letter));
    return samples.find((text) => text.includes(letter)) ?? samples[0] ?? '';
  }

  #takenBy(source: string): ReadonlySet<string> {
    const known = this.#taken.get(source);
    if (known) return known;
    const one = new RegExp(`^${source}$`, 'iu');
    const taken = new Set(this.#letters.filter((letter) => one.test(letter)));
    this.#taken.set(source, taken);
    return taken;
  }
}
