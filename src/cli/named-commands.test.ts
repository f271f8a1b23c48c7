import { expect, test } from 'vitest';
import { FakeCli } from '../testing/fake-cli.ts';
import { tempDir } from '../testing/fakes.ts';
import { nameCommands } from './named-commands.ts';

const deps = { commandHere: 'gatehouse', cwd: '/home/ada', home: '/home/ada', env: {} };
const names = ['cron', 'status', 'gateway'];

test('a command in a text carries the flags of the line, as absolute paths', () => {
  const name = nameCommands(names, { config: 'a b.json', dataDir: '~/bot' }, deps);
  const named = name('see `gatehouse cron list --all`, or: gatehouse status');
  const call = "gatehouse --config '/home/ada/a b.json' --data-dir /home/ada/bot";
  expect(named).toBe(`see \`${call} cron list --all\`, or: ${call} status`);
  expect(name(named)).toBe(named);
});

test('a flag that the text gives itself is not put in front of it', () => {
  const name = nameCommands(names, { config: '/a.json', dataDir: '/d' }, deps);
  expect(name('gatehouse status --config /b.json, then `gatehouse status`')).toBe(
    'gatehouse --data-dir /d status --config /b.json, then `gatehouse --config /a.json --data-dir /d status`',
  );
});

test('prose, paths and units are no commands', () => {
  const name = nameCommands(names, { dataDir: '/d' }, deps);
  for (const text of [
    'another gatehouse uses this data directory',
    'stop gatehouse: kill 7',
    'journalctl -u gatehouse',
    '/opt/gatehouse status',
    'gatehouse statuses',
  ])
    expect(name(text)).toBe(text);
});

test('without flags, and for a config that came through a pipe, the command stays as it is', () => {
  const text = 'see `gatehouse status`';
  expect(nameCommands(names, {}, deps)(text)).toBe(text);
  expect(nameCommands(names, { config: '/dev/fd/63', dataDir: '' }, deps)(text)).toBe(text);
});

test('in a checkout a command is named in the form that works there', () => {
  const name = nameCommands(names, { dataDir: '/d' }, { ...deps, commandHere: 'npm run -s gatehouse --' });
  expect(name('see `gatehouse status`, `gatehouse cron add --help` or `gatehouse --help`')).toBe(
    'see `npm run -s gatehouse -- --data-dir /d status`, `npm run -s gatehouse -- cron add --help` or `npm run -s gatehouse -- --help`',
  );
});

test('hints of failures, of talk, of documents and of the daemon carry the flags; help needs none, and the environment gives none', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const [data, config] = [`${dir.path}/other`, await cli.write('c.json', '{}')];
  const flags = ['--data-dir', data, '--config', config];
  const call = `gatehouse --config ${config} --data-dir ${data}`;
  expect((await cli.run('sessions', 'show', 'nosuch')).stderr).toContain('`gatehouse sessions list`');
  expect((await cli.run('sessions', 'show', 'nosuch', ...flags)).stderr).toContain(`\`${call} sessions list\``);
  expect((await cli.run('cron', 'add', ...flags)).stderr).toContain('`gatehouse cron add --help`');
  expect((await cli.run('auth', 'status', ...flags)).stderr).toContain(`→ ${call} auth set-key PROVIDER`);
  const doctor = JSON.parse((await cli.run('doctor', '--offline', '--json', ...flags)).stdout) as { checks: { fix: string }[] };
  expect(doctor.checks.map(({ fix }) => fix).filter((fix) => /gatehouse [a-z]/.test(fix ?? ''))).toEqual([]);
  await cli.run('gateway', ...flags);
  expect(cli.runs[0]?.nameCommands?.('→ gatehouse setup')).toBe(`→ ${call} setup`);
});
