/** What servers and bouncers show again: as ZNC 1.8.2 wrote it, and as IRCv3 describes it. */
import { expect, test } from 'vitest';
import { parseLine } from '../wire/line.ts';
import { Replay } from './replay.ts';

const LIVE = '@time=2026-11-29T06:34:03.832Z :Ada!~ada@127.0.0.1 PRIVMSG bot :live1';
const AGAIN = `@batch=d7;${LIVE.slice(1)}`;
const begins = (type: string) => `:znc.in BATCH +d7 ${type} Ada`;
const ENDS = ':znc.in BATCH -d7';

/** The ids of what is shown on one connection; undefined for what has none. */
function ids(...lines: readonly string[]) {
  const replay = new Replay();
  return lines.map((line) => replay.read(parseLine(line)).id).filter((_id, index) => lines[index]?.includes('PRIVMSG'));
}

test.each(['znc.in/playback', 'chathistory'])('a line has the same id live and in a batch of %s', (type) => {
  const [live] = ids(LIVE);
  expect(live).toMatch(/^1795934043832-[0-9a-f]{32}$/);
  expect(ids(begins(type), AGAIN, ENDS)).toEqual([live]);
  expect(ids(LIVE, begins(type), AGAIN, ENDS)).toEqual([live, live]);
});

test('the same twice within one millisecond is two lines, live and in each batch', () => {
  const [one, two] = ids(LIVE, LIVE);
  expect(two).toBe(`${one}.1`);
  expect(ids(begins('znc.in/playback'), AGAIN, AGAIN, ENDS)).toEqual([one, two]);
  expect(ids(LIVE, LIVE, begins('znc.in/playback'), AGAIN, AGAIN, ENDS)).toEqual([one, two, one, two]);
  // Written while the bot is there, in the millisecond in which the history of it ends.
  expect(ids(begins('znc.in/playback'), AGAIN, ENDS, LIVE)).toEqual([one, two]);
});

test.each([
  ['another millisecond', LIVE.replace('.832', '.833')],
  ['other words', `${LIVE}!`],
  ['another person', LIVE.replace('Ada', 'Eve')],
  ['another host', LIVE.replace('127.0.0.1', 'else.example')],
  ['a channel', LIVE.replace('PRIVMSG bot', 'PRIVMSG #bot')],
])('%s is another line', (_what, line) => {
  expect(ids(line)).not.toEqual(ids(LIVE));
});

test('our name when it is shown, more digits of the time and other tags make no other line', () => {
  const other = LIVE.replace('PRIVMSG bot', 'PRIVMSG Bot').replace('.832Z', '.832417Z').replace('@', '@account=ada;msgid=x;');
  expect(ids(other)).toEqual(ids(LIVE));
});

test('without a time, or with none that can be read, a line has no id', () => {
  expect(ids(':Ada!a@b PRIVMSG bot :x', '@time=yesterday :Ada!a@b PRIVMSG bot :x')).toEqual([undefined, undefined]);
});

test('only what stands in a batch of history is history', () => {
  const replay = new Replay();
  const history = (line: string) => replay.read(parseLine(line)).isHistory;
  expect(history(AGAIN)).toBe(false);
  history(':s BATCH +d7 netsplit a b');
  expect(history(AGAIN)).toBe(false);
  history(begins('chathistory'));
  expect([history(LIVE), history(AGAIN)]).toEqual([false, true]);
  history(ENDS);
  expect(history(AGAIN)).toBe(false);
});

test('history of a ZNC that says no times is known by its stamp; with times, or from a person, the stamp is words', () => {
  const undated = (...lines: readonly string[]) => {
    const replay = new Replay();
    return lines.map((line) => replay.read(parseLine(line)).isUndated).at(-1);
  };
  const stamped = ':Ada!~ada@127.0.0.1 PRIVMSG bot :[06:34:03] live1';
  const named = ':irc.znc.in CAP * NAK :server-time';
  expect(undated(named, stamped)).toBe(true);
  expect(undated(named, stamped.replace('[', '\u0001ACTION ['))).toBe(true);
  expect(undated(':***!znc@znc.in PRIVMSG #a :Buffer Playback...', stamped)).toBe(true);
  expect(undated(named, ':Ada!~ada@127.0.0.1 PRIVMSG bot :live, [06:34:03] as it is')).toBe(false);
  expect(undated(stamped)).toBe(false);
  expect(
    undated(
      named,
      '@time=2026-11-29T06:34:15.800Z :irc.znc.in CAP * ACK :server-time',
      `@time=2026-11-29T06:34:15.800Z ${stamped}`,
    ),
  ).toBe(false);
});
