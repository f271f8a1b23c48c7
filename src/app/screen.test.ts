import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { Screen } from './screen.ts';

function terminal(isTTY: boolean) {
  const stream = Object.assign(new PassThrough(), { isTTY });
  const written: string[] = [];
  stream.on('data', (chunk) => written.push(String(chunk)));
  return { stream, written };
}

it('writes above the prompt and draws the prompt again', () => {
  const { stream, written } = terminal(true);
  const screen = new Screen(stream, true);
  screen.onPrompt(() => written.push('<prompt>'));
  screen.stderr.write('a line of the log\n');
  expect(written).toEqual(['\r\u001b[Ka line of the log\n', '<prompt>']);
});

it('writes what it is given while nobody has drawn a prompt, and to a file or a pipe always', () => {
  const early = terminal(true);
  new Screen(early.stream, true).stderr.write('early\n');
  expect(early.written).toEqual(['early\n']);
  const pipe = terminal(false);
  const screen = new Screen(pipe.stream, true);
  screen.onPrompt(() => pipe.written.push('<prompt>'));
  screen.stderr.write('line\n');
  expect(pipe.written).toEqual(['line\n']);
});
