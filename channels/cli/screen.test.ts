// What a person sees and types at an interactive terminal.
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { TestHost } from '../../src/testing/channel-host.ts';
import { FakeClock, outbound, until } from '../../src/testing/fakes.ts';
import { CliChannel } from './channel.ts';
import { toTerminal } from './format.ts';
import { LINE_FEED, PasteFilter } from './paste.ts';

const PASTED = '\u001b[200~one\r\ntwo\nthree\u001b[201~';
const signal = () => new AbortController().signal;
const PLAIN = { colors: false, unicode: true };

async function terminal(more: { readonly columns?: number; readonly rows?: number; readonly colors?: boolean } = {}) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const { columns = 80, rows = 24, colors = false } = more;
  Object.assign(output, { columns, rows });
  let printed = '';
  output.on('data', (chunk) => {
    printed += String(chunk);
  });
  const [host, clock] = [new TestHost(), new FakeClock()];
  const cli = new CliChannel('cli', { input, output, interactive: true, colors }, clock);
  await cli.start(host, signal());
  const draft = (text: string) => outbound({ key: 'm#draft', text });
  return { input, host, clock, cli, draft, printed: () => printed, [Symbol.asyncDispose]: () => cli.stop() };
}

const options = () => ({ plain: false, signal: signal() });

test('what is pasted is one message with its lines, and the terminal is asked for the marks of a paste', async () => {
  await using at = await terminal();
  at.input.write(`say ${PASTED}`);
  await until('it is shown', () => at.printed().includes(`one${LINE_FEED}two`));
  expect(at.host.accepted).toEqual([]);
  at.input.write(' end\r');
  await until('it came', () => at.host.accepted.length === 1);
  expect(at.host.accepted[0]?.text).toBe('say one\ntwo\nthree end');
  expect(at.printed()).toContain('\u001b[?2004h');
  await at.cli.stop();
  expect(at.printed()).toContain('\u001b[?2004l');
});

test('marks of a paste are found wherever the bytes are cut, and no letter is lost', async () => {
  const bytes = Buffer.from(`a${PASTED}é🙂\u001b[A\u001b`);
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const input = new PassThrough();
    const filter = new PasteFilter(input, new FakeClock());
    let out = '';
    filter.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    input.write(bytes.subarray(0, cut));
    input.end(bytes.subarray(cut));
    await new Promise((resolve) => filter.once('end', resolve));
    expect(out).toBe(`aone${LINE_FEED}two${LINE_FEED}threeé🙂\u001b[A\u001b`);
  }
});

test('hostile: keys in a pasted text are no keys', async () => {
  await using at = await terminal();
  at.input.write('\u001b[200~/stop\u0003\u001b[A\u0015rm\u001b[201~\r');
  await until('it came', () => at.host.accepted.length === 1);
  expect(at.host.accepted[0]?.text).toBe('/stop  [A rm');
});

test.each(['exit', 'quit', '/exit', '/quit', ':q'])('%s leaves', async (word) => {
  await using at = await terminal();
  at.input.write(`${word}\r`);
  await until('the input ended', () => at.host.endings === 1);
  expect(at.host.accepted).toEqual([]);
});

test('an answer grows in its place, as much of it as the screen has room for, and is whole in the end', async () => {
  await using at = await terminal({ columns: 20, rows: 10 });
  const first = await at.cli.send(at.draft('one …'), options());
  expect(first).toEqual({ kind: 'sent', platformId: 'm#draft' });
  const long = Array.from({ length: 30 }, (_, n) => `line ${n}`).join('\n');
  let before = at.printed().length;
  await at.cli.edit?.('m#draft', at.draft(long), options());
  const shown = at.printed().slice(before);
  // Over the one row that was there, and no more rows than fit above the prompt.
  expect(shown).toContain('\r\u001b[1A\u001b[J');
  expect(shown).toContain('line 29');
  expect(shown).not.toContain('line 23\n');
  before = at.printed().length;
  expect(await at.cli.edit?.('m#draft', outbound({ key: 'm#0', text: long }), options())).toMatchObject({ kind: 'sent' });
  expect(at.printed().slice(before)).toContain('\r\u001b[6A\u001b[J');
  expect(at.printed().slice(before)).toContain('line 0\nline 1\n');
});

