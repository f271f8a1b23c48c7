import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { TestHost } from '../../src/testing/channel-host.ts';
import { FakeClock, outbound, tempDir, until } from '../../src/testing/fakes.ts';
import { CliChannel } from './channel.ts';
import { lineToMessage } from './inbound.ts';
import { channel as descriptor } from './index.ts';
import { partToText } from './outbound.ts';

function terminal(options: { interactive?: boolean; historyFile?: string; message?: string } = {}) {
  const input = new PassThrough();
  const output = new PassThrough();
  let printed = '';
  output.on('data', (chunk) => {
    printed += String(chunk);
  });
  return { input, output, interactive: options.interactive ?? false, ...options, printed: () => printed };
}

const signal = () => new AbortController().signal;

describe('the terminal', () => {
  it('makes one message of each line that says something, and tells when the input ends', async () => {
    const pipe = terminal();
    const host = new TestHost();
    const cli = new CliChannel('cli', pipe, new FakeClock());
    await cli.start(host, signal());
    pipe.input.end('hello\n\n  \nsecond line\r\nlast without newline');
    await until('the input ended', () => host.endings === 1);
    expect(host.accepted.map(({ text }) => text)).toEqual(['hello', 'second line', 'last without newline']);
    expect(new Set(host.accepted.map(({ id }) => id)).size).toBe(3);
    await cli.stop();
  });

  it('prints each answer as a block of its own', async () => {
    const pipe = terminal();
    const cli = new CliChannel('cli', pipe, new FakeClock());
    expect(await cli.send(outbound({ text: 'one\ntwo' }), { signal: signal() })).toMatchObject({ kind: 'sent' });
    expect(pipe.printed()).toBe('one\ntwo\n');
  });

  it('prints as it was written what renders to nothing', () => {
    expect(partToText(outbound({ text: '#' }), { colors: false, unicode: true })).toBe('#\n');
  });

  it('A46: prints no control character of an answer', () => {
    expect(partToText(outbound({ text: 'a\u001b[2Jb\u0007c\r\nd\te' }))).toBe('a\ufffd[2Jb\ufffdc\nd\te\n');
  });

  it('A46: prints no control character that an answer spells as Markdown', () => {
    const text = 'rm -rf ~&#13;**ls** &#x0c;&#27;[2J ![a&#13;](http://e.org/p)';
    const painted = partToText(outbound({ text }), { colors: true, unicode: true });
    expect(painted).toBe('rm -rf ~\ufffd\u001b[1mls\u001b[22m \ufffd\ufffd[2J a\ufffd (\u001b[4mhttp://e.org/p\u001b[24m)\n');
    expect(partToText(outbound({ text: 'a&#13;b' }), { colors: false, unicode: true })).toBe('a\ufffdb\n');
  });

  it('ends in order where its history cannot be stored, and says so', async () => {
    await using dir = await tempDir();
    const screen = terminal({ interactive: true, historyFile: join(dir.path, 'gone', 'history') });
    const told: string[] = [];
    const host = new TestHost();
    const cli = new CliChannel('cli', { ...screen, tell: (line) => told.push(line) }, new FakeClock());
    await cli.start(host, signal());
    screen.input.end('one\n');
    await until('the input ended', () => host.endings === 1);
    await cli.stop();
    expect(host.state).toBe('stopped');
    expect(told).toEqual([expect.stringMatching(/^the history of this terminal is not stored: .*ENOENT/)]);
  });

  it('offers what it had read when it was told to stop, and takes no more', async () => {
    const pipe = terminal();
    const stop = new AbortController();
    const host = new TestHost();
    const receive = host.receive.bind(host);
    host.receive = async (batch) => {
      stop.abort(new Error('the daemon is stopping'));
      return await receive(batch);
    };
    const cli = new CliChannel('cli', pipe, new FakeClock());
    await cli.start(host, stop.signal);
    pipe.input.write('one\ntwo\nthree\n');
    await until('the first line came', () => host.accepted.length > 0);
    pipe.input.write('four\n');
    await cli.stop();
    expect(host.accepted.map(({ text }) => text)).toEqual(['one', 'two', 'three']);
    expect(host.endings).toBe(0);
  });

  it('takes one given message, newlines included, instead of reading', async () => {
    const pipe = terminal({ message: 'line one\nline two' });
    const host = new TestHost();
    const cli = new CliChannel('cli', pipe, new FakeClock());
    await cli.start(host, signal());
    await until('the input ended', () => host.endings === 1);
    expect(host.accepted.map(({ text }) => text)).toEqual(['line one\nline two']);
    await cli.stop();
  });

  it('ends when nobody reads it any more, and says so of the answer', async () => {
    const pipe = terminal();
    const host = new TestHost();
    const cli = new CliChannel('cli', pipe, new FakeClock());
    await cli.start(host, signal());
    pipe.output.on('error', () => undefined);
    pipe.output.destroy();
    expect(await cli.send(outbound(), { signal: signal() })).toMatchObject({ kind: 'refused', reason: 'chat-gone' });
    expect(host.endings).toBeGreaterThan(0);
    await cli.stop();
  });

  it('keeps what was typed, newest last, for the next start', async () => {
    await using dir = await tempDir();
    const historyFile = join(dir.path, 'history');
    const first = terminal({ interactive: true, historyFile });
    const host = new TestHost();
    const cli = new CliChannel('cli', first, new FakeClock());
    await cli.start(host, signal());
    first.input.write('one\ntwo\n');
    await until('both lines came', () => host.accepted.length === 2);
    await cli.stop();
    expect((await readFile(historyFile, 'utf8')).split('\n')).toEqual(['one', 'two']);
  });

  it('prints an answer that comes after the end of the input, without a prompt', async () => {
    const screen = terminal({ interactive: true });
    const host = new TestHost();
    const cli = new CliChannel('cli', screen, new FakeClock());
    await cli.start(host, signal());
    screen.input.end('one\n');
    await until('the input ended', () => host.endings === 1);
    const before = screen.printed();
    expect(await cli.send(outbound({ text: 'late' }), { signal: signal() })).toMatchObject({ kind: 'sent' });
    expect(screen.printed().slice(before.length)).toBe('\r\u001b[Jlate\n');
    await cli.stop();
  });

  it('says how to put prompt and half a line back after somebody else wrote to the screen', async () => {
    const screen = terminal({ interactive: true });
    let redraw: (() => void) | undefined;
    const cli = new CliChannel('cli', { ...screen, onPrompt: (draw) => (redraw = draw) }, new FakeClock());
    await cli.start(new TestHost(), signal());
    screen.input.write('half');
    await until('it is echoed', () => screen.printed().endsWith('half'));
    const before = screen.printed();
    redraw?.();
    expect(screen.printed().slice(before.length)).toContain('> half');
    await cli.stop();
    redraw?.();
  });

  it('tells the person that a text is cut', async () => {
    const told: string[] = [];
    const screen = terminal({ interactive: false });
    const cli = new CliChannel('cli', { ...screen, tell: (line) => told.push(line) }, new FakeClock());
    await cli.start(new TestHost(), signal());
    screen.input.write('short\n');
    screen.input.write(`${'x'.repeat(1_000_001)}\n`);
    await until('it is told', () => told.length > 0);
    expect(told).toEqual(['this text has 1000001 characters: the agent gets the first 1000000; send the rest as a file']);
    await cli.stop();
  });

  it('cuts a line of more than a million characters, with a note, and keeps invalid text valid', () => {
    const place = { channel: 'cli', run: 'r', number: 1, now: 0 };
    expect(lineToMessage('x'.repeat(1_000_001), place).text).toMatch(/x\n\[cut off after 1000000 characters\]$/);
    expect(lineToMessage('a\ud800b', place).text).toBe('a\ufffdb');
  });

  it('cannot be created without a terminal to own', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'gatehouse-cli-'));
    const deps = { name: 'cli', secret: () => '', clock: new FakeClock(), random: () => 0 };
    await expect(descriptor.create({}, deps as never)).rejects.toMatchObject({ code: 'GH1101' });
    await rm(dir, { recursive: true });
  });
});
