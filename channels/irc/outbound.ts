import { GatehouseError } from '../../src/core/errors.ts';
import type { OutboundPart } from '../../src/core/message.ts';
import type { Line } from './inbound.ts';
import type { IrcSettings } from './settings.ts';

/** One command per line of the text. Control characters would end a command, or begin one that people do not see. */
export function toLines({ text, chatId, ordinal, replyContext }: OutboundPart): readonly string[] {
  const [nick, target = ''] = [replyContext?.['nick'], ...chatId.split('!')];
  const said = /^[#&]/.test(target) && nick !== undefined && ordinal === 0 ? `${nick}: ${text}` : text;
  const lines = said.split(/\r\n?|\n/).map((line) => line.replace(/\p{Cc}/gu, ' '));
  return lines.filter((line) => line.trim() !== '').map((line) => `PRIVMSG ${target} :${line}`);
}

/** What lets us in and keeps us there (RFC 2812 3.1, 3.7; IRCv3 SASL). Throws when the server does not want us. */
export function toAnswers(line: Line, { nick, channels }: IrcSettings, password = ''): readonly string[] {
  const { command, params } = line;
  const last = params.at(-1)?.trim() ?? '';
  const refused = /^(?:46[45]|90[245])$/.test(command) || (command === 'CAP' && params[1] === 'NAK' && last === 'sasl');
  if (refused) throw new GatehouseError('GH1501', `the server refused the login: ${last}`);
  if (/^43[23]$/.test(command)) throw new GatehouseError('GH1503', `${nick}: ${last}`);
  if (command === 'NICK' && line.nick === nick) throw new GatehouseError('GH1503', `the server renamed ${nick} to ${last}`);
  if (command === 'ERROR') throw new GatehouseError('GH1502', last);
  if (command === '001') return channels.map((name) => `JOIN ${name}`);
  if (command === 'PING') return [`PONG :${last}`];
  if (command === 'CAP' && last === 'sasl') return ['AUTHENTICATE PLAIN'];
  if (command === 'AUTHENTICATE') return [`AUTHENTICATE ${Buffer.from(`\0${nick}\0${password}`).toString('base64')}`];
  return command === '903' ? ['CAP END'] : [];
}
