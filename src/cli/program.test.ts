import { expect, test } from 'vitest';
import { GatehouseError } from '../core/errors.ts';
import { FakeCli } from '../testing/fake-cli.ts';
import { tempDir } from '../testing/fakes.ts';

test('no command shows the help on stdout, examples first', async () => {
  await using dir = await tempDir();
  const { code, stdout, stderr } = await new FakeCli(dir.path).run();
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout.startsWith('Examples:\n  gatehouse gateway')).toBe(true);
});

test.each([
  [['--help']],
  [['gateway', '--help']],
  [['dead', '-h']],
  [['dead', 'show', '--help']],
  [['help', 'status']],
  [['pair']],
  [['config']],
  [['models']],
  [['models', 'test', '--help']],
  [['--data-dir', '/tmp/x', 'questions']],
  [['--color', 'never', '-v', 'questions', 'help', 'answer']],
  [['--data-dir', '/tmp/x']],
])('%j shows help that begins with an example', async (argv) => {
  await using dir = await tempDir();
  const { code, stdout } = await new FakeCli(dir.path).run(...argv);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Examples:\n {2}gatehouse /);
});

test('help names a command by all of its words', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const ofCommand = await cli.run('questions', 'answer', '--help');
  expect(await cli.run('help', 'questions', 'answer')).toEqual(ofCommand);
  expect(await cli.run('--data-dir', 'questions', 'help', 'questions', 'answer')).toEqual(ofCommand);
  expect(await cli.run('help')).toEqual(await cli.run('--help'));
});

test('--version prints the bare version', async () => {
  await using dir = await tempDir();
  expect(await new FakeCli(dir.path).run('--version')).toEqual({ code: 0, stdout: '1.2.3\n', stderr: '' });
});

test.each([
  [['stauts'], "✗ GH1001 unknown command 'stauts'\n  → did you mean status?\n"],
  [['dead', 'lst'], "✗ GH1001 unknown command 'lst'\n  → did you mean list?\n"],
  [['status', '--jsn'], "✗ GH1001 unknown option '--jsn'\n  → did you mean --json?\n"],
  [['gateway', '--require-modle'], "✗ GH1001 unknown option '--require-modle'\n  → did you mean --require-model?\n"],
  [['frobnicate'], "✗ GH1001 unknown command 'frobnicate'\n  → run `gatehouse --help`\n"],
  [['dead', 'show'], "✗ GH1001 missing required argument 'id'\n  → run `gatehouse dead show --help`\n"],
  [['help', 'frobnicate'], "✗ GH1001 unknown command 'frobnicate'\n  → run `gatehouse --help`\n"],
  [['help', 'dead', 'lst'], "✗ GH1001 unknown command 'lst'\n  → run `gatehouse dead --help`\n"],
  [['dead', 'help', 'lst'], "✗ GH1001 unknown command 'lst'\n  → run `gatehouse dead --help`\n"],
  [['--data-dir', 'x', 'dead', 'show'], "✗ GH1001 missing required argument 'id'\n  → run `gatehouse dead show --help`\n"],
  [['status', 'extra'], '✗ GH1001 '],
  [['chat', '-m'], '✗ GH1001 '],
  [['status', '--color=blue'], '✗ GH1001 '],
])('the wrong call %j is a usage error with exit code 2 and says what was meant', async (argv, message) => {
  await using dir = await tempDir();
  const { code, stdout, stderr } = await new FakeCli(dir.path).run(...argv);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(message);
});

test('with --json every command that cannot use the config names its problems in the document', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const file = await cli.write('c.json', '{ "provider": ');
  const { code, stdout, stderr } = await cli.run('models', 'list', '--json', '--config', file);
  expect([code, stderr]).toEqual([78, '']);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: 'GH1101' }, file, problems: [{ line: 1 }] });
});

test('with --json a usage error is one document on stdout', async () => {
  await using dir = await tempDir();
  const { code, stdout, stderr } = await new FakeCli(dir.path).run('stauts', '--json');
  expect([code, stderr]).toEqual([2, '']);
  expect(JSON.parse(stdout)).toEqual({
    schemaVersion: 1,
    ok: false,
    error: { code: 'GH1001', message: "unknown command 'stauts'", hint: 'did you mean status?' },
  });
});

test.each([
  [new GatehouseError('GH1104', 'nothing found'), 78],
  [new GatehouseError('GH1103', 'TOKEN is not set'), 78],
  [new GatehouseError('GH1201', 'in use'), 1],
  [new Error('boom'), 1],
])('a failure %s of a command ends with its exit code and one line with code and hint', async (failure, exit) => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.failure = failure;
  const { code, stderr } = await cli.run('gateway');
  expect(code).toBe(exit);
  expect(stderr).toMatch(/^✗ GH\d{4} .+\n {2}→ .+\n$/);
});

test('A46 a message with escape sequences cannot drive the terminal', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.failure = new Error('bad \u001b[2J\u009b31m\u0007 name');
  const { stderr } = await cli.run('gateway');
  expect(stderr.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
});

