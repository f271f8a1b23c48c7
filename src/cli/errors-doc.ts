import { ERROR_CODES } from '../core/error-codes.ts';

/** Text of docs/errors.md: the same table that log, chat, command line and JSON speak from. */
export function renderErrorsDoc(): string {
  const rows = Object.entries(ERROR_CODES).map(([code, { title, hint }]) => `| ${code} | ${cell(title)} | ${cell(hint)} |`);
  return [
    '# Errors',
    '',
    'Every error has a code, the same in the log, in the chat, on the command line and in JSON.',
    '`gatehouse explain CODE` prints a line of this table. Generated from `src/core/error-codes.ts` by',
    '`node src/cli/write-generated.ts`.',
    '',
    '| code | what happened | what to do |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
