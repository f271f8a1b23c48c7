import { type ConfigError, formatProblem, type Problem } from '../../config/problem.ts';
import { counted } from '../lib/counted.ts';
import type { Failure, Output } from './output.ts';

/** Each problem with its line and caret, on stderr; nothing with `--json`, where the document holds them. */
export function sayProblems(out: Output, problems: readonly Problem[]): void {
  if (out.json) return;
  for (const problem of problems) {
    out.say(`${out.mark(problem.severity === 'error' ? 'bad' : 'warn', 'stderr')} ${formatProblem(problem)}`);
  }
}

/** The line that follows the problems. */
export function configFailure({ code, file, hint, problems }: ConfigError): Failure {
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  return { code, message: `${counted(errors, 'problem')} in ${file ?? 'the config'}`, hint };
}

/** For `--json`, where no problem is said beside the document. */
export function problemsDocument({ file, problems }: ConfigError): Record<string, unknown> {
  return { file: file ?? null, problems: problems.map(problemDocument) };
}

export function problemDocument({ severity, path, message, hint, file, line, col }: Problem): Record<string, unknown> {
  return { severity, path, message, hint: hint ?? null, file: file ?? null, line: line ?? null, col: col ?? null };
}
