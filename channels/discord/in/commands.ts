/** The commands in Discord's own menu. */
import type { CommandEntry } from '../../../src/core/command-entry.ts';
import { errorText } from '../../../src/core/errors.ts';
import type { Logger } from '../../../src/core/ports.ts';
import { type JsonObject, obj, objects, str } from '../../kit/json.ts';
import { requireId } from '../wire/ids.ts';

export interface RegisterOptions {
  readonly call: (method: 'GET' | 'POST', route: string, body?: JsonObject) => Promise<unknown>;
  readonly commands: readonly CommandEntry[];
  readonly logger: Logger;
}

/**
 * https://docs.discord.com/developers/interactions/application-commands: characters of a description; kinds
 * of options.
 */
const DESCRIPTION_CHARS = 100;
const STRING_OPTION = 3;

/** The words reach the gateway as they would when typed. */
function toCommand({ name, args, summary }: CommandEntry): JsonObject {
  const description = summary.slice(0, DESCRIPTION_CHARS);
  if (args === undefined) return { type: 1, name, description };
  const option = { type: STRING_OPTION, name: 'args', description: args.slice(0, DESCRIPTION_CHARS), required: false };
  return { type: 1, name, description, options: [option] };
}

/** Adds those that are missing; never takes away what somebody else put there. Never rejects: typing a command works without. */
export async function registerCommands({ call, commands, logger }: RegisterOptions): Promise<void> {
  try {
    const application = requireId(obj(await call('GET', '/oauth2/applications/@me'))['id'], 'application id');
    const route = `/applications/${application}/commands`;
    const known = new Set(objects(await call('GET', route)).map((command) => str(command['name'])));
    for (const command of commands) if (!known.has(command.name)) await call('POST', route, toCommand(command));
  } catch (error) {
    logger.warn('discord.commands-not-registered', { error: errorText(error) });
  }
}
