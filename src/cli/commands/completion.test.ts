import { execFile } from 'node:child_process';
import { chmod, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, onTestFinished, type TestContext, test } from 'vitest';
import type { DeadLetter } from '../../core/dead-letters.ts';
import { packageRoot } from '../../lib/package-info.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';
import { needs } from '../../testing/needs.ts';
import { SCRIPTS, type Shell } from '../completion-scripts.ts';

const run = promisify(execFile);

async function completed(cli: FakeCli, line: string): Promise<readonly string[]> {
  const { code, stdout, stderr } = await cli.run('complete', '--line', line);
  expect([code, stderr]).toEqual([0, '']);
  return stdout.split('\n').filter(Boolean);
}

test('commands, their options, the values of those, and the values of arguments are completed', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.write(
    '.gatehouse/config.json',
    '{"gateway": {"channels": [{"type": "cli"}, {"type": "telegram", "name": "family-bot"}]}}',
  );
  expect(await completed(cli, 'gatehouse sta')).toEqual(['status']);
  expect(await completed(cli, 'gatehouse channels ')).toEqual(expect.arrayContaining(['add', 'login', 'test']));
  expect(await completed(cli, 'gatehouse status --c')).toEqual(['--check', '--color', '--config']);
  expect(await completed(cli, 'gatehouse usage --by m')).toEqual(['model']);
  expect(await completed(cli, 'gatehouse --color ')).toEqual(['always', 'auto', 'never']);
  expect(await completed(cli, 'gatehouse channels test ')).toEqual(['cli', 'family-bot']);
  expect(await completed(cli, 'gatehouse explain GH120')).toEqual(['GH1201', 'GH1202']);
  expect(await completed(cli, 'gatehouse completion z')).toEqual(['zsh']);
  for (const line of ['', 'gatehouse', 'gatehouse nonsense x', 'gatehouse explain ZZ'])
    expect(await completed(cli, line)).toEqual(line === '' || line === 'gatehouse' ? expect.any(Array) : []);
  expect(await completed(cli, 'gatehouse ')).not.toContain('complete');
});

test('channels are completed also from a config with a mistake, and from none to nothing', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  expect(await completed(cli, 'gatehouse channels test ')).toEqual([]);
  await cli.write(
    '.gatehouse/config.json',
    '{"gatewy": 1, "gateway": {"channels": [null, {"type": "irc", "nam": 1}, {"name": "$A"}]}}',
  );
  expect(await completed(cli, 'gatehouse channels test ')).toEqual(['irc']);
  for (const text of ['{', '[]', 'null', '{"gateway": {"channels": {}}}']) {
    await cli.write('.gatehouse/config.json', text);
    expect(await completed(cli, 'gatehouse channels test ')).toEqual([]);
  }
});

test('hostile: ids that a shell could take for more than a word are left out', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.haveJournal();
  const ids = ['in-7', '$(touch x)', '`id`', 'a b', "it's", 'x;y', '\u001b[2J', 'telegram:1'];
  cli.letters = ids.map((id) => ({ id }) as DeadLetter);
  expect(await completed(cli, 'gatehouse dead show ')).toEqual(['in-7', 'telegram:1']);
});

test('what takes too long, or fails, completes to nothing', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.haveJournal();
  cli.openJournal = () => new Promise(() => undefined);
  const waiting = completed(cli, 'gatehouse dead show ');
  await sleep(50);
  await cli.clock.advance(1_000);
  expect(await waiting).toEqual([]);
  cli.openJournal = () => Promise.reject(new Error('damaged'));
  expect(await completed(cli, 'gatehouse dead show ')).toEqual([]);
});

/** A directory with `gatehouse` as a program, and a shell in tmux that has loaded the script. */
async function shellWith(context: TestContext, shell: Shell, start: readonly string[], program: string) {
  needs(context, 'tmux', '-V');
  needs(context, shell, '--version');
  const dir = await tempDir();
  await writeFile(join(dir.path, 'gatehouse'), program);
  await chmod(join(dir.path, 'gatehouse'), 0o755);
  await writeFile(join(dir.path, 'script'), SCRIPTS[shell]);
  const tmux = async (...args: string[]) =>
    (await run('tmux', ['-S', join(dir.path, 'socket'), '-f', '/dev/null', ...args])).stdout;
  const env = [`PATH=${dir.path}:${process.env['PATH']}`, `HOME=${dir.path}`, 'TERM=xterm', 'LANG=C.UTF-8'];
  await tmux('new-session', '-d', '-x', '100', '-y', '24', '-c', dir.path, 'env', '-i', ...env, ...start);
  onTestFinished(async () => {
    await tmux('kill-server').catch(() => undefined);
    await dir[Symbol.asyncDispose]();
  });
  const seen = async (pattern: RegExp): Promise<string> => {
    for (let tries = 0; tries < 200; tries += 1) {
      const text = await tmux('capture-pane', '-p');
      if (pattern.test(text)) return text;
      await sleep(50);
    }
    throw new Error(`no ${pattern} on the screen:\n${await tmux('capture-pane', '-p')}`);
  };
  return { dir: dir.path, seen, keys: async (...keys: string[]) => void (await tmux('send-keys', ...keys)) };
}

const REAL = `#!/bin/sh\nexec '${process.execPath}' '${join(packageRoot(), 'src/cli/main.ts')}' "$@"\n`;
const HOSTILE = "#!/bin/sh\nprintf '%s\\n' '$(touch owned)' '`touch owned`' 'a;touch owned'\n";
const STARTS = {
  bash: { argv: ['bash', '--norc', '--noprofile'], load: '. ./script; PS1="ready> "' },
  zsh: { argv: ['zsh', '-f'], load: 'autoload -U compinit; compinit -u -D; . ./script; PS1="ready> "' },
  fish: { argv: ['fish', '--no-config'], load: 'source ./script; function fish_prompt; echo "ready> "; end' },
} as const;

test.for(['bash', 'zsh', 'fish'] as const)('in a real %s Tab completes a command', async (shell, context) => {
  const { argv, load } = STARTS[shell];
  const at = await shellWith(context, shell, argv, REAL);
  await at.keys(load, 'Enter');
  await at.seen(/ready> *$/m);
  await at.keys('gatehouse explain GH130', 'Tab', 'Tab');
  await at.seen(/GH1301[\s\S]*GH1304/);
});

test.for(['bash', 'zsh', 'fish'] as const)('hostile: what is printed for %s is never run', async (shell, context) => {
  const { argv, load } = STARTS[shell];
  const at = await shellWith(context, shell, argv, HOSTILE);
  await at.keys(load, 'Enter');
  await at.seen(/ready> *$/m);
  await at.keys('gatehouse x ', 'Tab', 'Tab', 'Tab');
  await sleep(700);
  await expect(stat(join(at.dir, 'owned'))).rejects.toThrow('ENOENT');
});

test('pwsh is given a completer for the program', () => {
  expect(SCRIPTS.pwsh).toMatch(/^Register-ArgumentCompleter -Native -CommandName gatehouse/);
});
