/** The units of the system beside the one of a user that `service install` writes. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../lib/package-info.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';

const SAME = [
  ...['Type', 'NotifyAccess', 'WatchdogSec', 'TimeoutStartSec', 'TimeoutStopSec', 'KillMode'],
  ...['Restart', 'RestartSec', 'RestartPreventExitStatus'],
];

const valuesOf = (unit: string) => SAME.map((name) => new RegExp(`^${name}=.*$`, 'm').exec(unit)?.[0] ?? `${name} is not set`);

test.each(['gatehouse.service', 'gatehouse@.service'])('%s starts and ends as the unit of a user does', async (name) => {
  await using dir = await tempDir();
  const { stdout } = await new FakeCli(dir.path).run('service', 'install', '--dry-run');
  expect(stdout).toContain('TimeoutStartSec=10min');
  expect(valuesOf(await readFile(join(packageRoot(), 'systemd', name), 'utf8'))).toEqual(valuesOf(stdout));
});

test('programs run in the unit of a user: it has the memory of both units of the system, and one that takes more ends alone', async () => {
  await using dir = await tempDir();
  const { stdout } = await new FakeCli(dir.path).run('service', 'install', '--dry-run');
  const mib = (unit: string): number => {
    const [, figure, scale] = /^MemoryMax=(\d+)([MG])$/m.exec(unit) ?? [];
    return Number(figure) * (scale === 'G' ? 1_024 : 1);
  };
  const names = ['gatehouse.service', 'gatehouse-tools.service'];
  const [daemon = '', tools = ''] = await Promise.all(
    names.map((name) => readFile(join(packageRoot(), 'systemd', name), 'utf8')),
  );
  expect(mib(stdout)).toBe(mib(daemon) + mib(tools));
  expect(stdout).toMatch(/^OOMPolicy=continue$/m);
  // It would slow the daemon down with the program.
  expect(stdout).not.toMatch(/^MemoryHigh=/m);
});

test.each(['gatehouse.service', 'gatehouse@.service', 'gatehouse-tools.service'])(
  '%s goes on where the kernel ends a program that took too much memory',
  async (name) => {
    expect(await readFile(join(packageRoot(), 'systemd', name), 'utf8')).toMatch(/^OOMPolicy=continue$/m);
  },
);
