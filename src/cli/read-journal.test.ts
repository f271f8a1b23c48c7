// A look at the journal must not change it under a daemon of an earlier version.
import { mkdir, readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createPrivateFile, Database } from '../journal/database.ts';
import { openJournal } from '../journal/open.ts';
import { MIGRATIONS, migrate, schemaVersion } from '../journal/schema.ts';
import { FakeCli } from '../testing/fake-cli.ts';
import { tempDir } from '../testing/fakes.ts';

const OLDER = MIGRATIONS.length - 1;

/** A command line on a journal of the version before, with a daemon's answer to `/status`. */
async function scene() {
  const dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await mkdir(cli.dataDir, { mode: 0o700 });
  const path = join(cli.dataDir, 'journal.db');
  await createPrivateFile(path);
  {
    using db = new Database(path, { busyMs: 0 });
    migrate(db, MIGRATIONS.slice(0, OLDER));
  }
  cli.openJournal = openJournal;
  const parts = { model: {}, journal: {}, lanes: {}, usageToday: {}, channels: [], lastErrors: [], degraded: [] };
  const status = { pid: 4711, version: '1.2.2', startedAt: 1, ...parts };
  const server = createServer((_request, response) => response.end(JSON.stringify(status)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const version = (): number => {
    using db = new Database(path, { readOnly: true, busyMs: 0 });
    return schemaVersion(db);
  };
  return {
    cli,
    version,
    startDaemon: () => cli.write('data/daemon.json', JSON.stringify({ pid: 4711, port, host: '127.0.0.1', startedAt: 1 })),
    [Symbol.asyncDispose]: async () => {
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await dir[Symbol.asyncDispose]();
    },
  };
}

test.each(['usage', 'dead list', 'pair list'])(
  'F47 `%s` leaves the journal of a running earlier version as it is',
  async (command) => {
    await using at = await scene();
    await at.startDaemon();
    const { code, stderr } = await at.cli.run(...command.split(' '));
    expect(code).toBe(1);
    expect(stderr).toContain('✗ GH1201 gatehouse 1.2.2 runs on this journal, which this version would bring from version');
    expect(stderr).toContain('→ stop it and start this version, or ask with the one that runs');
    expect(at.version()).toBe(OLDER);
    expect((await readdir(at.cli.dataDir)).filter((name) => name.includes('.bak'))).toEqual([]);
  },
);

test('F47 control: where no daemon runs the journal is brought up to date, and the copy is named', async () => {
  await using at = await scene();
  const { code, stderr } = await at.cli.run('usage');
  expect([code, at.version()]).toEqual([0, MIGRATIONS.length]);
  expect(stderr).toMatch(/^bringing the journal from version \d+ to \d+; as it was it stays in .*\.bak$/m);
});

test('an upgrade that takes its time shows each step, counted', async () => {
  await using at = await scene();
  at.cli.openJournal = async (options) => {
    options.onProgress?.({ step: 'copied', n: 1, of: 4, tookMs: 12_345 });
    return await openJournal(options);
  };
  const { stderr } = await at.cli.run('usage');
  expect(stderr).toContain('  1 of 4: copied (12 s)\n');
});
