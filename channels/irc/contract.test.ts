/** The contract of all channels, played on a real ngircd. */
import { describe } from 'vitest';
import { ircMissing, startIrcServer } from '../../src/simulator/irc/server.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { quickClock } from '../../src/testing/channel-host.ts';
import type { ChannelSetup } from '../../src/testing/channel-stage.ts';
import { outbound } from '../../src/testing/fakes.ts';
import { channelContract } from '../contract.ts';
import { channel as descriptor } from './index.ts';

async function setup(): Promise<ChannelSetup> {
  const server = await startIrcServer();
  const people = { ada: await server.join('Ada'), other: await server.join('Other') };
  const create = (override: object = {}) => {
    const settings = descriptor.settings.parse({
      host: '127.0.0.1',
      port: server.proxy.port,
      tls: false,
      nick: 'bot',
      ...override,
    });
    return descriptor.create(settings, channelDeps({ name: 'irc', clock: quickClock(), random: Math.random }));
  };
  const unplayable = () => Promise.reject(new Error('a server has no such thing'));
  return {
    people: [people.ada.id, people.other.id],
    create,
    createRefused: () => create({ password_env: 'IRC_PASSWORD' }),
    async deliver({ text, senderId, senderName }) {
      const person = senderId === people.ada.id ? people.ada : people.other;
      await person.rename(senderName.replaceAll(' ', '_'));
      person.say(`PRIVMSG bot :${text}`);
    },
    async seen() {
      await people.ada.settled();
      return people.ada.lines.flatMap((line) => {
        const text = /^:bot!\S+ PRIVMSG \S+ :(.*)/.exec(line)?.[1];
        return text === undefined ? [] : [{ text }];
      });
    },
    connections: async () => server.proxy.connections,
    part: (override) => outbound({ channel: 'irc', account: 'bot@127.0.0.1', chatId: 'Ada', ...override }),
    limitNextSend: unplayable,
    loseNextReply: async () => server.proxy.cutNextAt(/ PONG \S+ :[\w-]{36}/),
    refuseNextSend: () => people.ada.leave(),
    goDown: () => server[Symbol.asyncDispose](),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const missing = ircMissing();
const NO_REPEAT = 'a server repeats nothing (class C)';
const NO_FILES = 'a line carries no file';

if (missing !== undefined) {
  if (process.env['CI']) throw new Error(missing);
  process.stderr.write(`channels/irc/contract.test.ts skipped: ${missing}\n`);
}
describe.skipIf(missing !== undefined)('on ngircd', () => {
  channelContract('irc', setup, {
    'F1 a message that was never accepted comes again after a restart, under the same key': NO_REPEAT,
    'F2 a message delivered twice has the same key both times': NO_REPEAT,
    'F35 a rate limit passes on how long to wait where the platform states it, and nothing was sent':
      'ngircd slows people down, or hangs up on them, and says nothing of waiting',
    'a file arrives as a reference whose bytes can be fetched': NO_FILES,
    'a file that grows beyond the cap while it is read is cut off with GH1504': NO_FILES,
    'a file that cannot be fetched is GH1505': NO_FILES,
    'fetching a file ends with its signal, before the answer and in the middle of it': NO_FILES,
    'stop does not wait for a file that nobody reads': NO_FILES,
  });
});
