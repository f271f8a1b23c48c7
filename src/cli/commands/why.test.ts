import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openJournal } from '../../journal/open.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { outbound, tempDir } from '../../testing/fakes.ts';
import { admit, done, LANE, message, part } from '../../testing/journal-rows.ts';

/** A command line on a real journal, which `fill` has written to. */
async function onJournal(
  dir: string,
  fill: (journal: Awaited<ReturnType<typeof openJournal>>['journal'], at: number) => Promise<void>,
) {
  const cli = new FakeCli(dir);
  await cli.haveJournal();
  const data = join(dir, 'real');
  const { clock } = cli;
  {
    await using opened = await openJournal({ dir: data, clock });
    await fill(opened.journal, clock.now());
  }
  cli.openJournal = () => openJournal({ dir: data, clock });
  return cli;
}

/** Answers as one whose channels are not told. */
async function runningDaemon(cli: FakeCli): Promise<AsyncDisposable> {
  const parts = { model: {}, journal: {}, lanes: {}, usageToday: {}, channels: [], lastErrors: [], degraded: [] };
  const status = JSON.stringify({ version: '1.2.3', pid: 4711, startedAt: 0, ...parts });
  const server = createServer((_request, response) => response.end(status));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await cli.write('data/daemon.json', JSON.stringify({ pid: 4711, port, host: '127.0.0.1' }));
  return { [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())) };
}

test('a message that did not speak to the assistant was dropped, and the key that decided is named', async () => {
  await using dir = await tempDir();
  const cli = await onJournal(dir.path, async (journal) => {
    await journal.accept([{ kind: 'refuse', message: message(1), reason: 'not-mentioned' }]);
  });
  const { code, stdout, stderr } = await cli.run('why', 'last');
  expect([code, stderr]).toEqual([0, '→ the config decides it: gateway.channels[].group_mode\n']);
  expect(stdout).toContain('✗ access    it did not speak to the assistant');
  const json = JSON.parse((await cli.run('why', message(1).id, '--json')).stdout);
  expect(json).toMatchObject({ configKey: 'gateway.channels[].group_mode', verdict: expect.stringContaining('not let in') });
});

test('a message that waits says how many are before it; one that is answered says what its answer waits for', async () => {
  await using dir = await tempDir();
  const cli = await onJournal(dir.path, async (journal, at) => {
    await journal.accept([admit(message(1)), admit(message(2))]);
    const [first] = await journal.waiting(LANE, 1);
    const row = first && (await journal.claim(first.seq));
    if (!row) throw new Error('nothing to claim');
    const about = { at, messageId: row.key, session: row.session, channel: 'test' };
    journal.record.note({ ...about, type: 'started', attempt: 1, waitedMs: 30 });
    journal.record.note({ ...about, type: 'model.done', model: 'p/m', tokensIn: 1, tokensOut: 1, costUsd: null, ms: 120 });
    const key = `${row.key}#0`;
    await journal.finish(done(row, [part(key, { part: outbound({ key, messageId: row.key }) })]));
    const [waiting] = await journal.pending(part(key).lane, 1);
    await journal.settle(waiting?.seq ?? 0, { kind: 'retry', notBefore: at + 9_000, reason: 'flood control' });
  });
  const answered = await cli.run('why', message(1).id);
  expect(answered.stdout).toContain('the answer is on its way: 0 of 1 parts sent; the daemon does not run.');
  expect(answered.stdout).toContain('1 of 1 calls answered, by p/m');
  const waiting = await cli.run('why', message(2).id);
  expect(waiting.stdout).toContain('It waits for the daemon, which does not run.');
  const traced = await cli.run('trace', 'in-1');
  expect(traced.stdout).toMatch(/model\.done p\/m +█+ +120 ms/);
  const logged = await cli.run('logs', '--level', 'warn', '--json');
  expect(
    logged.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).event.type),
  ).toEqual(['part.retry']);
});

test('trace says how long a model call is under way, and nothing of one that a daemon left behind', async () => {
  await using dir = await tempDir();
  const cli = await onJournal(dir.path, async (journal, at) => {
    await journal.accept([admit(message(1))]);
    const [first] = await journal.waiting(LANE, 1);
    const row = first && (await journal.claim(first.seq));
    if (!row) throw new Error('nothing to claim');
    const about = { at, messageId: row.key, session: row.session, channel: 'test' };
    journal.record.note({ ...about, type: 'started', attempt: 1, waitedMs: 30 });
    journal.record.note({ ...about, type: 'model.done', model: 'p/m', tokensIn: 1, tokensOut: 1, costUsd: null, ms: 4 });
    journal.record.note({ ...about, type: 'model.started', model: 'p/m', iteration: 2 });
  });
  await cli.clock.advance(3_200);
  const last = async () => (await cli.run('trace', 'last')).stdout.trimEnd().split('\n').at(-1);
  expect(await last()).toContain('model.started p/m');
  await using _daemon = await runningDaemon(cli);
  expect(await last()).toBe('model call under way for 3 s');
});

test('a person is named as `people list` does, and what was given up has its repair and its way back', async () => {
  await using dir = await tempDir();
  const cli = await onJournal(dir.path, async (journal) => {
    await journal.accept([admit(message(1))]);
    const [first] = await journal.waiting(LANE, 1);
    const row = first && (await journal.claim(first.seq));
    if (!row) throw new Error('nothing to claim');
    await journal.finish({ ...done(row, []), state: 'DEAD', outcome: 'failed:GH2101' });
  });
  const { code, stdout, stderr } = await cli.run('why', `${message(1).channel}:${message(1).chatId}`);
  expect([code, stdout]).toEqual([0, expect.stringContaining('It was given up')]);
  expect(stderr).toMatch(/→ set the right one with `gatehouse auth set-key PROVIDER`[\s\S]*→ gatehouse dead replay in-1, once/);
});

test('what nobody knows of is a failure with a way out', async () => {
  await using dir = await tempDir();
  const cli = await onJournal(dir.path, async () => undefined);
  for (const command of ['why', 'trace']) {
    const { code, stderr } = await cli.run(command, 'telegram:7');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/GH1003.*\n.*name a key as `gatehouse logs` shows it/)]);
    const last = await cli.run(command, 'last');
    expect([last.code, last.stderr]).toEqual([
      1,
      expect.stringMatching(/GH1003 no message is recorded in .*\n.*write to the agent/),
    ]);
  }
});
