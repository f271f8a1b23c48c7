import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { HookFacts } from '../core/hooks.ts';
import type { Spawner } from '../core/process.ts';
import { MemoryLogger, tempDir, until } from '../testing/fakes.ts';
import { directSpawner, shellProgram } from '../testing/hook-program.ts';
import { HookRunner, type HookSettings } from './hook-runner.ts';

const NEVER = new AbortController().signal;
const CALL: HookFacts = { event: 'before_tool_call', tool_name: 'shell', arguments: { command: 'ls' }, model: undefined };

interface Made {
  readonly hooks: HookRunner;
  readonly logger: MemoryLogger;
  readonly dir: string;
}

/** A runner whose hooks are scripts of `/bin/sh`. */
async function runner(...scripts: readonly (string | (Partial<HookSettings> & { readonly script: string }))[]): Promise<Made> {
  const temporary = await tempDir();
  onTestFinished(() => temporary[Symbol.asyncDispose]());
  const dir = temporary.path;
  const logger = new MemoryLogger();
  const settings = await Promise.all(
    scripts.map(async (one, at): Promise<HookSettings> => {
      const { script, ...more } = typeof one === 'string' ? { script: one } : one;
      const command = [await shellProgram(dir, `hook-${at}`, script)];
      return { event: 'before_tool_call', command, timeoutMs: 5_000, toolFilter: [], onError: 'allow', ...more };
    }),
  );
  const env = { PATH: '/usr/bin:/bin', HOME: dir };
  return { hooks: new HookRunner({ settings: () => settings, spawner: directSpawner, cwd: dir, env, logger }), logger, dir };
}

it('exit 0 allows, 1 refuses with what it printed, and 2 replaces the arguments', async () => {
  const asked = async (script: string) => (await runner(script)).hooks.ask(CALL, NEVER);
  expect(await asked('exit 0')).toEqual({ kind: 'allow' });
  expect(await asked('echo not on Sundays; exit 1')).toEqual({ kind: 'deny', reason: 'not on Sundays', key: 'hooks[0]' });
  expect(await asked('exit 1')).toEqual({ kind: 'deny', reason: 'it gave no reason', key: 'hooks[0]' });
  expect(await asked(`echo '{"command":"true"}'; exit 2`)).toEqual({ kind: 'replace', args: '{"command":"true"}' });
});

it('a hook reads the facts as one line of JSON, without what is undefined, and has no environment but its own', async () => {
  process.env['GATEHOUSE_HOOK_CANARY'] = 'canary';
  const { hooks, dir } = await runner('cat > facts; env > env');
  await hooks.ask(CALL, NEVER);
  expect(JSON.parse(await readFile(join(dir, 'facts'), 'utf8'))).toEqual({
    event: 'before_tool_call',
    tool_name: 'shell',
    arguments: { command: 'ls' },
  });
  expect(await readFile(join(dir, 'env'), 'utf8')).not.toContain('canary');
});

it('hooks run in their order, and none is asked after the first that refuses', async () => {
  const { hooks, dir } = await runner('echo a >> order', 'echo b >> order; exit 1', 'echo c >> order');
  expect(await hooks.ask(CALL, NEVER)).toMatchObject({ kind: 'deny', key: 'hooks[1]' });
  expect(await readFile(join(dir, 'order'), 'utf8')).toBe('a\nb\n');
});

it('a hook is asked about its event and its tools alone', async () => {
  const { hooks } = await runner({ script: 'exit 1', toolFilter: ['group:web', 'mcp__*'] });
  expect(hooks.has('before_tool_call')).toBe(true);
  expect(hooks.has('message_in')).toBe(false);
  expect(await hooks.ask(CALL, NEVER)).toEqual({ kind: 'allow' });
  expect(await hooks.ask({ ...CALL, tool_name: 'web_fetch' }, NEVER)).toMatchObject({ kind: 'deny' });
  expect(await hooks.ask({ ...CALL, tool_name: 'mcp__files__read' }, NEVER)).toMatchObject({ kind: 'deny' });
  expect(await hooks.ask({ event: 'before_llm_call' }, NEVER)).toEqual({ kind: 'allow' });
});

