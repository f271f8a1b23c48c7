import { GatehouseError } from '../src/core/errors.ts';

/** One finding about a config file. Holds no secret: source lines are masked. */
export interface Problem {
  readonly severity: 'error' | 'warning';
  /** `gateway.channels[0].type`; empty for the file as a whole. */
  readonly path: string;
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string;
  readonly file?: string;
  /** 1-based. */
  readonly line?: number;
  /** 1-based, in UTF-16 units. */
  readonly col?: number;
  /** The source line (cut around the column when long) and a caret line below it. */
  readonly excerpt?: { readonly source: string; readonly caret: string };
}

/** A problem before it has a place in the text. */
export interface Finding {
  readonly severity: 'error' | 'warning';
  readonly path: readonly PropertyKey[];
  /** Point at the key itself, not at its value. */
  readonly atKey?: boolean;
  readonly message: string;
  readonly hint?: string;
}

/** Thrown by `loadConfig` with every problem of the file at once, warnings included. Code GH1101. */
export class ConfigError extends GatehouseError {
  readonly problems: readonly Problem[];
  readonly file: string | undefined;

  constructor(problems: readonly Problem[], file?: string) {
    const errors = problems.filter((problem) => problem.severity === 'error');
    const first = errors[0] ?? problems[0];
    const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
    super('GH1101', `${first ? `${formatPlace(first)}${first.message}` : 'the config is invalid'}${more}`);
    this.problems = problems;
    this.file = file;
  }
}

/** `file:line:col: path: `, as far as known. */
function formatPlace(problem: Problem): string {
  const place = [problem.file, problem.line, problem.col].filter((part) => part !== undefined).join(':');
  return [place, problem.path]
    .filter((part) => part !== '')
    .map((part) => `${part}: `)
    .join('');
}

/** One problem as people read it: place, sentence, source line with caret, hint. No trailing newline. */
export function formatProblem(problem: Problem): string {
  const lines = [`${formatPlace(problem)}${problem.message}`];
  if (problem.excerpt && problem.line !== undefined) {
    const gutter = String(problem.line);
    lines.push(`  ${gutter} | ${problem.excerpt.source}`, `  ${' '.repeat(gutter.length)} | ${problem.excerpt.caret}`);
  }
  if (problem.hint !== undefined) lines.push(`  → ${problem.hint}`);
  return lines.join('\n');
}

/** `['gateway', 'channels', 0]` -> `gateway.channels[0]`. */
export function formatPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? String(step) : `${text}.${String(step)}`;
  }, '');
}
