// The real daemon dies while it compacts a conversation: at commits, wire calls and file writes of it.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { sessionStem } from '../../sessions/file-name.ts';
import { openJsonlStore } from '../../sessions/jsonl-store.ts';
import { isCompacted } from '../agent/compact.ts';
import { sessionKey } from '../core/ids.ts';
import type { SessionMessage } from '../core/session.ts';
import { systemClock } from '../lib/clock.ts';
import { DoublePlatform } from '../simulator/double/server.ts';
import { startChild } from '../testing/child-daemon.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { isFullLoad } from '../testing/full-load.ts';
import { startInline } from '../testing/inline-daemon.ts';
import { messagesOf, startModelServer, stream, textPieces } from '../testing/model-server.ts';

const SESSION = sessionKey({ channel: 'double', account: 'bot', chatId: 'c' });
const POINTS = pathToFileURL(join(import.meta.dirname, '../testing/sweep/kill-points.ts')).href;
const BEFORE = 38;
/** Instants at the end of the daemon's way that are tried; the compaction is the last of it. */
const LAST = 60;
/** For one start of the daemon with a turn and a compaction. */
const PATIENCE_MS = 90_000;
const TIMEOUT_MS = isFullLoad() ? 3_600_000 : 120_000;

function linesBefore(): readonly SessionMessage[] {
  return Array.from({ length: BEFORE }, (_, n) => ({
    id: `old-${n}`,
    role: n % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `said ${n}`,
    timestamp: new Date(1_700_000_000_000 + n).toISOString(),
  }));
}

async function linesOf(dir: string, ending: string): Promise<readonly SessionMessage[]> {
  const text = await readFile(`${sessionStem(join(dir, 'data'), SESSION)}${ending}`, 'utf8').catch(() => '');
  // The last line of a file that is being written may be half there.
  return text
    .split('\n')
    .flatMap((line) => (line.endsWith('}') && line.startsWith('{"id"') ? [JSON.parse(line) as SessionMessage] : []));
}

async function scene() {
  const dir = await tempDir();
  const model = await startModelServer({
    script: (request) => {
      const isSummary = messagesOf(request)[0]?.content.startsWith('You shorten the record');
      return stream(textPieces(isSummary ? 'They counted.' : 'an answer'));
    },
  });
  const platform = new DoublePlatform();
  const channels = [{ type: 'double', allowed_senders: ['*'], settings: { url: await platform.start() } }];
  const gateway = { channels, max_attempts: 10, http: { port: 0 } };
  const config = { provider: 'openai', model: 'm', base_url: `${model.url}/v1`, api_key_env: 'SWEEP_KEY', gateway };
  const store = openJsonlStore({ dir: join(dir.path, 'data'), clock: systemClock, onDamage: () => undefined });
  await store.append(SESSION, linesBefore());
  const say = (n: number) => platform.deliver({ id: `m${n}`, chatId: 'c', senderId: 'ada', text: `question ${n}` });
  return {
    ...{ dir: dir.path, model, platform, say },
    dying: (killAt?: number) => {
      const kill = killAt === undefined ? {} : { SWEEP_KILL_AT: String(killAt) };
      const env = { SWEEP_KEY: 'sk', NODE_OPTIONS: `--import=${POINTS}`, SWEEP_COUNT: join(dir.path, 'points'), ...kill };
      return startChild({ dir: dir.path, config, env, killAt: 'none' });
    },
    last: () => startInline({ dir: dir.path, config, env: { SWEEP_KEY: 'sk' }, faultParts: true }),
    isCompacted: async () => (await linesOf(dir.path, '.jsonl')).some(isCompacted),
    async [Symbol.asyncDispose]() {
      await platform[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

/** Points that an undisturbed daemon passes until the conversation is compacted. */
async function countPoints(): Promise<number> {
  await using at = await scene();
  at.say(1);
  await using daemon = await at.dying();
  await until('it is compacted', at.isCompacted, PATIENCE_MS);
  await daemon.stop('SIGKILL');
  return Number((await readFile(join(at.dir, 'points'), 'utf8')).slice(0, 8));
}

test(
  'a kill in the middle of a compaction loses no line, doubles none, and a later turn does it',
  async () => {
    const all = await countPoints();
    const step = isFullLoad() ? 1 : 17;
    let kills = 0;
    for (let point = all - LAST; point <= all; point += step) {
      await using at = await scene();
      at.say(1);
      {
        await using dying = await at.dying(point);
        const isOver = async () => dying.process.signalCode !== null || (await at.isCompacted());
        await until('it dies or is done', isOver, PATIENCE_MS).catch((error: unknown) => {
          throw new Error(`at point ${point} of ${all}: ${dying.stderr()}`, { cause: error });
        });
        kills += dying.process.signalCode === null ? 0 : 1;
      }
      {
        await using last = await at.last();
        await last.settled(1);
        at.say(2);
        await until(`it is compacted after a kill at point ${point}`, at.isCompacted, PATIENCE_MS);
        await last.settled(2);
        expect(await last.stop()).toMatchObject({ code: 0 });
      }
      const [now, archive] = [await linesOf(at.dir, '.jsonl'), await linesOf(at.dir, '.archive.jsonl')];
      expect(new Set(now.map(({ id }) => id)).size).toBe(now.length);
      expect(now.filter(isCompacted)).toHaveLength(1);
      expect(now.length).toBeLessThanOrEqual(14);
      const said = new Set([...archive, ...now].filter((line) => !isCompacted(line)).map(({ id }) => id));
      expect(said.size).toBe(BEFORE + 4);
      expect(at.platform.posted.map(({ text }) => text)).toEqual(['an answer', 'an answer']);
    }
    expect(kills).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);
