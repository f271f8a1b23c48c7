/** The commands in Telegram's own menu (https://core.telegram.org/bots/api#setmycommands). */
import type { CommandEntry } from '../../../src/core/command-entry.ts';
import { errorText } from '../../../src/core/errors.ts';
import type { Logger } from '../../../src/core/ports.ts';
import { apiFailureOf } from '../../kit/call-error.ts';
import type { TelegramClient } from '../wire/client.ts';

export interface MenuOptions {
  readonly client: Pick<TelegramClient, 'menu' | 'setMenu'>;
  readonly commands: readonly CommandEntry[];
  /** Ends a call that takes too long. */
  readonly limited: <T>(run: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  readonly logger: Logger;
}

/** Bot API, BotCommand: 1 to 32 characters of these; a description of 1 to 256. */
const NAME = /^[a-z0-9_]{1,32}$/;
const DESCRIPTION_CHARS = 256;

/**
 * Shows our commands, unless a person put commands of their own into the menu (at @BotFather). Never rejects:
 * typing a command works without.
 */
export async function showMenu({ client, commands, limited, logger }: MenuOptions): Promise<void> {
  const ours = commands
    .filter(({ name }) => NAME.test(name))
    .map(({ name, summary }) => ({ command: name, description: summary.slice(0, DESCRIPTION_CHARS) }));
  if (ours.length === 0) return;
  try {
    const shown = await limited((signal) => client.menu(signal));
    const names = new Set(ours.map(({ command }) => command));
    if (shown.some(({ command }) => !names.has(command)) || isSame(shown, ours)) return;
    await limited((signal) => client.setMenu(ours, signal));
  } catch (error) {
    // A Bot API server of one's own may know no menus, and no user misses them there.
    const level = apiFailureOf(error)?.status === 404 ? 'info' : 'warn';
    logger[level]('telegram.menu-not-shown', { error: errorText(error) });
  }
}

interface MenuEntry {
  readonly command: string;
  readonly description: string;
}

function isSame(shown: readonly MenuEntry[], ours: readonly MenuEntry[]): boolean {
  return (
    shown.length === ours.length &&
    shown.every(({ command, description }, n) => {
      return command === ours[n]?.command && description === ours[n]?.description;
    })
  );
}
