// What a model server that lies can do to the whole daemon, and for how long.
import { expect, test } from 'vitest';
import type { Clock } from '../core/ports.ts';
import { systemClock } from '../lib/clock.ts';
import { createFailure } from '../llm/failure.ts';
import { estimateTokens } from '../llm/tokens.ts';
import { tempDir } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';

const HOUR = 3_600_000;

test('a window that a refusal names falsely shortens prompts for an hour and no longer', async () => {
  await using dir = await tempDir();
  let later = 0;
  const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + later };
  const sizes: number[] = [];
  let lies = false;
  const lie = { ...createFailure('context-length', { message: 'too long', status: 400 }), contextWindow: 5_000 };
  const model = scriptedModel(
    ({ messages }) => {
      sizes.push(estimateTokens(messages));
      const refused = lies;
      lies = false;
      return refused ? { fail: lie } : 'fine';
    },
    { contextWindow: 100_000 },
  );
  await using rig = await testDaemon({ dataDir: dir.path, model, daemon: { clock } });
  const say = async (text: string): Promise<number> => {
    await rig.channel.deliver({ text });
    await rig.daemon.gateway.idle();
    return sizes.at(-1) ?? 0;
  };
  for (let n = 0; n < 4; n += 1) await say('word '.repeat(2_400));
  lies = true;
  expect(await say('lie')).toBeLessThan(5_000);
  expect(await say('still believed')).toBeLessThan(5_000);
  later = HOUR;
  expect(await say('no longer')).toBeGreaterThan(10_000);
  expect(rig.channel.texts().every((text) => text === 'fine')).toBe(true);
});
