// What a killed process may have half told of a turn that was stopped or given up; the real daemon dies at
// one named instant.
import { readFile, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { openJsonlStore } from '../../sessions/jsonl-store.ts';
import { systemClock } from '../lib/clock.ts';
import { DoublePlatform } from '../simulator/double/server.ts';
import { countFile, startChild } from '../testing/child-daemon.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { startInline } from '../testing/inline-daemon.ts';
import { callPieces, messagesOf, startModelServer, stream, textPieces, userText } from '../testing/model-server.ts';

const ENV = { SWEEP_KEY: 'sk' };
const ASKED_AGAIN = 'did you count? if not, do it';

/**
 * Asks for the tool `count`, is silent once it has the result, and answers the question what became of it.
 */
function startModel() {
  return startModelServer({
    script: (request) => {
      if (userText(request) === ASKED_AGAIN) return stream(textPieces('You know.'));
      const hasResult = messagesOf(request).some(({ role }) => role === 'tool');
      return hasResult ? stream([], { end: 'hang' }) : stream(callPieces({ name: 'count', arguments: { n: 5 } }));
    },
  });
}

test.concurrent.each([
  ['stopped, killed before the commit of the stop', 'accept:before:2', 10, 'counted 5', 'Already run: count'],
  ['stopped, killed after it and before anything was told', 'accept:after:2', 10, 'counted 5', 'Already run: count'],
  ['given up, killed while its tool ran', 'tool:after', 1, 'Error: outcome unknown', 'Outcome unknown: count'],
])(
  'a turn that is %s: the next one is told once what ran, and nothing runs twice',
  async (_title, killAt, attempts, result, told) => {
    await using dir = await tempDir();
    await using model = await startModel();
    await using platform = new DoublePlatform();
    const channels = [{ type: 'double', allowed_senders: ['*'], settings: { url: await platform.start() } }];
    const gateway = { channels, max_attempts: attempts, http: { port: 0 } };
    const config = { provider: 'openai', model: 'm', base_url: `${model.url}/v1`, api_key_env: 'SWEEP_KEY', gateway };
    await writeFile(countFile(dir.path), '');
    platform.deliver({ id: 'm1', chatId: 'c', senderId: 'ada', text: 'please count' });
    {
      await using dying = await startChild({ dir: dir.path, config, env: ENV, killAt });
      if (attempts > 1) {
        await until('the model has the result', () => model.requests.length === 2);
        platform.deliver({ id: 'm2', chatId: 'c', senderId: 'ada', text: '/stop' });
      }
      expect((await dying.ended).signal).toBe('SIGKILL');
    }
    {
      await using last = await startInline({ dir: dir.path, config, env: ENV, faultParts: true });
      await last.settled(attempts > 1 ? 2 : 1);
      platform.deliver({ id: 'm3', chatId: 'c', senderId: 'ada', text: ASKED_AGAIN });
      await last.settled(attempts > 1 ? 3 : 2);
      expect(await last.stop()).toMatchObject({ code: 0 });
    }
    expect(platform.posted.map(({ text }) => text)).toEqual([expect.stringContaining(`\n${told}`), 'You know.']);
    const asked = messagesOf(model.requests.at(-1) ?? expect.fail('no request')).slice(1);
    expect(asked.map(({ content }) => content)).toEqual([
      ...['please count', '', expect.stringContaining(result), '[interrupted]'],
      ASKED_AGAIN,
    ]);
    expect(await readFile(countFile(dir.path), 'utf8')).toBe('5\n');
    const store = openJsonlStore({ dir: `${dir.path}/data`, clock: systemClock, onDamage: () => undefined });
    const session = await store.load((await store.list())[0]?.key ?? '');
    const ids = session?.messages.map(({ id }) => id.replace('double/bot/', ''));
    expect(ids).toEqual(['m1:in', 'm1#a1', 'm1#t1.0', 'm1#end', 'm3:in', 'm3#a1']);
  },
);
