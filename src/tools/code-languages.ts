/** What a language calls its functions and classes, and by which words lines of them are known. */
import type { Lexis } from './mask-code.ts';

export interface Declaration {
  readonly kind: string;
  /** Of a line without comments; its first group is the name. Only at blanks does it begin. */
  readonly pattern: RegExp;
  /** Names that it holds are members: functions without a word of their own before them. */
  readonly isContainer?: true;
}

export interface Language {
  readonly name: string;
  readonly lexis: Lexis;
  readonly declarations: readonly Declaration[];
  /** `name(…) {` is a function: where, and what it is called there. */
  readonly callables?: { readonly member: string; readonly top?: string; readonly needsBody: boolean };
  /** `name = (…) =>` is one. */
  readonly hasArrows?: true;
  /** Bodies are what is indented, not what braces hold. */
  readonly byIndent?: true;
}

const C_LIKE: Lexis = { lineComment: ['//'], hasBlocks: true, quotes: `"'`, longQuotes: [] };
const one = (kind: string, pattern: RegExp): Declaration => ({ kind, pattern });
const holder = (kind: string, pattern: RegExp): Declaration => ({ kind, pattern, isContainer: true });

const EXPORT = String.raw`^\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?`;
const SCRIPT: readonly Declaration[] = [
  holder('class', new RegExp(`${EXPORT}(?:abstract\\s+)?class\\s+([\\w$]+)`)),
  one('interface', new RegExp(`${EXPORT}interface\\s+([\\w$]+)`)),
  one('enum', new RegExp(`${EXPORT}(?:const\\s+)?enum\\s+([\\w$]+)`)),
  one('namespace', new RegExp(`${EXPORT}(?:namespace|module)\\s+([\\w$.]+)\\s*\\{`)),
  one('function', new RegExp(`${EXPORT}(?:async\\s+)?function\\s*(?:\\*\\s*)?([\\w$]+)`)),
];
const script = (name: string): Language => ({
  name,
  lexis: { ...C_LIKE, longQuotes: ['`'], hasRegExps: true },
  declarations: SCRIPT,
  callables: { member: 'method', needsBody: true },
  hasArrows: true,
});

const RUST_FN = /^\s*(?:pub(?:\([^()]{0,40}\))?\s+)?(?:(?:default|const|async|unsafe|extern)\s+)*fn\s+(\w+)/;
const RUST_TYPE = (word: string) => new RegExp(`^\\s*(?:pub(?:\\([^()]{0,40}\\))?\\s+)?(?:unsafe\\s+)?${word}\\s+(\\w+)`);
const JAVA = String.raw`^\s*(?:(?:public|private|protected|static|final|abstract|sealed|non-sealed|strictfp)\s+)*`;

const PYTHON: Language = {
  name: 'Python',
  lexis: { lineComment: ['#'], hasBlocks: false, quotes: `"'`, longQuotes: ['"""', "'''"] },
  declarations: [holder('class', /^\s*class\s+(\w+)/), one('function', /^\s*(?:async\s+)?def\s+(\w+)/)],
  byIndent: true,
};

const GO: Language = {
  name: 'Go',
  lexis: { ...C_LIKE, longQuotes: ['`'], rawQuotes: ['`'] },
  declarations: [
    one('method', /^func\s+(\([^()]{1,200}\)\s*\w+)/),
    one('function', /^func\s+(\w+)/),
    one('struct', /^\s*(?:type\s+)?(\w+)(?:\[[^\]]{1,100}\])?\s+struct\s*\{/),
    one('interface', /^\s*(?:type\s+)?(\w+)(?:\[[^\]]{1,100}\])?\s+interface\s*\{/),
  ],
};

const RUST: Language = {
  name: 'Rust',
  // A string goes on over lines.
  lexis: { lineComment: ['//'], hasBlocks: true, quotes: '', longQuotes: ['"'], isRust: true },
  declarations: [
    one('function', RUST_FN),
    ...['struct', 'enum', 'union', 'trait', 'mod'].map((word) => one(word, RUST_TYPE(word))),
    one('impl', /^\s*(?:unsafe\s+)?impl\b\s*(?=\S)([^{]{1,120}?)(?<!\s)\s*(?:\{|\bwhere\b|$)/),
  ],
};

const JAVA_LANGUAGE: Language = {
  name: 'Java',
  lexis: { ...C_LIKE, longQuotes: ['"""'] },
  declarations: ['class', 'interface', 'enum', 'record', '@interface'].map((word) =>
    holder(word, new RegExp(`${JAVA}${word}\\s+(\\w+)`)),
  ),
  callables: { member: 'method', needsBody: false },
};

const c = (name: string): Language => ({
  name,
  lexis: { ...C_LIKE, hasPreprocessor: true },
  declarations: [
    holder('class', /^\s*(?:template\s*<[^<>]{0,100}>\s*)?class\s+(?:\w+\s+)?(\w+)(?=\s*(?:[{:<]|final\b|$))/),
    holder('struct', /^\s*(?:typedef\s+)?(?:template\s*<[^<>]{0,100}>\s*)?struct\s+(\w+)(?=\s*(?:[{:<]|final\b|$))/),
    one('enum', /^\s*(?:typedef\s+)?enum\s+(?:(?:class|struct)\s+)?(\w+)(?=\s*(?:[{:<]|final\b|$))/),
    holder('namespace', /^\s*(?:inline\s+)?namespace\s+([\w:]+)\s*(?=\{|$)/),
  ],
  callables: { member: 'function', top: 'function', needsBody: true },
});

/** By the end of a file's name. */
const BY_ENDING: Readonly<Record<string, Language>> = Object.fromEntries(
  (
    [
      [script('TypeScript'), 'ts tsx mts cts'],
      [script('JavaScript'), 'js jsx mjs cjs'],
      [PYTHON, 'py pyi'],
      [GO, 'go'],
      [RUST, 'rs'],
      [JAVA_LANGUAGE, 'java'],
      [c('C'), 'c h'],
      [c('C++'), 'cc cpp cxx hh hpp hxx'],
    ] as const
  ).flatMap(([language, endings]) => endings.split(' ').map((ending) => [ending, language])),
);

export function languageOf(path: string): Language | undefined {
  const ending = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(BY_ENDING, ending) ? BY_ENDING[ending] : undefined;
}
