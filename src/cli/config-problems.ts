import type { ConfigError, Problem } from '../../config/problem.ts';
import { formatProblem } from '../../config/problem.ts';
import type { Failure, Output } from './output.ts';

/** Shows every problem of a config that cannot be used, each with its line and caret, and returns what is left to say. */
export function sayProblems(out: Output, error: ConfigError): Failure {
  if (!out.json) for (const problem of error.problems) out.say(`${markOf(out, problem)} ${formatProblem(problem)}`);
  const errors = error.problems.filter(({ severity }) => severity === 'error').length;
  return {
    code: error.code,
    message: `${errors} problem${errors === 1 ? '' : 's'} in ${error.file ?? 'the config'}`,
    hint: error.hint,
  };
}

function markOf(out: Output, { severity }: Problem): string {
  return out.mark(severity === 'error' ? 'bad' : 'warn', 'stderr');
}
