// A chat that is longer than `max_history`, through the whole daemon.
import { expect, test } from 'vitest';
import { tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';

const TURNS = 40;

test('M7 in a chat longer than max_history most turns begin with the prompt of the turn before', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(() => ({ text: 'an answer' }));
  await using rig = await testDaemon({ dataDir: dir.path, model, gateway: { max_history: 24 } });
  for (let turn = 1; turn <= TURNS; turn += 1) {
    await rig.channel.deliver({ id: `q${turn}`, text: `question ${turn}` });
    await until(`answer ${turn}`, () => rig.channel.sent.length >= turn);
  }
  // The system message and the question itself come on top.
  const turns = model.requests.filter(({ context }) => context.purpose === 'turn');
  const prompts = turns.map(({ messages }) => messages.map(({ role, content }) => `${role}: ${content}`));
  expect(prompts.every((prompt) => prompt.length <= 24 + 2)).toBe(true);
  expect(prompts.at(-1)?.at(-3)).toContain(`question ${TURNS - 1}`);
  const found = prompts.filter((prompt, at) => at > 0 && prompts[at - 1]?.every((message, n) => prompt[n] === message));
  expect(found.length).toBeGreaterThan(TURNS / 2);
});
