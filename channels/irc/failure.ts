/** What goes wrong, by the server's own numbers (RFC 2812 5.2 and what servers added). Pure. */
import type { SendResult } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import type { Line } from './line.ts';
import type { IrcSettings } from './settings.ts';

const LOGIN_REFUSED = /^(?:46[45]|90[245])$/;
const NICK_TAKEN = /^43[23]$/;
const NO_SUCH_CHAT = /^40[13]$/;
const MAY_NOT_WRITE = /^(?:40[45]|477|486|531|716)$/;
const MAY_NOT_JOIN = /^47[1-6]$/;

/** Throws when the server does not want us: it refuses the password or the name, or hangs up. */
export function requireWelcome(line: Line, { nick }: IrcSettings): void {
  const { command, params } = line;
  const last = line.last.trim();
  const sasl = command === 'CAP' && params[1] === 'NAK' && last === 'sasl';
  if (sasl || LOGIN_REFUSED.test(command)) throw new GatehouseError('GH1501', `the server refused the login: ${last}`);
  if (NICK_TAKEN.test(command)) throw new GatehouseError('GH1503', `${nick}: ${last}`);
  if (command === 'NICK' && line.nick === nick) throw new GatehouseError('GH1503', `the server renamed ${nick} to ${last}`);
  // Servers that know no number for it hang up: `ERROR :Closing connection: Bad server password`.
  if (command === 'ERROR' && /password/i.test(last)) throw new GatehouseError('GH1501', `the server refused the login: ${last}`);
  if (command === 'ERROR') throw new GatehouseError('GH1502', last);
}

/** The part under way was refused for good; undefined when the line says nothing of the kind. */
export function refusalOf({ command, last }: Line): SendResult | undefined {
  if (NO_SUCH_CHAT.test(command)) return { kind: 'refused', reason: 'chat-gone', detail: last };
  if (MAY_NOT_WRITE.test(command)) return { kind: 'refused', reason: 'blocked', detail: last };
  return undefined;
}

/** A channel that keeps us out, in words for the operator; the other channels work. */
export function troubleOf({ command, params, last }: Line, { nick }: IrcSettings): string | undefined {
  const [first, second] = params;
  if (MAY_NOT_JOIN.test(command)) return `${second}: ${last}`;
  if (command === 'KICK' && second === nick) return `thrown out of ${first}: ${last}`;
  return undefined;
}
