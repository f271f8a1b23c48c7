/** The commands in Discord's own menu. */
import { errorText } from '../../../src/core/errors.ts';
import type { Logger } from '../../../src/core/ports.ts';
import { type JsonObject, obj, objects, str } from '../../kit/json.ts';
import { requireId } from '../wire/ids.ts';

export interface RegisterOptions {
  readonly call: (method: 'GET' | 'POST', route: string, body?: JsonObject) => Promise<unknown>;
  readonly logger: Logger;
}

/** What the gateway itself understands in every chat; the words reach it as they would when typed. */
const COMMANDS: readonly JsonObject[] = [
  {
    name: 'new',
    description: 'Start afresh, keeping the last messages',
    options: [{ type: 3, name: 'args', description: 'e.g. --keep 0', required: false }],
  },
  { name: 'reset', description: 'Start afresh with nothing kept' },
  { name: 'stop', description: 'Stop the answer being worked on' },
  { name: 'help', description: 'What can be typed here' },
];

/** Adds those that are missing; never takes away what somebody else put there. Never rejects: typing a command works without. */
export async function registerCommands({ call, logger }: RegisterOptions): Promise<void> {
  try {
    const application = requireId(obj(await call('GET', '/oauth2/applications/@me'))['id'], 'application id');
    const route = `/applications/${application}/commands`;
    const known = new Set(objects(await call('GET', route)).map((command) => str(command['name'])));
    for (const command of COMMANDS) {
      if (!known.has(str(command['name']))) await call('POST', route, { type: 1, ...command });
    }
  } catch (error) {
    logger.warn('discord.commands-not-registered', { error: errorText(error) });
  }
}
