import { expect, test } from 'vitest';
import type { StepRecord } from '../../core/step.ts';
import { cliOnJournal } from '../../testing/cli-on-journal.ts';
import { begin, done } from '../../testing/journal-rows.ts';

const DAY_MS = 86_400_000;

/** A run that sent something, wrote a file, read one, and pays when its process ends. */
async function scene() {
  const cli = await cliOnJournal();
  await cli.fill(async (journal, clock) => {
    const row = await begin(journal, 1);
    const { seq, generation } = row;
    const step = (callId: string, tool: string, effect: 'none' | 'workspace' | 'outside', more: Partial<StepRecord> = {}) =>
      journal.step(seq, generation, {
        ...{ n: 1, kind: 'tool', callId, state: 'DONE', tool, effect, startedAt: clock.now(), endedAt: clock.now() + 5 },
        ...{ value: { output: 'canary' } },
        ...more,
      });
    await step('1', 'send_mail', 'outside', { startedAt: clock.now() - 3 * DAY_MS });
    await step('2', 'write_file', 'workspace');
    await step('3', 'read_file', 'none');
    await step('5', 'web_fetch', 'none', { approvedBy: 'test/bot/m-1#5!' });
    await journal.finish(done(row));
    const { seq: paying, generation: of } = await begin(journal, 'other');
    await journal.step(paying, of, {
      n: 1,
      kind: 'tool',
      callId: '4',
      state: 'STARTED',
      tool: 'pay',
      effect: 'outside',
      startedAt: clock.now(),
    });
  });
  return cli;
}

test('effects lists the calls of tools that can change something, the oldest first, and whether that is known', async () => {
  await using cli = await scene();
  const { code, stdout } = await cli.run('effects', '--since', '4d');
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /outside +send_mail +done +test:user-1 +- +test\/bot\/m-1\n.*workspace +write_file +done .*\n.*none +web_fetch +done .*\n.*outside +pay +open/,
  );
  expect(stdout.split('\n')[0]?.split(/ {2,}/)).toEqual(['WHEN', 'EFFECT', 'TOOL', 'STATE', 'ASKED BY', 'ALLOWED BY', 'RUN']);
  expect(stdout).not.toContain('read_file');
  expect(stdout).not.toContain('canary');
});

test('effects lists a request that a person allowed, though it changed nothing, and none that needed no yes', async () => {
  await using cli = await scene();
  const { effects } = JSON.parse((await cli.run('effects', '--json')).stdout);
  expect(effects.filter(({ effect }: { effect: string }) => effect === 'none')).toMatchObject([
    { tool: 'web_fetch', state: 'done', run: 'test/bot/m-1', callId: '5' },
  ]);
});

test('effects --json has them with run, session and person; by default those of today', async () => {
  await using cli = await scene();
  const { effects } = JSON.parse((await cli.run('effects', '--json')).stdout);
  expect(effects).toMatchObject([
    { tool: 'write_file', effect: 'workspace', state: 'done', run: 'test/bot/m-1', principal: 'test:user-1', callId: '2' },
    { tool: 'web_fetch', effect: 'none', callId: '5' },
    { tool: 'pay', effect: 'outside', state: 'open', run: 'test/bot/m-other' },
  ]);
  expect(JSON.stringify(effects)).not.toContain('canary');
});

test('effects of a journal without any is one sentence', async () => {
  await using cli = await cliOnJournal();
  expect(await cli.run('effects')).toMatchObject({ code: 0, stdout: 'no tool that can change something was called\n' });
});
