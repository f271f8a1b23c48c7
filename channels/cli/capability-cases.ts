/** What a terminal can do. For tests. */
import { PassThrough } from 'node:stream';
import { expect } from 'vitest';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { TestHost } from '../../src/testing/channel-host.ts';
import { outbound, until } from '../../src/testing/fakes.ts';
import type { CapabilityCases } from '../capabilities.ts';
import { channel as descriptor } from './index.ts';

async function scene(interactive = false) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const printed: string[] = [];
  output.on('data', (chunk) => void printed.push(String(chunk)));
  const channel = await descriptor.create({}, channelDeps({ name: 'cli', terminal: { input, output, interactive } }));
  const host = new TestHost();
  await channel.start(host, new AbortController().signal);
  return { input, printed, channel, host, [Symbol.asyncDispose]: () => channel.stop() };
}

const NO_FILES = 'a line of text carries no file; the agent reads and writes files of its workspace';
const ONE_CHAT = 'a terminal is one conversation without threads or messages to point at';

export const cases: CapabilityCases = {
  async 'text in'() {
    await using at = await scene();
    at.input.write('hello\n');
    expect(await until('it arrived', () => at.host.accepted[0])).toMatchObject({ text: 'hello', kind: 'message' });
  },
  async 'text out'() {
    await using at = await scene();
    const part = outbound({ channel: 'cli', account: 'local', chatId: 'local', text: 'good morning' });
    const result = await at.channel.send(part, { plain: false, signal: new AbortController().signal });
    expect([result.kind, at.printed.join('')]).toEqual(['sent', expect.stringContaining('good morning')]);
  },
  async 'command in'() {
    await using at = await scene();
    at.input.write('/help me\n');
    expect(await until('it arrived', () => at.host.accepted[0])).toMatchObject({ text: '/help me' });
  },
  'photo in': NO_FILES,
  'photo out': NO_FILES,
  'voice in': NO_FILES,
  'voice out': NO_FILES,
  'audio in': NO_FILES,
  'audio out': NO_FILES,
  'document in': NO_FILES,
  'document out': NO_FILES,
  'album in': NO_FILES,
  'thread in': ONE_CHAT,
  'thread out': ONE_CHAT,
  'threads of its own': ONE_CHAT,
  'reply in': ONE_CHAT,
  'reply out': ONE_CHAT,
  'earlier messages': 'a terminal is told everything that is typed there',
  'reaction in': ONE_CHAT,
  'reaction out': ONE_CHAT,
  'edit in': 'a line that was entered is sent',
  'delete in': 'a line that was entered is sent',
  async 'edit out'() {
    await using at = await scene(true);
    const part = outbound({ channel: 'cli', account: 'local', chatId: 'local', key: 'm#draft', text: 'half' });
    const options = { plain: false, signal: new AbortController().signal };
    await at.channel.send(part, options);
    const edited = await at.channel.edit?.('m#draft', { ...part, key: 'm#0', text: 'the whole' }, options);
    expect([edited?.kind, at.printed.join('')]).toEqual(['sent', expect.stringContaining('the whole\n')]);
  },
  async typing() {
    await using at = await scene(true);
    const turn = new AbortController();
    await at.channel.typing?.({ chatId: 'local' }, turn.signal);
    turn.abort();
    expect(at.printed.join('')).toMatch(/⠋ > /);
  },
  buttons: 'choices are typed; the text lists them',
  'select menu': 'choices are typed; the text lists them',
  'command answers for one person': 'one person sits at a terminal',
  'assistant pane': 'a terminal has no pane beside it',
  shortcuts: 'a terminal has no menus of messages',
  'mention in a group': 'one person sits at a terminal',
  'catch-up after a disconnect': 'a terminal repeats nothing (class C)',
  'second key': 'a line comes once',
  'proof of a send': 'printing is not answered',
};
