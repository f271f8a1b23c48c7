import type { Json } from '../../core/message.ts';
import { configureTools } from '../../tools/configure-tool.ts';
import { failureText } from '../../tools/define.ts';
import type { CommandSpec, ConfigCommand, Prompted, PromptPorts } from './command.ts';
import type { Conversation } from './conversation.ts';

export const configCommand: CommandSpec = {
  ...{ name: 'config', args: '[TOOL.KEY [VALUE]]', isPrivate: true },
  summary: 'for the owner: the defaults of tools, and change one (`/config reset TOOL.KEY` takes it back)',
  read(words) {
    const [about, ...rest] = words;
    if (about === undefined) return { kind: 'config' };
    if (about === 'reset') return rest.length === 1 ? { kind: 'config', about: rest[0] ?? '', isReset: true } : undefined;
    return { kind: 'config', about, ...(rest.length === 0 ? {} : { value: rest.join(' ') }) };
  },
};

/**
 * The code of the tool `configure_tool`. What it sets is set before the answer is on disk: the same again
 * changes nothing.
 */
export async function answerConfig(
  command: ConfigCommand,
  { message }: Conversation,
  { answer, isOwner, toolSettings }: PromptPorts,
): Promise<Prompted> {
  const say = (outcome: string, text: string): Prompted => ({ outcome, parts: answer(message, text) });
  if (!isOwner(message)) return say('not-permitted', 'Only the owner of this assistant can do that. Nothing was changed.');
  try {
    return say('config', await configureTools(argsOf(command), toolSettings));
  } catch (error) {
    const reason = failureText(error);
    // The channel would offer the message again and again.
    if (reason === undefined)
      return say('config', 'The setting could not be saved. Look at the disk of the daemon, and send the command again.');
    return say('config', `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`);
  }
}

function argsOf({ about, value, isReset }: ConfigCommand): Parameters<typeof configureTools>[0] {
  if (about === undefined) return { action: 'list' };
  const [tool = '', key] = about.split('.', 2);
  const named = { tool, ...(key === undefined ? {} : { key }) };
  if (isReset) return { action: 'reset', ...named };
  return value === undefined ? { action: 'get', ...named } : { action: 'set', ...named, value: valueIn(value) };
}

function valueIn(text: string): string | number | boolean {
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string' ? value : text;
}
