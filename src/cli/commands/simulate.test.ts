import { expect, test } from 'vitest';
import type { SimulateOptions, SimulatorInfo } from '../../simulator/options.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';

const ABOUT: SimulatorInfo = {
  url: 'http://127.0.0.1:7790',
  config: { gateway: { channels: [{ type: 'telegram' }] } },
  configFile: '/tmp/it is here/config.json',
  dataDir: '/tmp/data',
  env: { TELEGRAM_BOT_TOKEN: '1:a b' },
  faults: ['limit', 'slow'],
  needsFirstStart: true,
};

async function run(...argv: string[]) {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const asked: SimulateOptions[] = [];
  cli.simulate = async (options, onReady) => {
    asked.push(options);
    onReady(ABOUT);
    return 0;
  };
  return { asked, ...(await cli.run('simulate', ...argv)) };
}

test('it says how to point a daemon at it, quoted for a shell, and how to write without a browser', async () => {
  const { code, asked, stdout, stderr } = await run('telegram', '--port', '7790', '--fault', 'limit:3', '--fault', 'slow', '-v');
  expect(code).toBe(0);
  expect(asked).toEqual([
    {
      channel: 'telegram',
      port: 7790,
      faults: [
        { kind: 'limit', times: 3 },
        { kind: 'slow', times: 1 },
      ],
      strangers: false,
      run: false,
      verbose: true,
    },
  ]);
  expect(stdout).toContain("  export TELEGRAM_BOT_TOKEN='1:a b'\n");
  expect(stdout).toContain("  gatehouse gateway --config '/tmp/it is here/config.json' --data-dir /tmp/data\n");
  expect(stdout).toContain('"type": "telegram"');
  expect(stdout).toContain('before you write');
  expect(stdout).toContain(
    `curl -s http://127.0.0.1:7790/people/0/messages -H 'content-type: application/json' -d '{"text":"hi"}'`,
  );
  expect(stderr).toContain('Ctrl-C');
});

test('with --run nothing is left to do but to write, and it says where to look at the daemon', async () => {
  const { asked, stdout } = await run('telegram', '--run');
  expect(stdout).toContain('  gatehouse status --data-dir /tmp/data\n');
  expect(asked).toMatchObject([{ run: true, port: 0, faults: [] }]);
  expect(stdout).not.toContain('export');
});

test('with --json stdout is one document', async () => {
  const { stdout } = await run('telegram', '--json');
  expect(JSON.parse(stdout)).toMatchObject({
    ok: true,
    channel: 'telegram',
    url: ABOUT.url,
    env: ABOUT.env,
    config: ABOUT.config,
  });
});

test.each([
  [['--port', '65536'], '"65536" is not a port'],
  [['--port', 'x'], '"x" is not a port'],
  [['--fault', 'limit:'], '"limit:" is not a fault'],
  [['--fault', 'limit:3:4'], '"limit:3:4" is not a fault'],
])('%j is a wrong call', async (flags, message) => {
  const { code, asked, stderr } = await run('telegram', ...flags);
  expect([code, asked]).toEqual([2, []]);
  expect(stderr).toContain(message);
});