it('what fails allows, each time with a line in the log, and is disabled after three times in a row', async () => {
  const failing = ['exit 7', 'kill -9 $$', 'echo no json; exit 2', `echo '[1]'; exit 2`];
  for (const script of failing) {
    const { hooks, logger, dir } = await runner(`echo x >> ran; ${script}`);
    for (let i = 0; i < 5; i += 1) expect(await hooks.ask(CALL, NEVER)).toEqual({ kind: 'allow' });
    expect(await readFile(join(dir, 'ran'), 'utf8')).toBe('x\nx\nx\n');
    expect(logger.lines.map(({ event }) => event)).toEqual(['hook.failed', 'hook.failed', 'hook.disabled']);
  }
});

it('a success between failures starts their count anew', async () => {
  const { hooks, logger } = await runner('n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n; [ $((n % 3)) -eq 2 ] || exit 9');
  for (let i = 0; i < 9; i += 1) await hooks.ask(CALL, NEVER);
  expect(logger.lines.map(({ event }) => event)).not.toContain('hook.disabled');
});

it('with on_error deny a hook that fails, is too slow or is not there refuses, however often', async () => {
  const { hooks } = await runner({ script: 'sleep 60', timeoutMs: 100, onError: 'deny' });
  for (let i = 0; i < 4; i += 1) {
    expect(await hooks.ask(CALL, NEVER)).toEqual({ kind: 'deny', reason: 'a hook of the operator failed', key: 'hooks[0]' });
  }
  const gone = await runner({ script: '', command: ['/nowhere/hook'], onError: 'deny' });
  expect(await gone.hooks.ask(CALL, NEVER)).toMatchObject({ kind: 'deny' });
});

it('one that is too slow is ended with what it started, and allows', async () => {
  const { hooks, logger } = await runner({ script: 'sleep 60 & sleep 60', timeoutMs: 100 });
  const before = Date.now();
  expect(await hooks.ask(CALL, NEVER)).toEqual({ kind: 'allow' });
  expect(Date.now() - before).toBeLessThan(5_000);
  expect(logger.lines[0]?.data).toMatchObject({ detail: 'it was ended: its time was over, or a signal came' });
});

it('an abort while a hook is asked rejects with its reason, and is no failure of the hook', async () => {
  const { hooks, logger } = await runner('sleep 60');
  const stop = new AbortController();
  const asked = hooks.ask(CALL, stop.signal);
  setTimeout(() => stop.abort(new Error('stopped')), 50);
  await expect(asked).rejects.toThrow('stopped');
  expect(logger.lines).toEqual([]);
});

it('of hooks that are asked at once sixteen run, the others wait for them or for an abort, and none is a failure', async () => {
  let running = 0;
  let most = 0;
  const gate = Promise.withResolvers<void>();
  const run: Spawner['run'] = async () => {
    running += 1;
    most = Math.max(most, running);
    await gate.promise;
    running -= 1;
    return { code: 1, timedOut: false, out: 'no', err: '', cut: 0 };
  };
  const logger = new MemoryLogger();
  const settings = [
    { event: 'before_tool_call', command: ['/hook'], timeoutMs: 5_000, toolFilter: [], onError: 'allow' },
  ] as const;
  const hooks = new HookRunner({ settings: () => settings, spawner: { run }, cwd: '/', env: {}, logger });
  const asked = Array.from({ length: 70 }, () => hooks.ask(CALL, NEVER));
  const stop = new AbortController();
  const stopped = hooks.ask(CALL, stop.signal);
  stop.abort(new Error('stopped'));
  await expect(stopped).rejects.toThrow('stopped');
  gate.resolve();
  expect((await Promise.all(asked)).filter(({ kind }) => kind !== 'deny')).toEqual([]);
  expect({ most, lines: logger.lines }).toEqual({ most: 16, lines: [] });
});

it('what is told is not waited for, and a refusal of it is a failure', async () => {
  const { hooks, dir, logger } = await runner({ script: 'cat >> told; exit 1', event: 'after_tool_call' });
  hooks.tell({ event: 'after_tool_call', tool_name: 'shell', success: true });
  await until('told', () => logger.lines.length === 1);
  expect(JSON.parse(await readFile(join(dir, 'told'), 'utf8'))).toMatchObject({ success: true });
});

it('a leading ~ of the command and of its arguments is the home directory', async () => {
  const { hooks, dir } = await runner({ script: '', command: ['~/hook-0', '~/x', 'a~/b'] });
  await shellProgram(dir, 'hook-0', 'printf "%s\\n" "$@" > args');
  await hooks.ask(CALL, NEVER);
  expect(await readFile(join(dir, 'args'), 'utf8')).toBe(`${dir}/x\na~/b\n`);
});
