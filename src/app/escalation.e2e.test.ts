// Spec A9 through the whole daemon: a chat whose answers have become slow, and what holds there meanwhile.
import { expect, test } from 'vitest';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { SteadyClock } from '../testing/steady-clock.ts';
import { testDaemon } from '../testing/test-daemon.ts';

/** The clock of the test runs so many times as fast. With more, what a busy machine takes counts for much. */
const FACTOR = 8;

test('answers that become slow: one notice, messages side by side, and what was chosen before once it is over', async () => {
  await using dir = await tempDir();
  const clock = new SteadyClock(FACTOR);
  const held = gate();
  const model = scriptedModel(
    async ({ messages }) => {
      const text = messages.findLast(({ role }) => role === 'user')?.content ?? '';
      if (text.includes('held')) await held.opened;
      return { text: `did ${text}`, delayMs: text.includes('slow') ? 8_000 : 2_000 };
    },
    { clock },
  );
  const gateway = { auto_escalation: true };
  await using rig = await testDaemon({ dataDir: dir.path, model, gateway, daemon: { clock } });
  const told = (part: string) => rig.channel.texts().filter((text) => text.includes(part)).length;
  const ask = async (text: string) => {
    await rig.channel.deliver({ text });
    await until(`${text} is answered`, () => told(`did ${text}`) === 1);
  };
  await rig.channel.deliver({ text: '/queue collect' });
  for (const n of [1, 2, 3, 4, 5]) await ask(`usual ${n}`);
  for (const n of [1, 2, 3, 4]) await ask(`slow ${n}`);
  expect(told('🐢')).toBe(1);

  await rig.channel.deliver({ text: '/queue' });
  await until('the mode is told', () => told('speculative') === 1);
  await rig.channel.deliver({ text: 'held' });
  await ask('beside it');
  expect(told('did held')).toBe(0);
  held.open();
  await until('both are answered', () => told('did held') === 1);

  await ask('usual 6');
  await rig.channel.deliver({ text: '/queue' });
  await until('the mode is told', () => told('collect') >= 2);
  expect([told('🐢'), told('speculative')]).toEqual([1, 1]);
});
