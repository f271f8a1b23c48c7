/** The commands in Discord's own menu. */
import { isDeepStrictEqual } from 'node:util';
import type { CommandEntry } from '../../../src/core/command-entry.ts';
import { errorText } from '../../../src/core/errors.ts';
import type { Clock, Logger } from '../../../src/core/ports.ts';
import { type JsonObject, obj, objects, str } from '../../kit/json.ts';
import { PLATFORM_LIMITS } from '../platform-limits.ts';
import { waitOf } from '../wire/failure.ts';
import { requireId } from '../wire/ids.ts';

export interface RegisterOptions {
  readonly call: (method: 'GET' | 'POST', route: string, body?: JsonObject) => Promise<unknown>;
  readonly commands: readonly CommandEntry[];
  readonly logger: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The shortest wait, should the platform name none. */
const LEAST_WAIT_MS = 1_000;
const DESCRIPTION_CHARS = PLATFORM_LIMITS.commandDescription.value;
/** A kind of option: https://docs.discord.com/developers/interactions/application-commands. */
const STRING_OPTION = 3;
/** The type of a command that is typed; others stand in the menus of messages and people. */
const SLASH_COMMAND = 1;
/** The one option of our commands. */
const ARGS = 'args';

/** Without blanks at the end, which would not come back: the command would seem to have changed. */
function cut(text: string): string {
  return text.slice(0, DESCRIPTION_CHARS).trim();
}

/** The words reach the gateway as they would when typed. */
function toCommand({ name, args, summary }: CommandEntry): JsonObject {
  const description = cut(summary);
  if (args === undefined) return { type: SLASH_COMMAND, name, description };
  const option = { type: STRING_OPTION, name: ARGS, description: cut(args), required: false };
  return { type: SLASH_COMMAND, name, description, options: [option] };
}

/**
 * Adds the commands that are missing, and says anew what changed: one of the same name takes the place of the
 * old one
 * (https://docs.discord.com/developers/interactions/application-commands#create-global-application-command).
 * Commands of other names, and those with options of their own, stay: another program put them there. Waits
 * as long as the platform asks: it takes about five commands in twenty seconds
 * (https://github.com/MatteZ02/discord-interactions/issues/21). Never rejects: typing a command works
 * without.
 */
export async function registerCommands(options: RegisterOptions): Promise<void> {
  const { commands, logger, signal } = options;
  const call: RegisterOptions['call'] = (...request) => whenTaken(options, request);
  try {
    const application = requireId(obj(await call('GET', '/oauth2/applications/@me'))['id'], 'application id');
    const route = `/applications/${application}/commands`;
    const slashCommands = objects(await call('GET', route)).filter(({ type = SLASH_COMMAND }) => type === SLASH_COMMAND);
    const known = new Map(slashCommands.map((command) => [str(command['name']), command]));
    for (const command of commands) {
      const [shown, ours] = [known.get(command.name), toCommand(command)];
      if (shown && (!mayBeOurs(shown) || isDeepStrictEqual(comparable(shown), comparable(ours)))) continue;
      await call('POST', route, ours);
    }
  } catch (error) {
    if (!signal.aborted) logger.warn('discord.commands-not-registered', { error: errorText(error) });
  }
}

/** Makes the call again while it is one too many. Rejects as `call` does else, and with `signal.reason`. */
async function whenTaken(
  { call, clock, signal }: RegisterOptions,
  request: Parameters<RegisterOptions['call']>,
): Promise<unknown> {
  for (;;) {
    try {
      return await call(...request);
    } catch (error) {
      const waitMs = waitOf(error);
      if (waitMs === undefined) throw error;
      await clock.sleep(Math.max(waitMs, LEAST_WAIT_MS), signal);
    }
  }
}

/** A command of this name with options that ours never had belongs to another program of the same bot. */
function mayBeOurs(command: JsonObject): boolean {
  const [first, ...more] = objects(command['options']);
  return !first || (more.length === 0 && first['name'] === ARGS && first['type'] === STRING_OPTION);
}

/** What people see of a command. The platform leaves out defaults, and adds fields of its own. */
function comparable(command: JsonObject): unknown {
  const options = objects(command['options']).map((option) => {
    const { type, name, description, required } = option;
    return { type, name, description, required: required === true };
  });
  return { description: command['description'], options };
}
