/** What goes wrong, by the server's own numbers (RFC 2812 5.2 and what servers added). Pure. */
import type { SendResult } from '../../../src/core/channel.ts';
import { GatehouseError } from '../../../src/core/errors.ts';
import type { IrcSettings } from '../settings.ts';
import { channelOf, type Line, ZNC } from './line.ts';

const LOGIN_REFUSED = /^(?:46[45]|90[245])$/;
const NICK_TAKEN = /^43[23]$/;
const NO_SUCH_CHAT = /^40[13]$/;
/** 482 answers what is for those of a channel alone who have a right that the bot has not. */
const MAY_NOT_WRITE = /^(?:404|477|482|486|531|716)$/;
/** RFC 2812 5.2 403, 405, 437 and 471 to 477; servers added 480, 489, 519 and 520. */
const MAY_NOT_JOIN = /^(?:40[35]|437|47[0-7]|480|489|519|520)$/;
/**
 * `Targets changing too fast, message dropped` (707, doc/tgchange.txt of charybdis and solanum, which Libera
 * runs) and `Target change too fast. Please wait 57 seconds.` (439 of Undernet): who writes to many people
 * within a minute.
 */
const TOO_MANY_PEOPLE = /^(?:439|707)$/;
const PLACE_FREE_MS = 60_000;

/** Throws when the server does not want us: it refuses the password or the name, or hangs up. */
export function requireWelcome(line: Line, { nick }: IrcSettings): void {
  const { command, params } = line;
  const last = line.last.trim();
  const sasl = command === 'CAP' && params[1] === 'NAK' && last === 'sasl';
  if (sasl || LOGIN_REFUSED.test(command)) throw new GatehouseError('GH1501', `the server refused the login: ${last}`);
  // 437 tells the same of a name that a split network or its services hold, and of a channel.
  if (NICK_TAKEN.test(command) || (command === '437' && params[1] === nick))
    throw new GatehouseError('GH1503', `${nick}: ${last}`);
  if (command === 'NICK' && line.nick === nick) throw new GatehouseError('GH1503', `the server renamed ${nick} to ${last}`);
  // Charybdis and its kin cut off what is too long for them, and only the welcome tells.
  const [given = nick] = params;
  if (command === '001' && given.toLowerCase() !== nick.toLowerCase())
    throw new GatehouseError('GH1503', `the server calls ${nick} ${given}: set \`nick\` to a name that it takes`);
  // Servers that know no number for it hang up: `ERROR :Closing connection: Bad server password`.
  if (command === 'ERROR' && /password/i.test(last)) throw new GatehouseError('GH1501', `the server refused the login: ${last}`);
  if (command === 'ERROR') throw new GatehouseError('GH1502', last);
}

/**
 * What became of the part under way to `target`; undefined when the line says nothing of it. The same numbers
 * refuse a JOIN, or the line to NickServ: they name the channel or the person.
 */
export function refusalOf({ command, params, last }: Line, target: string): SendResult | undefined {
  const of = params[1]?.toLowerCase();
  if (of !== target.toLowerCase() && of !== channelOf(target).toLowerCase()) return undefined;
  if (NO_SUCH_CHAT.test(command)) return { kind: 'refused', reason: 'chat-gone', detail: last };
  if (MAY_NOT_WRITE.test(command)) return { kind: 'refused', reason: 'blocked', detail: last };
  if (!TOO_MANY_PEOPLE.test(command)) return undefined;
  const seconds = /(\d+) second/.exec(last)?.[1];
  const afterMs = seconds === undefined ? PLACE_FREE_MS : Number(seconds) * 1_000;
  return { kind: 'retry', reason: last, scope: 'chat', afterMs };
}

/**
 * Whether a bouncer without its network dropped a line to `target`. ZNC says so in its own voice
 * (`CClient::OnTextMessage`), soju by a number (`upstreamForCommand`, in older ones `unmarshalEntity`). Both
 * answer pings all the same.
 */
export function isDropped({ command, nick, address, params, last }: Line, target: string): boolean {
  if (last === 'Disconnected from upstream network')
    return (command === '400' && params[1] === 'PRIVMSG') || (command === '403' && params.includes(target));
  const isZnc = command === 'PRIVMSG' && nick.startsWith('*') && address === ZNC;
  return isZnc && (last.includes(` to ${target} got lost`) || last.includes(` to [${target}] got lost`));
}

/** A channel that keeps us out, in words for the operator; the other channels work. */
export function troubleOf({ command, params, last }: Line, { nick, channels }: IrcSettings): string | undefined {
  const [first, second = ''] = params;
  const isOurs = channels.some((name) => name.toLowerCase() === second.toLowerCase());
  if (MAY_NOT_JOIN.test(command) && isOurs) return `${second}: ${last}`;
  if (command === 'KICK' && second === nick) return `thrown out of ${first}: ${last}`;
  return undefined;
}
