import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { TestHost } from '../../src/testing/channel-host.ts';
import { until } from '../../src/testing/fakes.ts';
import { channel as descriptor } from './index.ts';

const PIECES = ['\r', '\t', '\0', '\u001b[2J', '\u2028', '\u0085', '\ud83d', 'é', ' ', '"', '/', '\u202e', '\x7f', 'word'];

test('A45 10,000 mutated lines of a pipe, cut anywhere: each is one message of the owner, in order, and the one behind them arrives', async () => {
  let state = 21;
  const draw = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const lines = Array.from({ length: 10_000 }, (_, index) => {
    const pieces = Array.from({ length: draw(6) }, () => PIECES[draw(PIECES.length)]);
    return `${index} ${pieces.join('')}`;
  });
  // Some bytes are no UTF-8, and a chunk may end within a character.
  const bytes = Buffer.from(`${lines.join('\n')}\nstill here\n`, 'utf8');
  for (let change = 0; change < 500; change += 1) {
    const at = draw(bytes.length - 20);
    if ((bytes[at] ?? 0) > 0x7f) bytes[at] = 0xff;
  }
  const input = new PassThrough();
  const output = new PassThrough();
  output.resume();
  const host = new TestHost();
  const terminal = { input, output, interactive: false };
  const channel = await descriptor.create(descriptor.settings.parse({}), { ...channelDeps(), terminal });
  try {
    await channel.start(host, new AbortController().signal);
    for (let at = 0; at < bytes.length; ) {
      const size = 1 + draw(500);
      input.write(bytes.subarray(at, at + size));
      at += size;
    }
    await until('the last arrived', () => host.accepted.at(-1)?.text === 'still here');
    const numbers = host.accepted.slice(0, -1).flatMap(({ text }) => /^(\d+) /.exec(text)?.[1] ?? []);
    expect(numbers.map(Number)).toEqual(lines.map((_, index) => index));
    for (const { senderId, text } of host.accepted) {
      expect(senderId).toBe('local');
      expect(text.isWellFormed()).toBe(true);
      expect(text).not.toContain('\n');
    }
  } finally {
    await channel.stop();
  }
});
