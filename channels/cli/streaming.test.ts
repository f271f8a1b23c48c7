/** Long answers that grow on a terminal of a person, who types meanwhile. */
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { TestHost } from '../../src/testing/channel-host.ts';
import { FakeClock, outbound, until } from '../../src/testing/fakes.ts';
import { TerminalScreen, type TerminalScreenOptions } from '../../src/testing/terminal-screen.ts';
import { type StreamingStage, streamingContract } from '../streaming-contract.ts';
import { CliChannel } from './channel.ts';

interface Look extends Omit<TerminalScreenOptions, 'rows'> {
  readonly rows?: number;
  readonly colors?: boolean;
  /** What stands behind the prompt all the time. */
  readonly typed?: string;
}

/** A person at a terminal of their own, while a turn is under way. */
async function person({ rows = 24, colors = false, typed = '', ...look }: Look, clock: FakeClock) {
  const [input, screen, host] = [new PassThrough(), new TerminalScreen({ ...look, rows }), new TestHost()];
  let redraw: (() => void) | undefined;
  const terminal = { input, output: screen, interactive: true, colors, onPrompt: (draw: () => void) => (redraw = draw) };
  const cli = new CliChannel('cli', terminal, clock);
  await cli.start(host, new AbortController().signal);
  const turn = new AbortController();
  await cli.typing?.({ chatId: 'local' }, turn.signal);
  input.write(typed);
  await until('it is typed', () => screen.text.replaceAll('\n', '').endsWith(typed));
  return {
    ...{ cli, screen, input, host },
    /** Another part of the program writes a line, as `src/app/screen.ts` does. */
    log(line: string): void {
      screen.write(`\r\u001b[K${line}\n`);
      redraw?.();
    },
    /** What stands above the prompt. */
    read(): string {
      turn.abort();
      const { text } = screen;
      expect(text.replaceAll('\n', '')).toMatch(new RegExp(`>( ${typed})?$`));
      return text.slice(0, text.lastIndexOf('>')).trimEnd();
    },
  };
}

const stage =
  (look: Look) =>
  async (clock: FakeClock): Promise<StreamingStage> => {
    let at = await person(look, clock);
    const none = (): never => expect.fail('a terminal refuses nothing');
    return {
      channel: at.cli,
      chat: { chatId: 'local', isGroup: false },
      // What a killed process showed stands above the prompt of a shell, as do all programs' last words.
      restart: async () => {
        await at.cli.stop();
        at = await person(look, clock);
        return at.cli;
      },
      seen: async () => [{ violations: at.screen.strange, visible: at.read() }],
      ...{ refuseEdits: none, limitNextEdit: none, rates: [] },
      [Symbol.asyncDispose]: () => at.cli.stop(),
    };
  };

const UNPLAYABLE = {
  'a draft whose last edit is refused goes, and the whole answer is sent once': 'a terminal refuses no edit alone',
  'a rate limit in mid-stream costs edits alone, and the answer ends whole': 'a terminal has none',
};
/** Longer than a row of 40 columns. */
const TYPED = '-'.repeat(60);

streamingContract('a terminal', stage({ columns: 80, joins: true }), UNPLAYABLE);
streamingContract(
  'a narrow terminal in which a line is typed',
  stage({ columns: 40, joins: false, colors: true, typed: TYPED }),
  UNPLAYABLE,
);

const FAMILY = '👩‍👩‍👧‍👦';
const GROWING: readonly (readonly [what: string, line: string])[] = [
  ['signs that a terminal joins or does not', `${FAMILY.repeat(9)}🇩🇪👍🏽❤️1️⃣`],
  ['tabs', `${'a\t'.repeat(4)}${'word '.repeat(4)}`],
  ['words that are coloured', `**${'bold'.repeat(12)}** \`${'code'.repeat(12)}\``],
  ['lines as wide as the terminal', `${'x'.repeat(39)}\n${'y'.repeat(40)}\n${'z'.repeat(41)}`],
];

test.each(GROWING.flatMap(([what, line]) => [true, false].map((joins) => ({ what, line, joins }))))(
  '$what grow and end as one answer, joined: $joins',
  async ({ line, joins }) => {
    const clock = new FakeClock();
    const at = await person({ columns: 40, joins, colors: true }, clock);
    const options = { plain: false, signal: new AbortController().signal };
    const draft = (text: string) => outbound({ key: 'm#draft', text });
    await at.cli.send(draft(line), options);
    for (const more of [1, 2]) await at.cli.edit?.('m#draft', draft(`${line}\n\n`.repeat(more)), options);
    await at.cli.edit?.('m#draft', outbound({ key: 'm#0', text: 'the end' }), options);
    expect([at.read(), at.screen.strange]).toEqual(['the end', []]);
    await at.cli.stop();
  },
);

// The second one fills its row to the last column.
test.each([TYPED, '-'.repeat(36)])('a line of the log, and answers, are not written over while %s is typed', async (typed) => {
  const at = await person({ columns: 40, joins: true, typed }, new FakeClock());
  const options = { plain: false, signal: new AbortController().signal };
  await at.cli.send(outbound({ key: 'm#0', text: 'first' }), options);
  at.log('something happened');
  await at.cli.send(outbound({ key: 'n#draft', text: 'half' }), options);
  await at.cli.send(outbound({ key: 'o#0', text: 'another answer' }), options);
  await at.cli.edit?.('n#draft', outbound({ key: 'n#0', text: 'whole' }), options);
  // Of what was typed above a line of the log the rows that were full stay.
  expect(at.read().replaceAll(/^.*> -+\n?/gm, '')).toBe('first\nsomething happened\nanother answer\nwhole');
  await at.cli.stop();
});

test('an answer that grows above a line of many rows leaves nothing of itself behind', async () => {
  const at = await person({ columns: 40, rows: 24, joins: true, typed: '-'.repeat(500) }, new FakeClock());
  const options = { plain: false, signal: new AbortController().signal };
  const rows = (count: number): string => Array.from({ length: count }, (_, n) => `row ${n}`).join('\n\n');
  await at.cli.send(outbound({ key: 'm#draft', text: rows(10) }), options);
  for (const count of [20, 30, 40]) await at.cli.edit?.('m#draft', outbound({ key: 'm#draft', text: rows(count) }), options);
  await at.cli.edit?.('m#draft', outbound({ key: 'm#0', text: 'the end' }), options);
  expect([at.read(), at.screen.strange]).toEqual(['the end', []]);
  await at.cli.stop();
});
