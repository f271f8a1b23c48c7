/**
 * The bot's menu of commands (https://core.telegram.org/bots/api#setmycommands), for the default scope alone.
 */
import { Refusal } from './refusal.ts';
import { type JsonObject, obj, str } from './wire.ts';

const MOST = 100;

export class CommandMenu {
  shown: readonly JsonObject[] = [];

  answer(method: string, params: JsonObject): unknown {
    if (method === 'getMyCommands') return this.shown;
    const { commands: given } = params;
    const commands = Array.isArray(given) ? given.map(obj) : [];
    if (commands.length > MOST) throw new Refusal(400, 'Bad Request: BOT_COMMANDS_TOO_MUCH');
    for (const { command, description } of commands) {
      if (!/^[a-z0-9_]{1,32}$/.test(str(command) ?? '')) throw new Refusal(400, 'Bad Request: BOT_COMMAND_INVALID');
      const { length } = str(description) ?? '';
      if (length < 1 || length > 256) throw new Refusal(400, 'Bad Request: BOT_COMMAND_DESCRIPTION_INVALID');
    }
    this.shown = commands;
    return true;
  }
}
