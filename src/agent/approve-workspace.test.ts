// The tools `shell` and `write_file` themselves, in a directory on disk: what was allowed is what runs.
import { execFile } from 'node:child_process';
import { chmod, link, mkdir, readFile, rename, rm, stat, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { Authority } from '../core/authority.ts';
import type { Bounds, Exit, RunSpawner } from '../core/process.ts';
import type { StepRecord } from '../core/step.ts';
import type { RunScope } from '../core/tool.ts';
import type { AgentResult, AgentRun, ToolAccess } from '../core/turn.ts';
import { agentRun, anyAccess, MemoryStepLog } from '../testing/agent-run.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { byLoad } from '../testing/sample.ts';
import { type ScriptedCall, scriptedModel } from '../testing/scripted-model.ts';
import { builtInTools } from '../tools/index.ts';
import { createPolicy } from '../tools/policy.ts';
import { workspaceLock } from '../workspace/workspace-lock.ts';
import { runAgent } from './run.ts';

const OWNER: Authority = { principal: 'test:user-1', role: 'owner', mode: 'full', policies: [], home: 'test/bot/chat-1' };
const HOME = { channel: 'test', account: 'bot', chatId: 'chat-1', isGroup: false };
const SCRIPT = 'echo as allowed >> ../effect\n';
const HARM = 'echo as harmful >> ../effect\n';
/**
 * Two changes of a file have the same time where they are closer together than the clock of the kernel
 * ticks. ms.
 */
const TICK_MS = 12;

const shell = (command: string): ScriptedCall => ({ name: 'shell', arguments: { command } });
const writes = (content: string): ScriptedCall => ({ name: 'write_file', arguments: { path: 'run.sh', content } });

interface Attempt extends Partial<Pick<AgentRun, 'runId' | 'limits' | 'signal'>> {
  readonly calls: readonly ScriptedCall[];
  readonly verdicts?: ToolAccess['verdicts'];
  readonly steps?: MemoryStepLog;
  readonly recorded?: readonly StepRecord[];
}

/**
 * A workspace with a script, and runs that work there with the real tools in mode `guarded`, without a
 * sandbox.
 */
async function scene() {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  const workspace = join(dir.path, 'workspace');
  const ran: string[] = [];
  const run: RunSpawner['run'] = async ({ argv: [program = '', ...args], cwd }) => {
    ran.push(args.at(-1) ?? '');
    return await new Promise<Exit>((resolve) => {
      execFile(program, args, { cwd }, (error, out, err) => resolve({ code: error ? 1 : 0, timedOut: false, cut: 0, out, err }));
    });
  };
  const bounds: Bounds = { mode: 'bwrap', network: false, readable: [] };
  const spawner = { bounds, isContained: true, programs: new Set(['sh']), run };
  const scope: RunScope = { session: 's', authority: OWNER, channel: 'test', spawner };
  const tools = builtInTools(scope).filter(({ name }) => ['shell', 'write_file'].includes(name));
  const rules = { allow: [], deny: [], mode: 'guarded', members: [], guests: [], senders: {}, byProvider: {} } as const;
  const policy = createPolicy(() => ({ ...rules, contextFilter: [], channel: () => undefined }));
  const attempt = async ({ calls, verdicts = new Map(), recorded = [], ...more }: Attempt) => {
    const steps = more.steps ?? new MemoryStepLog(recorded);
    const asked = recorded.some(({ kind }) => kind === 'model') ? [] : [{ toolCalls: calls }];
    const access = anyAccess({ policy, authority: OWNER, asks: HOME, verdicts });
    const model = scriptedModel([...asked, 'done']);
    return [await runAgent(agentRun({ tools, workspace, access, model, ...more, steps })), steps] as const;
  };
  await mkdir(join(workspace, 'lib'), { recursive: true });
  await writeFile(join(workspace, 'run.sh'), SCRIPT);
  await writeFile(join(workspace, 'lib/part.sh'), SCRIPT);
  const effect = () => readFile(join(dir.path, 'effect'), 'utf8').catch(() => '');
  return { outside: dir.path, workspace, ran, attempt, effect };
}

/** A yes to all that an attempt asks for. */
function yesTo({ outcome }: AgentResult): ToolAccess['verdicts'] {
  if (outcome.kind !== 'parked') throw new Error(`no question: ${JSON.stringify(outcome)}`);
  return new Map(
    outcome.waits.flatMap(({ callId, ...wait }) => {
      if (wait.kind !== 'person' || wait.about.digest === undefined) return [];
      return [[callId, { wait: `w ${callId}`, isAllowed: true, digest: wait.about.digest, text: 'allow' }] as const];
    }),
  );
}

const resultsIn = ({ lines }: AgentResult) => lines.filter(({ role }) => role === 'tool').map(({ content }) => content);

type Swap = (workspace: string, outside: string) => Promise<void>;

const SWAPS: Readonly<Record<string, Swap>> = {
  'other words of the same length': (at) => writeFile(join(at, 'run.sh'), HARM),
  'another file under its name': async (at, outside) => {
    await writeFile(join(outside, 'new'), HARM);
    await rename(join(outside, 'new'), join(at, 'run.sh'));
  },
  'other words, and back, with the time set back': async (at) => {
    const { atime, mtime } = await stat(join(at, 'run.sh'));
    await writeFile(join(at, 'run.sh'), HARM);
    await writeFile(join(at, 'run.sh'), SCRIPT);
    await utimes(join(at, 'run.sh'), atime, mtime);
  },
  'another file, and the first one back': async (at, outside) => {
    await rename(join(at, 'run.sh'), join(outside, 'aside'));
    await writeFile(join(at, 'run.sh'), HARM);
    await rename(join(outside, 'aside'), join(at, 'run.sh'));
  },
  'the file removed, and the same words anew': async (at) => {
    await unlink(join(at, 'run.sh'));
    await writeFile(join(at, 'run.sh'), SCRIPT);
  },
  'other words by another name of the file': async (at, outside) => {
    await link(join(at, 'run.sh'), join(outside, 'linked'));
    await writeFile(join(outside, 'linked'), HARM);
    await unlink(join(outside, 'linked'));
  },
  'a hard link to another file': async (at, outside) => {
    await writeFile(join(outside, 'harm'), HARM);
    await unlink(join(at, 'run.sh'));
    await link(join(outside, 'harm'), join(at, 'run.sh'));
  },
  'a symbolic link to another file': async (at, outside) => {
    await writeFile(join(outside, 'harm'), HARM);
    await unlink(join(at, 'run.sh'));
    await symlink(join(outside, 'harm'), join(at, 'run.sh'));
  },
  'another mode': (at) => chmod(join(at, 'run.sh'), 0o755),
  'another directory under its name': async (at, outside) => {
    await rename(join(at, 'lib'), join(outside, 'lib'));
    await mkdir(join(at, 'lib'));
    await writeFile(join(at, 'lib/part.sh'), HARM);
  },
  'a symbolic link in place of the directory': async (at, outside) => {
    await rename(join(at, 'lib'), join(outside, 'lib'));
    await symlink(join(outside, 'lib'), join(at, 'lib'));
  },
  'a file more': (at) => writeFile(join(at, '.npmrc'), HARM),
};

const CALLS = [shell('sh run.sh; sh lib/part.sh')];

test('A25 a thousand swaps of a real file between the question and the yes: no command runs, each is asked about anew', async () => {
  const kinds = Object.entries(SWAPS);
  let swaps = 0;
  for (const of = byLoad(3 * kinds.length, 1_000); swaps < of; swaps += 1) {
    const [kind, swap] = kinds[swaps % kinds.length] ?? [];
    const at = await scene();
    const [asking, { writes: recorded }] = await at.attempt({ calls: CALLS });
    const verdicts = yesTo(asking);
    await sleep(TICK_MS);
    await swap?.(at.workspace, at.outside);
    const [again] = await at.attempt({ calls: CALLS, recorded, verdicts });
    expect([kind, again.outcome.kind, at.ran, await at.effect()]).toEqual([kind, 'parked', [], '']);
    expect([...yesTo(again).values()][0]?.digest).not.toBe([...verdicts.values()][0]?.digest);
  }
}, 120_000);

test('a command whose files nothing has changed runs after its yes', async () => {
  const at = await scene();
  const [asking, { writes: recorded }] = await at.attempt({ calls: CALLS });
  const [result] = await at.attempt({ calls: CALLS, recorded, verdicts: yesTo(asking) });
  expect([result.outcome.kind, await at.effect()]).toEqual(['answered', 'as allowed\nas allowed\n']);
});

test('A25 a file that another run swaps after the files were compared, while the call is written down, is not what runs', async () => {
  const at = await scene();
  const [asking, { writes: recorded }] = await at.attempt({ calls: CALLS });
  const others: Promise<unknown>[] = [];
  const steps = new (class extends MemoryStepLog {
    override async record(step: StepRecord): Promise<void> {
      if (step.kind === 'tool' && step.state === 'STARTED') {
        others.push(at.attempt({ runId: 'sub-agent', calls: [writes(HARM)] }));
        await sleep(100);
      }
      await super.record(step);
    }
  })(recorded);
  const [result] = await at.attempt({ calls: CALLS, recorded, steps, verdicts: yesTo(asking) });
  expect([result.outcome.kind, await at.effect()]).toEqual(['answered', 'as allowed\nas allowed\n']);
  await Promise.all(others);
  expect([others.length, await readFile(join(at.workspace, 'run.sh'), 'utf8')]).toEqual([1, HARM]);
});

test('of two commands of one answer that were both allowed, the second is asked about anew when the first changed a file', async () => {
  const at = await scene();
  const calls = [shell(`printf '${HARM.trim()}' > run.sh`), shell('sh run.sh')];
  const [asking, { writes: recorded }] = await at.attempt({ calls });
  const [again] = await at.attempt({ calls, recorded, verdicts: yesTo(asking) });
  expect([again.outcome.kind, at.ran.length, await at.effect()]).toEqual(['parked', 1, '']);
});

test('two commands of one answer that were both allowed and change nothing run one after the other', async () => {
  const at = await scene();
  const calls = [shell('sh run.sh'), shell('sh lib/part.sh')];
  const [asking, { writes: recorded }] = await at.attempt({ calls });
  const [result] = await at.attempt({ calls, recorded, verdicts: yesTo(asking) });
  expect([result.outcome.kind, await at.effect()]).toEqual(['answered', 'as allowed\nas allowed\n']);
});

test('a command whose workspace others do not leave in time does not run, and the model is told', async () => {
  const at = await scene();
  const [asking, { writes: recorded }] = await at.attempt({ calls: CALLS });
  const { signal } = new AbortController();
  using _other = await workspaceLock.write({ workspace: at.workspace, idempotencyKey: 'other', signal });
  const limits = { ...agentRun().limits, toolTimeoutMs: 50 };
  const [result, steps] = await at.attempt({ calls: CALLS, recorded, limits, verdicts: yesTo(asking) });
  expect([at.ran, resultsIn(result)]).toEqual([[], [expect.stringContaining('did not end in time, so nothing was run')]]);
  expect(steps.writes.filter(({ kind }) => kind === 'tool')).toMatchObject([{ state: 'DONE', effect: 'none' }]);
});

test('a command that waits for its workspace ends with its run, and keeps nothing from the next one', async () => {
  const at = await scene();
  const [asking, { writes: recorded }] = await at.attempt({ calls: CALLS });
  const stop = new AbortController();
  const other = await workspaceLock.write({ workspace: at.workspace, idempotencyKey: 'other', signal: stop.signal });
  const waiting = at.attempt({ calls: CALLS, recorded, signal: stop.signal, verdicts: yesTo(asking) });
  await until('it waits', () => workspaceLock.size === 1);
  await sleep(20);
  stop.abort(new Error('/stop'));
  const [result] = await waiting;
  other[Symbol.dispose]();
  expect([result.outcome.kind, at.ran, workspaceLock.size]).toEqual(['aborted', [], 0]);
  await rm(at.workspace, { recursive: true });
});
