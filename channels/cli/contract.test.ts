import { PassThrough } from 'node:stream';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { quickClock } from '../../src/testing/channel-host.ts';
import type { ChannelSetup } from '../../src/testing/channel-stage.ts';
import { MemoryLogger, outbound } from '../../src/testing/fakes.ts';
import { channelContract } from '../contract.ts';
import { channel as descriptor } from './index.ts';

async function setup(): Promise<ChannelSetup> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let printed = '';
  output.on('data', (chunk) => {
    printed += String(chunk);
  });
  const create = () =>
    descriptor.create(
      {},
      {
        ...channelDeps(),
        name: 'cli',
        secret: () => '',
        ...{ clock: quickClock(), logger: new MemoryLogger(), random: Math.random },
        terminal: { input, output, interactive: false },
      },
    );
  const unplayable = () => Promise.reject(new Error('a terminal has no such thing'));
  return {
    people: ['local'],
    create,
    createRefused: unplayable,
    deliver: async ({ text }) => void input.write(`${text}\n`),
    seen: async () => printed.split('\n').flatMap((text) => (text === '' ? [] : [{ text }])),
    connections: async () => 0,
    part: (override) => outbound({ channel: 'cli', account: 'local', chatId: 'local', ...override }),
    limitNextSend: unplayable,
    loseNextReply: unplayable,
    refuseNextSend: async () => void output.destroy(),
    goDown: unplayable,
    async [Symbol.asyncDispose]() {
      input.destroy();
      output.destroy();
    },
  };
}

const NO_REPEAT = 'nothing types a line again (class C)';
const NO_FILES = 'a line carries no file';

channelContract('cli', setup, {
  'A3 a new display name does not change who the sender is': 'one person sits at a terminal, and has no name',
  'F1 nothing is acknowledged before the gateway accepted it': NO_REPEAT,
  'F1 a message that was never accepted comes again after a restart, under the same key': NO_REPEAT,
  'F2 a message delivered twice has the same key both times': NO_REPEAT,
  'refused credentials are reported as down with the code, and start does not throw': 'a terminal asks for none',
  'an unreachable platform is reported with the code, and start does not throw': 'a terminal is there or the channel is not made',
  'F35 a rate limit passes on how long to wait where the platform states it, and nothing was sent': 'a terminal has none',
  'F37 a lost reply is unknown, and the adapter does not send again by itself': 'printing is not answered',
  'a file arrives as a reference whose bytes can be fetched': NO_FILES,
  'a file that grows beyond the cap while it is read is cut off with GH1504': NO_FILES,
  'a file that cannot be fetched is GH1505': NO_FILES,
  'fetching a file ends with its signal, before the answer and in the middle of it': NO_FILES,
  'stop does not wait for a file that nobody reads': NO_FILES,
});
