/** What lets us in and keeps us there: RFC 2812 3.1 and 3.7, SASL of IRCv3. Pure. */

import type { IrcSettings } from './settings.ts';
import type { Line } from './wire/line.ts';

/** What the settings name; absent where there is none. */
export interface Passwords {
  /** Of the account, by SASL. */
  readonly account?: string | undefined;
  readonly server?: string | undefined;
  readonly nickserv?: string | undefined;
}

/** The first lines of a connection. The server waits for `CAP END` before it lets us in. */
export function greeting({ nick }: IrcSettings, { account, server }: Passwords): readonly string[] {
  return [
    ...(server === undefined ? [] : [`PASS :${server}`]),
    'CAP REQ :account-tag',
    'CAP REQ :server-time',
    'CAP REQ :message-tags',
    'CAP REQ :batch',
    `NICK ${nick}`,
    `USER ${nick} 0 * :${nick}`,
    account === undefined ? 'CAP END' : 'CAP REQ :sasl',
  ];
}

/** What the server is answered; nothing to most lines. */
export function answersTo(line: Line, { nick }: IrcSettings, { account = '' }: Passwords): readonly string[] {
  const last = line.last.trim();
  switch (line.command) {
    case 'CAP':
      return last === 'sasl' ? ['AUTHENTICATE PLAIN'] : [];
    case 'AUTHENTICATE':
      return [`AUTHENTICATE ${Buffer.from(`\0${nick}\0${account}`).toString('base64')}`];
    case '903': // the password was right
      return ['CAP END'];
    case 'PING':
      return [`PONG :${last}`];
    default:
      return [];
  }
}

/** What is written once we are known to the network: some channels let no one else in. */
export function joins({ channels }: IrcSettings): readonly string[] {
  return channels.map((name) => `JOIN ${name}`);
}
