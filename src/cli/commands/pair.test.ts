import { expect, test } from 'vitest';
import type { PairingRequest } from '../../core/pairing.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';

function request(override: Partial<PairingRequest> = {}): PairingRequest {
  const createdAt = Date.UTC(2025, 11, 31, 23, 50);
  const base = { channel: 'telegram', account: 'bot', senderId: '42', senderName: 'Ann' };
  return { ...base, state: 'pending', createdAt, expiresAt: createdAt + 3_600_000, ...override };
}

test('list shows who waits and how long their code is good', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.haveJournal();
  cli.requests = [request(), request({ senderId: '43', senderName: 'Eve\u001b[2J', state: 'denied' })];
  const { stdout, stderr } = await cli.run('pair', 'list');
  expect(stdout.split('\n')).toEqual([
    'STATE    CHANNEL   SENDER  NAME          ASKED       EXPIRES',
    'pending  telegram  42      Ann           10 min ago  in 50 min',
    'denied   telegram  43      Eve\\u001b[2J  10 min ago',
    '',
  ]);
  expect(stderr).toContain('gatehouse pair approve CODE');
  expect(JSON.parse((await cli.run('pair', 'list', '--json')).stdout)).toMatchObject({
    requests: [{ state: 'pending', senderId: '42', expiresAt: '2026-01-01T00:50:00.000Z' }, { state: 'denied' }],
  });
});

test('expect prints a word and what to do with it; many requests are a reason to make one', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.haveJournal();
  const { stdout, stderr } = await cli.run('pair', 'expect');
  expect(stdout).toBe('PAIR-7GQ2MX4K\n');
  expect(stderr).toContain('gatehouse pair approve CODE');
  expect(JSON.parse((await cli.run('pair', 'expect', '--json')).stdout)).toMatchObject({
    word: 'PAIR-7GQ2MX4K',
    expiresAt: '2026-01-08T00:00:00.000Z',
  });
  cli.requests = [];
  const told = await cli.run('pair', 'list');
  expect(told.stderr).toContain('ends in 7 d');
  expect(JSON.parse((await cli.run('pair', 'list', '--json')).stdout)).toMatchObject({
    expectsUntil: '2026-01-08T00:00:00.000Z',
  });
  cli.requests = Array.from({ length: 10 }, (_, n) => request({ senderId: String(n) }));
  expect((await cli.run('pair', 'list')).stderr).toContain('→ gatehouse pair expect');
  cli.requests.pop();
  expect((await cli.run('pair', 'list')).stderr).not.toContain('→ gatehouse pair expect');
});

test('approve and deny name the person', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.haveJournal();
  cli.codes.set('7GQ2MX4K', request({ state: 'approved' }));
  expect(await cli.run('pair', 'approve', '7GQ2MX4K')).toMatchObject({
    code: 0,
    stdout: '✓ Ann (42) on telegram may talk to the agent now\n',
  });
  expect((await cli.run('pair', 'deny', '7GQ2MX4K')).stdout).toBe('✓ Ann (42) on telegram is turned away\n');
  expect(JSON.parse((await cli.run('pair', 'approve', '7GQ2MX4K', '--json')).stdout)).toMatchObject({
    ok: true,
    request: { senderId: '42', state: 'approved' },
  });
});

test('a wrong code fails with GH1003', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.haveJournal();
  const { code, stdout } = await cli.run('pair', 'approve', 'WRONG', '--json');
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: 'GH1003' } });
});