test('what was written below a growing answer is never written over', async () => {
  await using at = await terminal();
  await at.cli.send(at.draft('half'), options());
  at.input.write('next\r');
  await until('it came', () => at.host.accepted.length === 1);
  const before = at.printed().length;
  await at.cli.edit?.('m#draft', outbound({ key: 'm#0', text: 'whole' }), options());
  const shown = at.printed().slice(before);
  expect(shown).toContain('whole\n');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what moves the cursor up.
  expect(shown).not.toMatch(/\u001b\[\d+A\u001b\[J/);
});

/** A message came, and its turn is under way until the abort. */
async function working({ input, host, cli }: Awaited<ReturnType<typeof terminal>>): Promise<AbortController> {
  const turn = new AbortController();
  input.write('work\r');
  await until('it came', () => host.accepted.length === 1);
  await cli.typing?.({ chatId: 'local' }, turn.signal);
  return turn;
}

test('while a turn is under way the prompt says so and for how long; Ctrl-C stops the turn, not the daemon', async () => {
  await using at = await terminal();
  const turn = await working(at);
  await at.clock.advance(2_100);
  expect(at.printed()).toContain('2 s > ');
  at.input.write('\u0003');
  await until('the stop came', () => at.host.accepted.length === 2);
  expect(at.host.accepted[1]?.text).toBe('/stop');
  turn.abort();
  const before = at.printed().length;
  await at.clock.advance(1_000);
  expect(at.printed().slice(before)).toBe('');
});

test('Ctrl-C that is pressed again while the turn goes on leaves', async () => {
  await using at = await terminal();
  const turn = await working(at);
  at.input.write('\u0003');
  await until('the stop came', () => at.host.accepted.length === 2);
  const left = once(process, 'SIGINT', { signal: AbortSignal.timeout(2_000) });
  at.input.write('\u0003');
  await left;
  expect(at.host.accepted.map(({ text }) => text)).toEqual(['work', '/stop']);
  turn.abort();
});

test('Markdown is shown as what it means; without colours the words are the same and no mark is left', () => {
  const markdown = [
    '# Head',
    'a **bold** *it* `code` [site](https://e.org/x) <https://e.org>',
    '',
    '- one',
    '  - two',
    '1. three',
    '',
    '```js',
    'let a = 1;',
    '```',
    '',
    '| a | bb |',
    '|---|---|',
    '| 长 | x |',
    '',
    '> said',
  ].join('\n');
  expect(toTerminal(markdown, PLAIN)).toBe(
    [
      'Head',
      'a bold it code site (https://e.org/x) https://e.org',
      '',
      '• one',
      '  • two',
      '1. three',
      '',
      '    let a = 1;',
      '',
      'a   bb',
      '长  x',
      '',
      '│ said',
    ].join('\n'),
  );
  const colored = toTerminal('**bold** `code`', { colors: true, unicode: true });
  expect(colored).toBe('\u001b[1mbold\u001b[22m \u001b[36mcode\u001b[39m');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what is not ASCII.
  expect(toTerminal('- [x] done\n- b\n\n> q\n\n---', { colors: false, unicode: false })).toMatch(/^[\u0000-\u007f]*$/);
});

test('A46 hostile: no sequence of an answer reaches the terminal, in Markdown neither', async () => {
  await using at = await terminal({ colors: true });
  const before = at.printed().length;
  const evil = '**\u001b]0;owned\u0007** `\u001b[2J` [x](https://e.org/\u001b[31m) \u009b31m';
  await at.cli.send(outbound({ text: evil }), options());
  const shown = at.printed().slice(before);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what would drive the terminal.
  const sequences = shown.match(/\u001b\][^\u0007]*|\u001b\[[\d;?]*[A-Za-z]|[\u0007\u009b]/g) ?? [];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours, and what draws the prompt.
  expect(sequences.filter((one) => !/^\u001b\[(?:[\d;]*m|0?J|\d*[AGKC])$/.test(one))).toEqual([]);
  expect(sequences).not.toContain('\u001b[31m');
});
