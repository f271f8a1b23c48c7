import type { EffectsOptions } from '../commands/effects.ts';
import type { LogsOptions } from '../commands/logs.ts';
import { type Commander, FIRST_DAY, logFormat, Option, type Run, reporting } from './group.ts';

export function addRecordCommands(program: Commander, run: Run): void {
  const which = 'key as `logs` shows it, in-NUMBER as `dead list` shows it, id of a chat (its newest message), or last';
  reporting(program, 'why', 'say why a message was answered, or was not', ['gatehouse why last', 'gatehouse why 4711 --json'])
    .argument('<id>', which)
    .action((id: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/why.ts')).why, { id }, command),
    );
  reporting(program, 'trace', 'draw what took how long for a message', ['gatehouse trace last', 'gatehouse trace in-42'])
    .argument('<id>', which)
    .action((id: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/trace.ts')).trace, { id }, command),
    );
  const effects = 'list the calls of tools that can change something, failed ones too';
  reporting(program, 'effects', effects, ['gatehouse effects', 'gatehouse effects --since 7d --json'])
    .option('--since <when>', `${FIRST_DAY}. Times are printed in UTC (default: 1d)`)
    .action((options: EffectsOptions, command: Commander) =>
      run(async () => (await import('../commands/effects.ts')).effects, options, command),
    );
  reporting(
    program,
    'logs',
    'print what happened, from the record',
    [
      'gatehouse logs -f',
      'gatehouse logs -n 1000',
      'gatehouse logs --level warn --since 7d --until 2d',
      'gatehouse logs --chat telegram --grep GH2104 --json',
    ],
    'print one JSON document a line, one for each event',
  )
    .option('-f, --follow', 'go on with what comes, in the order in which it was written')
    .option('-n, --lines <count>', 'the newest, or all (default: all with --since, else 200)')
    .option('--chat <id>', 'of one session, channel or chat')
    .addOption(new Option('--level <level>', 'info: everything, warn: trouble').choices(['info', 'warn']).default('info'))
    .option(
      '--since <when>',
      `some minutes or hours ago (30m, 12h), or the ${FIRST_DAY}. Times are printed in UTC (default: 24h, without -n)`,
    )
    .option('--until <when>', 'events before this time, written as for --since')
    .addOption(logFormat())
    .option('--grep <text>', 'only events that contain this')
    .action((options: LogsOptions, command: Commander) =>
      run(async () => (await import('../commands/logs.ts')).logs, options, command),
    );
}
