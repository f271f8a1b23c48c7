/** What lets us in and keeps us there: RFC 2812 3.1 and 3.7, SASL of IRCv3. Pure. */
import type { Line } from './line.ts';
import type { IrcSettings } from './settings.ts';

/** The first lines of a connection. The server waits for `CAP END` before it lets us in. */
export function greeting({ nick }: IrcSettings, password: string | undefined): readonly string[] {
  return [
    'CAP REQ :account-tag',
    'CAP REQ :server-time',
    'CAP REQ :message-tags',
    `NICK ${nick}`,
    `USER ${nick} 0 * :${nick}`,
    password === undefined ? 'CAP END' : 'CAP REQ :sasl',
  ];
}

/** What the server is answered; nothing to most lines. */
export function answersTo(line: Line, { nick, channels }: IrcSettings, password = ''): readonly string[] {
  const last = line.last.trim();
  switch (line.command) {
    case 'CAP':
      return last === 'sasl' ? ['AUTHENTICATE PLAIN'] : [];
    case 'AUTHENTICATE':
      return [`AUTHENTICATE ${Buffer.from(`\0${nick}\0${password}`).toString('base64')}`];
    case '903': // the password was right
      return ['CAP END'];
    case '001': // welcome
      return channels.map((name) => `JOIN ${name}`);
    case 'PING':
      return [`PONG :${last}`];
    default:
      return [];
  }
}
