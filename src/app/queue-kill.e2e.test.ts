// Queue modes over a SIGKILL of the real daemon, on the wires of Telegram and Slack.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { QUEUE_MODES, type QueueMode } from '../core/queueing.ts';
import { freePort } from '../simulator/free-port.ts';
import { PLATFORMS } from '../simulator/platforms/index.ts';
import type { Platform } from '../simulator/platforms/platform.ts';
import { type ChildDaemon, startChild } from '../testing/child-daemon.ts';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { messagesOf, type ReceivedRequest, startModelServer, stream, textPieces } from '../testing/model-server.ts';
import { BUSY, expected, numbers, ordered } from '../testing/queue-expected.ts';

const CHANNELS = ['telegram', 'slack'] as const;
const COUNTS = [2, 10] as const;

/** A chat of its own, named in each of its messages. */
interface Row {
  readonly channel: (typeof CHANNELS)[number];
  readonly mode: QueueMode;
  readonly count: number;
  readonly person: number;
}

const ROWS: readonly Row[] = CHANNELS.flatMap((channel) =>
  QUEUE_MODES.flatMap((mode, m) => COUNTS.map((count, c) => ({ channel, mode, count, person: m * COUNTS.length + c }))),
);
const nameOf = ({ channel, mode, count }: Row): string => `${channel}, ${mode}, ${count}`;
const tagOf = ({ channel, person }: Row): string => `${channel[0]}${person}x`;

/** The words since the last answer, in which the numbers of messages are. */
function wordsOf(request: ReceivedRequest): string {
  const messages = messagesOf(request);
  const since = messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);
  const said = since.filter(({ role, content }) => role === 'user' && !content.startsWith('[System note]'));
  return said.map(({ content }) => content).join('\n');
}

/** From the file, as `why` tells it. */
function outcomesOf(dataDir: string, row: Row): readonly string[] {
  using db = new DatabaseSync(join(dataDir, 'journal.db'), { readOnly: true });
  const sql = "SELECT state, outcome, input ->> '$.text' AS text FROM run WHERE source = 'chat' AND text LIKE ? ORDER BY seq";
  return db
    .prepare(sql)
    .all(`%${tagOf(row)} m%`)
    .map(({ state, outcome, text }) => {
      return `${/m\d+/.exec(String(text))?.[0]} ${String(outcome ?? state).replace(/:.*/, '')}`;
    });
}

test('mode × kill -9 while a turn runs and the rest waits × {2, 10 messages} on two channels: nothing lost, nothing twice', async () => {
  await using dir = await tempDir();
  const dataDir = join(dir.path, 'data');
  const held = gate();
  let atWork = 0;
  let isOpen = false;
  await using model = await startModelServer({
    script(request) {
      const words = wordsOf(request);
      const answer = textPieces(`did ${(words.match(/\bm\d+\b/g) ?? []).join('+')}`);
      if (isOpen || !/\bm0\b/.test(words)) return stream(answer);
      atWork += 1;
      return stream(answer, { held: { before: 0, until: held.opened } });
    },
  });
  const port = await freePort();
  await using owned = new AsyncDisposableStack();
  const platforms = new Map<string, Platform>();
  for (const channel of CHANNELS) {
    const platform = await PLATFORMS[channel]?.({ webhookPort: port });
    if (platform) platforms.set(channel, owned.use(platform));
    await platform?.begin(dataDir);
  }
  const start = (): Promise<ChildDaemon> =>
    startChild({
      dir: dir.path,
      config: {
        ...{ provider: 'openai', model: 'test', base_url: `${model.url}/v1`, api_key_env: 'TEST_KEY' },
        gateway: {
          ...{ channels: [...platforms.values()].map((one) => one.channel), max_concurrent_sessions: 200 },
          ...{ http: { port: 0 }, webhooks: { port } },
        },
        limits: { person_turns_at_once: 200 },
        security: { accept: ['open-without-budget'] },
      },
      env: Object.assign({ TEST_KEY: 'sk-test' }, ...[...platforms.values()].map(({ env }) => env)),
    });
  const say = (row: Row, text: string) => platforms.get(row.channel)?.write(row.person, text);
  const texts = async (row: Row) => {
    const all = (await platforms.get(row.channel)?.seen()) ?? [];
    return all.filter(({ person }) => person === row.person).map(({ text }) => text);
  };
  const everyRow = async (what: string, holds: (row: Row) => Promise<boolean> | boolean) => {
    for (const row of ROWS) await until(`${what}: ${nameOf(row)}`, () => holds(row));
  };
  {
    await using first = await start();
    await first.ready();
    for (const row of ROWS) await say(row, `/queue ${row.mode}`);
    await everyRow('its mode is chosen', async (row) => (await texts(row)).length === 1);
    for (const row of ROWS) await say(row, `${tagOf(row)} m0`);
    await until('all of them are at work', () => atWork === ROWS.length);
    for (const row of ROWS) for (const m of numbers(row.count)) await say(row, `${tagOf(row)} ${m}`);
    await everyRow('all are accepted', (row) => outcomesOf(dataDir, row).length === row.count + 1);
    // Else what is being sent at that instant is not sent again, on a platform that cannot be asked.
    await everyRow(
      'overflow turns are answered',
      async (row) => row.mode !== 'speculative' || (await texts(row)).length > row.count,
    );
    await until('nothing is being sent', async () => (await first.status()).journal.outbox.SENDING === 0);
    await first.stop('SIGKILL');
  }
  isOpen = true;
  held.open();
  await using second = await start();
  await second.ready();
  await until('nothing is left to do', async () => {
    const { inbox, outbox } = (await second.status()).journal;
    return inbox.NEW + inbox.RUNNING + outbox.PENDING + outbox.SENDING === 0;
  });
  const seen: Record<string, unknown> = {};
  const wanted: Record<string, unknown> = {};
  for (const row of ROWS) {
    const read = (await texts(row)).slice(1).map((text) => (text.startsWith('I am working on') ? BUSY : text));
    seen[nameOf(row)] = { texts: ordered(row.mode, read), outcomes: outcomesOf(dataDir, row) };
    const { texts: all, outcomes } = expected({ ...row, work: 'running' }, true);
    wanted[nameOf(row)] = { texts: ordered(row.mode, all), outcomes };
  }
  expect(seen).toEqual(wanted);
});
