/** What the benchmark measures of IRC: a line read, and a part as lines. */
import type { BenchCase } from '../bench.ts';
import { toInbound } from './in/inbound.ts';
import { toLines } from './out/outbound.ts';
import { parseLine } from './wire/line.ts';

const us = { channel: 'irc', account: 'bot@irc.example', nick: 'bot' };
const tags = 'time=2026-01-02T03:04:05.000Z;account=ada';

export const benchCase: BenchCase = {
  receive(number) {
    const line = `@${tags};msgid=${number} :Ada!~ada@home.example PRIVMSG bot :message ${number}`;
    return () => toInbound(parseLine(line), { ...us, platformId: String(number), timestamp: Date.now() });
  },
  render: (text) =>
    toLines(
      { key: 'k', channel: 'irc', account: us.account, chatId: 'ada', ordinal: 0, count: 1, text },
      { nick: us.nick, maxLines: 20, plain: false },
    ),
};
