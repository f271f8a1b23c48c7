// A turn stopped or given up on every platform, in one daemon that is killed: what the next turn knows of it.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '../simulator/free-port.ts';
import { PLATFORMS } from '../simulator/platforms/index.ts';
import type { Platform } from '../simulator/platforms/platform.ts';
import { countFile, startChild } from '../testing/child-daemon.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { isFullLoad } from '../testing/full-load.ts';
import { callPieces, messagesOf, startModelServer, stream, textPieces, userText } from '../testing/model-server.ts';

const PATIENCE_MS = 60_000;
/** `.ci/run` plays all. */
const TYPES = isFullLoad() ? Object.keys(PLATFORMS) : ['telegram', 'email', 'cli', 'double'];
/** Never reached: the program with the tool `count` runs, and a signal ends it. */
const NEVER = 'recover:after:99';

test.each([
  ['/stop and a kill', 3],
  ['a kill that was its last attempt', 1],
])(
  'after %s the next turn knows on every channel what was said and which tools ran',
  async (_title, attempts) => {
    await using owned = new AsyncDisposableStack();
    const dir = owned.use(await tempDir());
    await writeFile(countFile(dir.path), '');
    const model = owned.use(
      await startModelServer({
        script: (request) => {
          if (userText(request).includes('did you count')) return stream(textPieces('You know.'));
          const hasResult = messagesOf(request).some(({ role }) => role === 'tool');
          return hasResult ? stream([], { end: 'hang' }) : stream(callPieces({ name: 'count', arguments: { n: 5 } }));
        },
      }),
    );
    const webhookPort = await freePort();
    const platforms: Platform[] = [];
    for (const type of TYPES) {
      const platform = owned.use((await PLATFORMS[type]?.({ webhookPort })) ?? expect.fail(type));
      await platform.begin(join(dir.path, 'data'));
      platforms.push(platform);
    }
    const start = async () => {
      const daemon = await startChild({
        dir: dir.path,
        killAt: NEVER,
        stdin: 'pipe',
        config: {
          ...{ provider: 'openai', model: 'test', base_url: `${model.url}/v1`, api_key_env: 'TEST_KEY' },
          gateway: {
            ...{ channels: platforms.map(({ channel }) => channel), max_attempts: attempts },
            ...{ http: { port: 0 }, webhooks: { port: webhookPort } },
          },
        },
        env: Object.assign({ TEST_KEY: 'sk-test' }, ...platforms.map(({ env }) => env)),
      });
      for (const platform of platforms) platform.attach?.(daemon.process);
      const isHealthy = async () => (await daemon.status()).channels.every(({ state }) => state === 'healthy');
      await until('every channel is healthy', isHealthy, PATIENCE_MS);
      return daemon;
    };
    const say = async (text: string) => void (await Promise.all(platforms.map((platform) => platform.write(0, text))));
    const eachSees = async (words: string) => {
      const missing = async () => {
        const seen = await Promise.all(platforms.map((platform) => platform.seen()));
        return platforms.filter((_, n) => !seen[n]?.some(({ text }) => text.includes(words))).map(({ type }) => type);
      };
      await until(`each sees ${words}`, async () => (await missing()).length === 0, PATIENCE_MS).catch(async () =>
        expect({ words, missing: await missing() }).toEqual({ words, missing: [] }),
      );
    };

    const first = owned.use(await start());
    await say('please count');
    await until('each model call has the result', () => model.requests.length === 2 * platforms.length, PATIENCE_MS);
    if (attempts > 1) {
      // A person at the terminal types while nothing is printed.
      const others = platforms.filter(({ type }) => type !== 'cli');
      expect(others).toHaveLength(platforms.length - 1);
      first.process.stdin?.write('/stop\n');
      for (const platform of others) await platform.write(0, '/stop');
      await eachSees('Already run: count');
    }
    await first.stop('SIGKILL');

    const second = owned.use(await start());
    await eachSees('Already run: count');
    await say('did you count? if not, do it');
    await eachSees('You know.');
    expect(await second.stop()).toMatchObject({ code: 0 });

    const told = model.requests.slice(2 * platforms.length).map((request) => messagesOf(request).slice(1));
    expect(told).toHaveLength(platforms.length);
    for (const messages of told)
      expect(messages.map(({ content }) => content)).toEqual([
        expect.stringContaining('please count'),
        '',
        expect.stringContaining('counted 5'),
        '[interrupted]',
        expect.stringContaining('did you count?'),
      ]);
    expect(await readFile(countFile(dir.path), 'utf8')).toBe('5\n'.repeat(platforms.length));
  },
  PATIENCE_MS * 3,
);
