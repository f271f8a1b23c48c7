/**
 * The commands as the app's manifest names them (https://docs.slack.dev/reference/app-manifest:
 * `features.slash_commands`), and back.
 */
import type { CommandEntry } from '../../../src/core/command-entry.ts';
import { PLATFORM_LIMITS } from '../platform-limits.ts';

/**
 * Slack's own commands. A manifest with one of them is refused as a whole: "the slash command has an invalid
 * name" (https://github.com/NousResearch/hermes-agent/pull/18456, 2026-11-28).
 */
const RESERVED = new Set([
  ...['status', 'me', 'join', 'away', 'dnd', 'shrug', 'remind', 'msg', 'feed', 'who', 'collapse', 'expand', 'leave', 'open'],
  ...['search', 'topic', 'mute', 'pro', 'shortcuts'],
]);
/** In front of a name that Slack or another app has. */
const PREFIX = 'gatehouse-';

/**
 * What answers a question of ours (docs/questions.md). They stand in no table of commands, because the
 * gateway reads them in any message; Slack hands over nothing that begins with a slash and is no command.
 */
export const ANSWERS: readonly CommandEntry[] = [
  { name: 'allow', args: 'CODE [session]', summary: 'say yes to the question with this code' },
  { name: 'deny', args: 'CODE', summary: 'say no to the question with this code, or decline it' },
  { name: 'answer', args: 'CODE WORDS', summary: 'answer the question with this code' },
];

/** Lines of YAML, of which the first has no indentation. */
export function manifestCommands(commands: readonly CommandEntry[]): string {
  const { slashDescription, slashHint } = PLATFORM_LIMITS;
  const rows = [...commands, ...ANSWERS].map(({ name, args, summary }) => {
    const description = JSON.stringify(summary.slice(0, slashDescription.value));
    const hint = args === undefined ? '' : `, usage_hint: ${JSON.stringify(args.slice(0, slashHint.value))}`;
    return `  - { command: /${RESERVED.has(name) ? PREFIX : ''}${name}, description: ${description}${hint} }`;
  });
  return ['slash_commands:', ...rows].join('\n');
}

/** `/gatehouse-status` is `/status`; any other word stays as it is. */
export function typedCommand(command: string, commands: readonly CommandEntry[]): string {
  const name = command.slice(1 + PREFIX.length);
  const isOurs = [...commands, ...ANSWERS].some((one) => one.name === name);
  return command.startsWith(`/${PREFIX}`) && isOurs ? `/${name}` : command;
}
