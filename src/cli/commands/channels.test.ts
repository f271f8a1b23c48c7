import { expect, test } from 'vitest';
import type { ChannelStatus } from '../../core/turn.ts';
import { cliJson } from '../../testing/cli-json.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';
import { telegramScene } from '../../testing/telegram/scene.ts';

const channel = (override: Partial<ChannelStatus> = {}): ChannelStatus => ({
  ...{ name: 'telegram', type: 'telegram', account: '99', state: 'healthy', since: 0, inboundClass: 'B', sendClass: 'blind' },
  ...override,
});

const MEND =
  'set its token or password anew with `gatehouse auth set-key mail`, restart the daemon if it runs, then run `gatehouse channels test mail`';

test('each channel is tried, and one that does not work is named with its code', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.tried = [channel(), channel({ name: 'mail', state: 'down', detail: 'GH1501: login refused\u001b[2J', sendClass: 'find' })];
  const { code, stdout, stderr } = await cli.run('channels', 'test');
  expect(stdout.trimEnd().split('\n')).toEqual([
    '✓ telegram  healthy  99  in B, out blind',
    `✗ mail      down     99  in B, out find   GH1501: login refused\\u001b[2J → ${MEND}`,
  ]);
  expect([code, stderr]).toEqual([1, expect.stringContaining('GH1501 1 of 2 channels does not work')]);
  expect(stderr).toContain(MEND);
  expect((await cli.run('channels', 'test', 'telegram')).code).toBe(0);
  const json = JSON.parse((await cli.run('channels', 'test', '--json')).stdout) as unknown;
  expect(json).toMatchObject({ ok: false, error: { code: 'GH1501' }, channels: [{ state: 'healthy' }, { state: 'down' }] });
});

test('a refused login names one way out: its own where it has one, and none where the login is not what is wrong', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const linked = 'GH1501: no account is linked; run `gatehouse channels login family`, then restart the daemon';
  cli.tried = [
    channel({ name: 'family', state: 'down', detail: linked }),
    channel({ name: 'bot', state: 'down', detail: 'GH1506: there is no channel type bot' }),
  ];
  const { stdout, stderr } = await cli.run('channels', 'test');
  expect(stdout).toContain(linked);
  expect(stdout + stderr).not.toContain('anew');
});

test('without a daemon there is no status: exit code 3', async () => {
  await using dir = await tempDir();
  const { code, stderr } = await new FakeCli(dir.path).run('channels', 'status');
  expect([code, stderr]).toEqual([3, expect.stringContaining('gatehouse channels test')]);
});

test('with the terminal alone nothing is tried, and that is said', async () => {
  await using dir = await tempDir();
  const { code, stdout, stderr } = await new FakeCli(dir.path).run('channels', 'test');
  expect([code, stdout, stderr]).toEqual([0, expect.stringMatching(/^no channel besides the terminal .*gatehouse init/), '']);
});

test('a config that is missing or broken is the answer, not that no daemon runs', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const missing = await cli.run('channels', 'status', '--config', 'missing.json');
  expect([missing.code, missing.stderr]).toEqual([78, expect.stringMatching(/GH1102 there is no file .*missing\.json\n {2}→ /)]);
  await cli.write('.gatehouse/config.json', '{"gateway": {"channels": [{"type": "telegarm"}]}}');
  const broken = await cli.run('channels', 'status');
  expect([broken.code, broken.stderr]).toEqual([78, expect.stringContaining('did you mean "telegram"')]);
});

test('the real program tries a bot, takes none of its messages, and asks a daemon that runs', async () => {
  await using at = await telegramScene();
  const env = { TELEGRAM_BOT_TOKEN: at.platform.token, TEST_KEY: 'sk' };
  {
    await using first = await at.start();
    await first.ready();
    const guarantee = { inboundClass: 'B', sendClass: 'blind' };
    const quiet = { name: 'telegram', state: 'healthy', lastMessageAt: null, lastSentAt: null, ...guarantee };
    expect(await cliJson(at.dir, ['channels', 'status'], env)).toMatchObject({ channels: [quiet] });
    expect(await cliJson(at.dir, ['channels', 'test'], env)).toMatchObject({
      channels: [{ name: 'telegram', state: 'healthy' }],
    });
    await first.stop();
  }
  at.platform.inject({ text: 'kept for the daemon' });
  expect(await cliJson(at.dir, ['channels', 'test'], env)).toMatchObject({ channels: [{ account: String(at.platform.botId) }] });
  await using second = await at.start();
  await second.settled(1);
  expect(at.texts()).toEqual(['echo: kept for the daemon']);
  const since = expect.stringMatching(/^\d{4}-.*Z$/);
  const talked = { name: 'telegram', state: 'healthy', since, lastMessageAt: since, lastSentAt: since };
  expect(await cliJson(at.dir, ['channels', 'status'], env)).toMatchObject({ channels: [talked] });
  expect(await cliJson(at.dir, ['status'], env)).toMatchObject({ status: { channels: [talked] } });
});