test('the stack of an unexpected failure is shown with -v only', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.failure = new Error('boom');
  expect((await cli.run('gateway')).stderr).not.toContain('fake-cli.ts:');
  expect((await cli.run('gateway', '-v')).stderr).toContain('at ');
});

test('colour is used on a terminal only, and NO_COLOR, TERM=dumb and --color decide otherwise', async () => {
  await using dir = await tempDir();
  const colored = async (env: Record<string, string>, terminal: boolean, ...flags: string[]) => {
    const cli = new FakeCli(dir.path);
    cli.env = env;
    if (terminal) cli.answers = [];
    const { stdout } = await cli.run('explain', 'GH1101', ...flags);
    expect(stdout).toContain('GH1101');
    return stdout.includes('\u001b[');
  };
  expect(await colored({}, true)).toBe(true);
  expect(await colored({}, false)).toBe(false);
  expect(await colored({ NO_COLOR: '1' }, true)).toBe(false);
  expect(await colored({ NO_COLOR: '' }, true)).toBe(true);
  expect(await colored({ TERM: 'dumb' }, true)).toBe(false);
  expect(await colored({}, true, '--color=never')).toBe(false);
  expect(await colored({ NO_COLOR: '1' }, false, '--color', 'always')).toBe(true);
});

test('another directory means the same bot: the config of the last start is used, and another one is told', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const last = await cli.write('elsewhere/config.json', '{"gateway": {"system_prompt": "LAST"}}');
  await cli.write('data/config-path', `${last}\n`);
  expect((await cli.run('gateway')).stderr).toBe('');
  expect(cli.runs[0]?.config).toMatchObject({ file: last, config: { gateway: { system_prompt: 'LAST' } } });
  const here = await cli.write('.gatehouse/config.json', '{}');
  expect((await cli.run('gateway')).stderr).toBe(`! this data directory was last used with ${last}, and is now with ${here}\n`);
  expect(cli.runs[1]?.config.file).toBe(here);
});

test('a config of the last start that is gone is told, where no other is found', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.write('data/config-path', `${dir.path}/gone.json\n`);
  const told = /the config of the last start is not there any more, and the defaults apply: \S+gone\.json/;
  expect((await cli.run('gateway')).stderr).toMatch(told);
  expect((await cli.run('config', 'check')).stderr).toMatch(told);
  await cli.write('.gatehouse/config.json', '{}');
  expect((await cli.run('config', 'check')).stderr).not.toMatch(told);
});

test('gateway gets the loaded config, the data directory and the flags', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.write('c.json', '{"model": "m", "modle": "x"}');
  const { code, stdout, stderr } = await cli.run('gateway', '--config', 'c.json', '--data-dir', 'here', '--require-model', '-v');
  expect([code, stdout]).toEqual([0, '']);
  expect(stderr).toContain('c.json:1:16: modle: unknown key, ignored');
  expect(cli.runs).toMatchObject([
    { config: { config: { model: 'm' } }, dataDir: `${dir.path}/here`, requireModel: true, verbose: true },
  ]);
});

test.each([
  [{}, '{}', false],
  [{ GATEHOUSE_REQUIRE_MODEL: '1' }, '{}', true],
  [{}, '{"require_model": true}', true],
])('a real model is required by environment %j or config %s: %s', async (env, text, expected) => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.env = env;
  await cli.write('.gatehouse/config.json', text);
  await cli.run('gateway');
  await cli.run('chat', '-m', 'hi');
  expect(cli.runs).toMatchObject([{ requireModel: expected }, { requireModel: expected, message: 'hi' }]);
});

test('a broken config stops gateway and chat with exit code 78 before anything runs', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.write('.gatehouse/config.json', '{"gateway": {"max_sessions": "x"');
  for (const command of ['gateway', 'chat']) expect((await cli.run(command)).code).toBe(78);
  expect((await cli.run('gateway', '--config', 'absent.json')).code).toBe(78);
  expect(cli.runs).toEqual([]);
});

test.each([
  [['gateway', '--data-dir', ''], '✗ GH1001 --data-dir is empty'],
  [['status', '--data-dir='], '✗ GH1001 --data-dir is empty'],
  [['config', 'check', '--config', ''], '✗ GH1001 --config is empty'],
  [['chat', '-m', ''], '✗ GH1001 the message is empty'],
  [['chat', '-m', ' \n'], '✗ GH1001 the message is empty'],
])('%j is a wrong call, exit 2: an unset variable of a script must not choose for its writer', async (argv, line) => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const { code, stderr } = await cli.run(...argv);
  expect([code, stderr.split('\n')[0], cli.runs.length]).toEqual([2, line, 0]);
});

test('gateway names every problem of the config at once, with line and caret', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const file = await cli.write('c.json', '{"gateway":{"channels":[{"type":"telegrm"}],\n"http":{"port":99999}}}');
  const { code, stderr } = await cli.run('gateway', '--config', file);
  expect(code).toBe(78);
  expect(stderr).toContain(`${file}:1:`);
  expect(stderr).toContain(`${file}:2:16: gateway.http.port`);
  expect(stderr).toContain(`✗ GH1101 2 problems in ${file}`);
});
