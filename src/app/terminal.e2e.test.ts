// The real program in real terminals: tmux shows what a person sees.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, onTestFinished, type TestContext, test } from 'vitest';
import { programLine } from '../testing/child-daemon.ts';
import { tempDir } from '../testing/fakes.ts';
import { needs } from '../testing/needs.ts';

const run = promisify(execFile);
/** On a machine that is busy with other things. */
const PATIENCE_MS = 30_000;

interface Screen {
  readonly columns: number;
  readonly env: Readonly<Record<string, string>>;
}

async function terminal(context: TestContext, { columns, env }: Screen) {
  needs(context, 'tmux', '-V');
  const dir = await tempDir();
  const tmux = async (...args: string[]) =>
    (await run('tmux', ['-S', join(dir.path, 'socket'), '-f', '/dev/null', ...args])).stdout;
  const program = programLine(dir.path, 'gateway', '--data-dir', join(dir.path, 'data'));
  const all = { ...program.env, TERM: 'xterm-256color', ...env };
  const words = Object.entries(all).map(([name, value]) => `${name}=${value}`);
  const command = ['env', '-i', ...words, program.command, ...program.args];
  // tmux itself tells not always how a program ended.
  const told = ['sh', '-c', '"$@"; echo "left with $?"; sleep 600', 'sh', ...command];
  await tmux('new-session', '-d', '-x', String(columns), '-y', '24', ...told);
  onTestFinished(async () => {
    await tmux('kill-server').catch(() => undefined);
    await dir[Symbol.asyncDispose]();
  });
  const shown = async (...flags: string[]) => await tmux('capture-pane', '-p', '-J', '-S', '-200', ...flags);
  return {
    tmux,
    shown,
    keys: async (...keys: string[]) => void (await tmux('send-keys', ...keys)),
    async seen(pattern: RegExp): Promise<string> {
      const end = performance.now() + PATIENCE_MS;
      for (;;) {
        const text = await shown();
        if (pattern.test(text)) return text;
        if (performance.now() > end) throw new Error(`no ${pattern} on the screen:\n${text}`);
        await sleep(50);
      }
    },
  };
}

test('a pasted text is one message, an answer grows in its place, Ctrl-C stops a turn, and /exit leaves', async (context) => {
  const at = await terminal(context, { columns: 80, env: { LANG: 'C.UTF-8' } });
  await at.seen(/\n> *\n/);
  await at.tmux('set-buffer', 'line one\nline two\nline three');
  await at.tmux('paste-buffer', '-p');
  await at.seen(/> line one␤line two␤line three/);
  await at.keys('Enter');
  await at.seen(/I received message 1 of session \S+\s*\(28 characters\)/);

  await at.keys('/demo stream', 'Enter');
  await at.seen(/^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] \d+ s > *$/m);
  await at.seen(/1 2 3 4 5 6 7[\d\s]* …/);
  const whole = (await at.seen(/1 2 3[\d\s]* 59 60\s*\n> *\n/)).replace(/\s+/g, ' ');
  expect(whole.match(/1 2 3 4 5/g)).toHaveLength(1);
  expect(whole).not.toContain('message 2');

  await at.keys('/demo stream', 'Enter');
  await at.seen(/Streaming[\s\S]*Streaming[\s\S]* …/);
  await at.keys('C-c');
  const stopped = await at.seen(/Cancelled\.[\s\S]*Stopped here\./);
  // What was said to the Ctrl-C stands above the answer, which is there once.
  expect(stopped.slice(stopped.lastIndexOf('> /demo stream')).match(/Streaming/g)).toHaveLength(1);
  await at.keys('/exit', 'Enter');
  await at.seen(/^left with 0$/m);
});

test('in 40 columns, without colours and without UTF-8, nothing is drawn that needs them', async (context) => {
  const at = await terminal(context, { columns: 40, env: { LANG: 'C', NO_COLOR: '1' } });
  await at.seen(/\n> *\n/);
  await at.keys('hello', 'Enter');
  await at.seen(/I received message 1/);
  await at.keys('/demo stream', 'Enter');
  await at.seen(/^[|/\\-] \d+ s > *$/m);
  const text = await at.seen(/59 60\s*\n> *\n/);
  const answers = text.slice(text.indexOf('> hello'));
  // What the demo says is its own.
  expect(answers).not.toMatch(/[\u2800-\u28ff\u2022\u2500-\u257f]/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a colour.
  expect((await at.shown('-e')).slice(-400)).not.toMatch(/\u001b\[[0-9;]*[1-9]m/);
});
