/** The commands in Telegram's own menu (https://core.telegram.org/bots/api#setmycommands). */
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CommandEntry } from '../../../src/core/command-entry.ts';
import { errorText } from '../../../src/core/errors.ts';
import type { Logger } from '../../../src/core/ports.ts';
import { writeFileAtomic } from '../../../src/lib/atomic-file.ts';
import { apiFailureOf } from '../../kit/call-error.ts';
import { objects, parseObject, str } from '../../kit/json.ts';
import { PLATFORM_LIMITS } from '../platform-limits.ts';
import type { TelegramClient } from '../wire/client.ts';

export interface MenuOptions {
  readonly client: Pick<TelegramClient, 'menu' | 'setMenu'>;
  readonly commands: readonly CommandEntry[];
  /** See `ChannelDeps.dir`. */
  readonly dir: string;
  /** Ends a call that takes too long. */
  readonly limited: <T>(run: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  readonly logger: Logger;
}

const { commandName, commandDescription } = PLATFORM_LIMITS;
const NAME = /^[a-z0-9_]+$/;
/** What stood in the menu when it was set last. */
const MENU_FILE = 'menu.json';

/**
 * Shows our commands, unless a person put commands of their own into the menu (at @BotFather). What was shown
 * is written down: a command that the gateway knows no more would else pass for one of a person, and the menu
 * would stay as it is for ever. Never rejects: typing a command works without.
 */
export async function showMenu({ client, commands, dir, limited, logger }: MenuOptions): Promise<void> {
  const ours = commands
    .filter(({ name }) => NAME.test(name) && name.length <= commandName.value)
    .map(({ name, summary }) => ({ command: name, description: summary.slice(0, commandDescription.value) }));
  if (ours.length === 0) return;
  try {
    const shown = await limited((signal) => client.menu(signal));
    const path = join(dir, MENU_FILE);
    const before = await readMenu(path);
    if (!shown.every((entry) => isOurs(entry, ours, before))) return;
    if (!isSame(shown, ours)) await limited((signal) => client.setMenu(ours, signal));
    if (!isSame(before, ours)) await writeMenu(path, ours, logger);
  } catch (error) {
    // A Bot API server of one's own may know no menus, and no user misses them there.
    const level = apiFailureOf(error)?.status === 404 ? 'info' : 'warn';
    logger[level]('telegram.menu-not-shown', { error: errorText(error) });
  }
}

/**
 * Commands of now count by their names, those of an earlier version only with the words that we gave them.
 */
function isOurs(entry: MenuEntry, ours: readonly MenuEntry[], before: readonly MenuEntry[]): boolean {
  return ours.some(({ command }) => command === entry.command) || before.some((old) => isSame([old], [entry]));
}

/** Empty where none was written down, or the file is damaged. */
async function readMenu(path: string): Promise<readonly MenuEntry[]> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  return objects(parseObject(text)?.['commands']).flatMap((entry) => {
    const [command, description] = [str(entry['command']), str(entry['description'])];
    return command === undefined || description === undefined ? [] : [{ command, description }];
  });
}

/** Without it the menu is shown all the same. */
async function writeMenu(path: string, commands: readonly MenuEntry[], logger: Logger): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFileAtomic(path, `${JSON.stringify({ commands })}\n`, { mode: 0o600 });
  } catch (error) {
    logger.warn('telegram.menu-not-remembered', { error: errorText(error) });
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
