/** The third step of `gatehouse setup`: who owns the bot. */
import { randomInt } from 'node:crypto';
import { errorText } from '../../core/errors.ts';
import { laneKey, sessionKey } from '../../core/ids.ts';
import type { InboundMessage } from '../../core/message.ts';
import { counted } from '../../lib/counted.ts';
import { printable } from '../../lib/printable.ts';
import { type CommandContext, dataDirOf, readConfig } from '../context.ts';
import { openOrMake } from '../read-journal.ts';
import { PROVIDER_NAMES } from './config.ts';
import { prompts, type SetupOptions } from './setup-answers.ts';

const CODE_ALPHABET = '23456789ABCDEFGHJKMNPQRSTVWXYZ';
const CODE_LETTERS = 8;
const CODE_MS = 10 * 60_000;

export interface Bot {
  readonly type: string;
  readonly variable: string;
  readonly token: string;
  readonly account: string;
}

export interface Owner {
  readonly channel: string;
  readonly chatId: string;
  readonly senderId: string;
  /** Their message with the code, where the platform still has it. */
  readonly held?: InboundMessage;
}

/** Who sends exactly the code that only this terminal shows, and is then confirmed here by name and id. */
export async function askOwner(context: CommandContext, bot: Bot, options: SetupOptions): Promise<Owner | undefined> {
  const { deps, out } = context;
  const code = Array.from({ length: CODE_LETTERS }, () => CODE_ALPHABET[randomInt(CODE_ALPHABET.length)]).join('');
  out.say(`3. Send this to your bot from your own account, within ten minutes: ${code}`);
  const config = await configWith(context, [{ type: bot.type, settings: settingsOf(bot.type, options) }]);
  const env = { ...deps.env, [bot.variable]: bot.token };
  const awaited = { config, dataDir: dataDirOf(context), env, name: bot.type, code, timeoutMs: CODE_MS };
  const sender = await deps.awaitCode(awaited).catch((error: unknown) => {
    out.say(`   ${out.mark('bad', 'stderr')} ${printable(errorText(error))}`);
  });
  if (!sender || sender.isGroup) return undefined;
  if (sender.held > 0)
    out.say(
      `   ${counted(sender.held, 'other message')} ${sender.held === 1 ? 'waits' : 'wait'} there for the bot, until it starts`,
    );
  if (sender.taken > 0) out.say(`   ${counted(sender.taken, 'other message')} came meanwhile and went unanswered`);
  const who = `${printable(sender.senderName)} (id ${printable(sender.senderId)})`;
  if (options.owner !== undefined) out.say(`   ${who} sent it`);
  const isOwner =
    options.owner === undefined
      ? await prompts(context).isYes(`${who} sent it. Is that you?`)
      : options.owner === sender.senderId;
  if (!isOwner) return undefined;
  const { chatId, senderId, code: held } = sender;
  return { channel: bot.type, chatId, senderId, ...(held ? { held } : {}) };
}

/** A code that is handed out again is known, and no request. */
export async function remember(context: CommandContext, message: InboundMessage): Promise<void> {
  await using opened = await openOrMake(context);
  const place = { lane: laneKey(message), session: sessionKey(message) };
  await opened.journal.accept([{ kind: 'answer', message, ...place, outcome: 'setup', parts: [] }]);
}

export async function configWith(context: CommandContext, channels: readonly object[]) {
  const bytes = Buffer.from(JSON.stringify({ version: 1, gateway: { channels } }));
  const globals = { ...context.globals, config: 'setup.json' };
  return (await readConfig({ ...context, globals }, { providers: PROVIDER_NAMES, bytes })).config;
}

export function settingsOf(type: string, { apiRoot }: SetupOptions): object {
  return type === 'telegram' && apiRoot !== undefined ? { api_root: apiRoot } : {};
}
