/** What the files beside this one make their commands with. */
import { Command as Commander, CommanderError, Option } from 'commander';
import type { Command } from '../context.ts';

export { Commander, CommanderError, Option };

/** Loads an implementation when its command runs, so that help and completion stay fast. */
export type Run = <Options>(load: () => Promise<Command<Options>>, options: Options, command: Commander) => Promise<void>;

/** A command that reports: examples before its help, and `--json`. */
export function reporting(
  parent: Commander,
  name: string,
  description: string,
  lines: readonly string[],
  json = 'print one JSON document',
): Commander {
  return parent
    .command(name)
    .description(description)
    .option('--json', json)
    .addHelpText('before', examples(...lines));
}

/** What `--since` takes, as `parsePeriod` reads it. */
export const FIRST_DAY =
  "first day, in this machine's time zone: a date (2026-01-31) or a number of days including today (1d = today)";

export function examples(...lines: readonly string[]): string {
  return `Examples:\n${lines.map((line) => `  ${line}\n`).join('')}`;
}

/** Of lines that people or programs read. */
export function logFormat(): Option {
  return new Option('--log <format>', 'log lines for people or for programs (default: pretty on a terminal, else json)').choices([
    'pretty',
    'json',
  ]);
}
