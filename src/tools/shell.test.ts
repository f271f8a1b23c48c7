import { expect, onTestFinished, test } from 'vitest';
import type { Exit, RunSpawner } from '../core/process.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { onlyTool, runScope, toolCall } from '../testing/tool-scope.ts';
import { workspaceLock } from '../workspace/workspace-lock.ts';
import { runTool } from './run.ts';
import { shell } from './shell.ts';

const TIMED_OUT: Exit = { code: null, timedOut: true, out: 'what it said', err: '', cut: 0 };

/** `waitMs`: how long another call has the workspace to itself. */
async function limitOf(timeoutSecs: number, { toolMs, waitMs = 0 }: { readonly toolMs: number; readonly waitMs?: number }) {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  const clock = new FakeClock();
  const given: number[] = [];
  const spawner: RunSpawner = {
    ...{ bounds: { mode: 'bwrap', network: false, readable: [] }, isContained: true, programs: new Set() },
    run: async ({ timeoutMs = 0 }) => {
      given.push(timeoutMs);
      return TIMED_OUT;
    },
  };
  const { signal } = new AbortController();
  const tool = onlyTool(() => shell({ ...runScope(), spawner }));
  const other = await workspaceLock.alone({ workspace: dir.path, idempotencyKey: 'other', signal }, 1_000);
  const args = JSON.stringify({ command: 'x', timeout_secs: timeoutSecs });
  const result = runTool(tool, args, toolCall({ workspace: dir.path }), { timeoutMs: toolMs, clock });
  await clock.advance(waitMs);
  other[Symbol.dispose]();
  return { output: (await result).output, given };
}

test('a command with the longest time ends before the call does, so that what it printed is told', async () => {
  const { output, given } = await limitOf(600, { toolMs: 600_000 });
  expect(given).toEqual([595_000]);
  expect(output).toMatch(/^Error: timed out after 595 s, and ended with all that it started\nwhat it said/);
});

test('the time in which a command waited for the workspace is gone, and a second is left at least', async () => {
  expect((await limitOf(600, { toolMs: 600_000, waitMs: 50_000 })).given).toEqual([545_000]);
  expect((await limitOf(600, { toolMs: 3_000 })).given).toEqual([1_000]);
  expect((await limitOf(100, { toolMs: 600_000, waitMs: 50_000 })).given).toEqual([100_000]);
});
