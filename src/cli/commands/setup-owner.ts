/** The third step of `gatehouse setup`: who owns the bot. */
import type { CodeOutcome, CodeSender } from '../../app/await-code.ts';
import { errorText, GatehouseError } from '../../core/errors.ts';
import { laneKey, sessionKey } from '../../core/ids.ts';
import type { InboundMessage } from '../../core/message.ts';
import { counted } from '../../lib/counted.ts';
import { printable } from '../../lib/printable.ts';
import { type CommandContext, dataDirOf, readConfig } from '../context.ts';
import { openOrMake } from '../read-journal.ts';
import { PROVIDER_NAMES } from './config.ts';
import { isTerminal, prompts, type SetupOptions } from './setup-answers.ts';
import { isCodeOf, newCode } from './setup-code.ts';

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
  /** Messages with a code that the platform still has. */
  readonly codes: readonly InboundMessage[];
}

/**
 * Who sends exactly the code that only this terminal shows, and is then confirmed here by name and id.
 * Rejects with GH1003 when no one does, and with GH1010 at Ctrl-C.
 */
export async function askOwner(context: CommandContext, bot: Bot, options: SetupOptions): Promise<Owner> {
  const { out } = context;
  const sender = await senderOf(context, bot, options);
  if (sender.held > 0) out.say(`   ${waitText(sender.held, 'other message')} there for the bot, until it starts`);
  if (sender.isGroup) throw noOne('the code came from a group, and not from one person');
  const who = `${printable(sender.senderName)} (id ${printable(sender.senderId)})`;
  if (options.owner !== undefined) out.say(`   ${who} sent it`);
  const isOwner =
    options.owner === undefined
      ? await prompts(context).isYes(`${who} sent it. Is that you?`)
      : options.owner === sender.senderId;
  if (!isOwner) throw noOne('no one confirmed the code');
  const { chatId, senderId, codes } = sender;
  return { channel: bot.type, chatId, senderId, codes };
}

function waitText(count: number, noun: string): string {
  return `${counted(count, noun)} ${count === 1 ? 'waits' : 'wait'}`;
}

async function senderOf(context: CommandContext, bot: Bot, options: SetupOptions): Promise<CodeSender> {
  const { deps, out } = context;
  const config = await configWith(context, [{ type: bot.type, settings: settingsOf(bot.type, options) }]);
  const env = { ...deps.env, [bot.variable]: bot.token };
  const code = newCode(bot.token);
  const isOldCode = (text: string): boolean => isCodeOf(bot.token, text);
  const awaited = { config, dataDir: dataDirOf(context), env, name: bot.type, code, isOldCode, timeoutMs: CODE_MS };
  const listen = async (dropWaiting: boolean): Promise<CodeOutcome> => {
    try {
      return await deps.awaitCode({ ...awaited, dropWaiting });
    } catch (error) {
      out.say(`   ${out.mark('bad', 'stderr')} ${printable(errorText(error))}`);
      throw noOne('the bot does not connect', error);
    }
  };
  const drops = options.dropWaiting === true;
  const listening = listen(drops);
  // Shown behind that, so that Ctrl-C is heard from here on.
  out.say(`3. Send this to your bot from your own account, within ten minutes: ${code}`);
  const first = await listening;
  const heard = !drops && (await mayDrop(context, first)) ? await listen(true) : first;
  const taken = heard.kind === 'sender' ? heard.sender.taken : heard.taken;
  if (taken > 0) out.say(`   ${counted(taken, 'other message')} came before it and went unanswered`);
  return senderIn(heard);
}

/** Asks where what waits may hide the code. */
async function mayDrop(context: CommandContext, heard: CodeOutcome): Promise<boolean> {
  const isHidden = heard.kind === 'hidden' || (heard.kind === 'late' && heard.waiting > 0);
  if (!isHidden || !isTerminal(context)) return false;
  return await prompts(context).isYes(
    `${waitText(heard.waiting, 'message')} for the bot and may hide the code. Leave them unanswered?`,
  );
}

/** Throws for what is none. */
function senderIn(heard: CodeOutcome): CodeSender {
  if (heard.kind === 'sender') return heard.sender;
  if (heard.kind === 'stopped')
    throw new GatehouseError('GH1010', 'cancelled; nothing was written', { hint: 'run `gatehouse setup` again' });
  if (heard.waiting === 0) throw noOne('no one sent the code');
  throw new GatehouseError(
    'GH1003',
    `${waitText(heard.waiting, 'message')} for the bot, and the code was not seen; nothing was written`,
    {
      hint: 'leave them unanswered with `gatehouse setup --drop-waiting`; or write a config with `gatehouse init`, and let `gatehouse gateway` take them',
    },
  );
}

function noOne(reason: string, cause?: unknown): GatehouseError {
  return new GatehouseError('GH1003', `${reason}; nothing was written`, { hint: 'run `gatehouse setup` again', cause });
}

/** A code that is handed out again is known, and no request. */
export async function remember(context: CommandContext, { codes, senderId }: Owner): Promise<void> {
  if (codes.length === 0) return;
  await using opened = await openOrMake(context);
  const known = codes.map((message) => {
    const place = { lane: laneKey(message), session: sessionKey(message) };
    // Of an earlier attempt that someone else was not let in by.
    const stranger = message.isGroup || message.senderId !== senderId ? { isStranger: true as const } : {};
    return { kind: 'answer' as const, message, ...place, outcome: 'setup', parts: [], ...stranger };
  });
  await opened.journal.accept(known);
}

export async function configWith(context: CommandContext, channels: readonly object[]) {
  const bytes = Buffer.from(JSON.stringify({ version: 1, gateway: { channels } }));
  const globals = { ...context.globals, config: 'setup.json' };
  return (await readConfig({ ...context, globals }, { providers: PROVIDER_NAMES, bytes })).config;
}

export function settingsOf(type: string, { apiRoot }: SetupOptions): object {
  return type === 'telegram' && apiRoot !== undefined ? { api_root: apiRoot } : {};
}
