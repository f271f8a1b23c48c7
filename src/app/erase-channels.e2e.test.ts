// A person is erased who wrote over the adapters of Telegram, Slack and mail: what the channels themselves
// keep.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '../simulator/free-port.ts';
import { PLATFORMS } from '../simulator/platforms/index.ts';
import type { Platform } from '../simulator/platforms/platform.ts';
import { filesHolding } from '../testing/bytes-on-disk.ts';
import { startChild } from '../testing/child-daemon.ts';
import { cliRun } from '../testing/cli-json.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { startModelServer, stream, textPieces, userText } from '../testing/model-server.ts';
import { needs } from '../testing/needs.ts';

const PATIENCE_MS = 60_000;

test('nothing of a person stays that came over Telegram, Slack and mail, and others in the group stay', async (context) => {
  needs(context, 'dovecot', '--version');
  await using owned = new AsyncDisposableStack();
  const dir = owned.use(await tempDir());
  const model = owned.use(await startModelServer({ script: (request) => stream(textPieces(`echo ${userText(request)}`)) }));
  const webhookPort = await freePort();
  const platforms: Platform[] = [];
  for (const type of ['telegram', 'slack', 'email']) {
    const platform = owned.use((await PLATFORMS[type]?.({ webhookPort })) ?? expect.fail(type));
    await platform.begin(join(dir.path, 'data'));
    platforms.push(platform);
  }
  const daemon = owned.use(
    await startChild({
      dir: dir.path,
      config: {
        ...{ provider: 'openai', model: 'test', base_url: `${model.url}/v1`, api_key_env: 'TEST_KEY' },
        security: { accept: ['open-without-budget'] },
        gateway: {
          channels: platforms.map(({ channel }) => ({ ...channel, allowed_groups: ['*'] })),
          ...{ http: { port: 0 }, webhooks: { port: webhookPort } },
        },
      },
      env: Object.assign({ TEST_KEY: 'sk-test' }, ...platforms.map(({ env }) => env)),
    }),
  );
  await until('healthy', async () => (await daemon.status()).channels.every(({ state }) => state === 'healthy'), PATIENCE_MS);
  const words: string[] = [];
  const canary = (platform: Platform, name: string): string => {
    words.push(`CANARY${name}${platform.type.toUpperCase()}`);
    return words.at(-1) ?? '';
  };
  let asked = 0;
  for (const platform of platforms) {
    await platform.write(0, canary(platform, 'TEXT'));
    asked += 1;
    if (platform.sendFile) {
      const bytes = Buffer.from(canary(platform, 'BYTES'));
      await platform.sendFile(
        0,
        { name: `${canary(platform, 'NAME')}.txt`, type: 'text/plain', bytes },
        canary(platform, 'CAPTION'),
      );
      asked += 1;
    }
    if (platform.writeInGroup) {
      await platform.writeInGroup(0, 9, canary(platform, 'GROUP'));
      await platform.writeInGroup(1, 9, 'words of another');
      asked += 2;
    }
  }
  await until('all is answered', async () => (await daemon.status()).journal.inbox.DONE >= asked, PATIENCE_MS);
  await until(
    'all is sent',
    async () => {
      const { PENDING, SENDING } = (await daemon.status()).journal.outbox;
      return PENDING + SENDING === 0;
    },
    PATIENCE_MS,
  );
  const data = join(dir.path, 'data');
  const missing = [];
  for (const word of words) if ((await filesHolding(data, [word])).length === 0) missing.push(word);
  expect(missing).toEqual([]);
  for (const other of ['slack:U0P0', 'email:alice@example.test'])
    expect(await cliRun(dir.path, ['people', 'link', 'telegram:1001', other])).toMatchObject({ code: 0 });
  const out = join(dir.path, 'export');
  expect(await cliRun(dir.path, ['people', 'export', 'slack:U0P0', '--out', out])).toMatchObject({ code: 0 });
  const unexported = [];
  for (const word of words) if ((await filesHolding(out, [word])).length === 0) unexported.push(word);
  expect(unexported).toEqual([]);
  // The command goes on where the daemon was killed.
  const erasing = cliRun(dir.path, ['people', 'erase', 'telegram:1001', '--yes']);
  await until('it is begun', async () => (await filesHolding(data, ['erasure erased:'])).length > 0, PATIENCE_MS);
  await daemon.stop('SIGKILL');
  const ended = await erasing;
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('erased') });
  const ids = ['telegram:1001', '/1001', 'U0P0', 'D0P0', 'alice@example.test', '<platform-'];
  expect(await filesHolding(data, [...words, ...ids]), ended.stderr).toEqual([]);
  if (platforms.some(({ writeInGroup }) => writeInGroup)) expect(await filesHolding(data, ['words of another'])).not.toEqual([]);
}, 120_000);
