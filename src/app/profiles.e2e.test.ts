// Runs that no message began, each under the limits of its profile.
import { expect, test } from 'vitest';
import type { NewRun, Profile } from '../core/new-run.ts';
import { FakeClock, gate, tempDir, until } from '../testing/fakes.ts';
import { type Script, type ScriptFunction, scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';

const KEY = 'job/j1/0';

async function scene(profile: Profile, script: Script, daemon: { clock?: FakeClock } = {}) {
  const dir = await tempDir();
  const model = scriptedModel(script);
  const rig = await testDaemon({ dataDir: dir.path, model, daemon });
  const run: NewRun = {
    key: KEY,
    source: { kind: 'job', job: 'j1', due: 0 },
    ...{ profile, lane: 'job:j1', session: '_main:job:j1' },
    prompt: { text: 'Tidy up.', media: [], at: '2026-01-01T00:00:00.000Z' },
    replyTo: { channel: 'test', account: 'bot', chatId: 'chat-1' },
    authority: { principal: 'job:j1', role: 'member', mode: 'guarded', policies: [] },
  };
  await rig.daemon.journal.commit([{ kind: 'run', run }]);
  const asked = () => model.requests.filter(({ tools }) => tools.length > 0);
  return {
    ...rig,
    model,
    /** What the agent asked; a summary of its older messages is offered no tools. */
    asked,
    /** Numbers of these that were told to come to an end. */
    warned: () => asked().flatMap(({ messages }, i) => (messages[0]?.content.includes('Come to an end') ? [i + 1] : [])),
    async outcome() {
      const events = (await rig.daemon.journal.record.of(KEY)).map(({ event }) => event);
      const finished = events.find((event) => event.type === 'finished');
      return finished?.type === 'finished' ? finished.outcome : undefined;
    },
    async [Symbol.asyncDispose]() {
      await rig[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

/**
 * Never comes to an end by itself. `calls` tool calls an answer, none the same, so that the loop detection
 * stays quiet.
 */
function busy(calls = 1): ScriptFunction {
  let n = 0;
  return ({ tools }) => {
    if (tools.length === 0) return 'What was done so far.';
    n += 1;
    const toolCalls = Array.from({ length: calls }, (_, i) => ({ name: 'list_dir', arguments: { path: `${n}-${i}` } }));
    return { toolCalls };
  };
}

test.each([
  ['session', 50, 40],
  ['task', 10, 8],
  ['subagent', 15, 12],
  ['node', 30, undefined],
] as const)('a run of profile %s makes %i model calls and then answers that it was stopped', async (profile, calls, soft) => {
  await using at = await scene(profile, busy());
  await until('the chat is told', () => at.channel.texts().length === 1);
  expect(at.asked()).toHaveLength(calls);
  expect(at.channel.texts()[0]).toContain(`its limit of ${calls} model calls`);
  expect(await at.outcome()).toBe('limit:iterations');
  const warned = soft === undefined ? [] : Array.from({ length: calls - soft + 1 }, (_, i) => soft + i);
  expect(at.warned()).toEqual(warned);
});

/** The results that the model reads when it asked for `calls` calls in one answer. */
async function resultsOf(profile: Profile, calls: number): Promise<readonly string[]> {
  await using at = await scene(profile, once(busy(calls)));
  await until('the answer is there', () => at.channel.texts().length === 1);
  return at.asked()[1]?.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : [])) ?? [];
}

/** The first answer of a script, then the end. */
function once(script: ScriptFunction): ScriptFunction {
  let isFirst = true;
  return (request, signal) => {
    if (!isFirst) return 'done';
    isFirst = false;
    return script(request, signal);
  };
}

test('a run of profile session runs the first 64 tool calls of one answer', async () => {
  const results = await resultsOf('session', 66);
  expect(results).toHaveLength(64);
  expect(results.at(-1)).toContain('2 more calls of this answer were not run');
});

test('a run of profile task runs the first 5 tool calls of one answer', async () => {
  const results = await resultsOf('task', 7);
  expect(results.map((result) => result.includes('skipped'))).toEqual([false, false, false, false, false, true, true]);
});

test.each([
  ['task', 300_000],
  ['subagent', 600_000],
  ['session', 1_800_000],
  ['node', 1_800_000],
] as const)('a model call of a run of profile %s may take %i ms', async (profile, ms) => {
  const clock = new FakeClock();
  const never = gate();
  await using at = await scene(profile, () => never.opened.then(() => 'too late'), { clock });
  await until('the model was asked', () => at.model.requests.length === 1);
  await clock.advance(ms - 1);
  expect(await at.outcome()).toBeUndefined();
  await clock.advance(20_000);
  await until('the run is over', async () => (await at.outcome()) !== undefined);
  expect(await at.outcome()).toBe(profile === 'task' || profile === 'subagent' ? 'limit:step' : 'limit:time');
  never.open();
});
