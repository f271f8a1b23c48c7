// Programs that a scripted model runs in the daemon, in the real sandbox, and what becomes of them.
import { execFile } from 'node:child_process';
import { glob, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, type TestContext, test } from 'vitest';
import { tempDir, until } from '../testing/fakes.ts';
import { needs } from '../testing/needs.ts';
import { type Script, scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';

const OWNER = { owner: [{ channel: 'test', chat_id: 'chat-1', sender_ids: ['user-1'] }] };

function needsSandbox(context: TestContext): void {
  needs(context, 'bwrap', '--ro-bind', '/', '/', '--unshare-all', '--proc', '/proc', 'true');
  needs(context, 'rg', '--version');
}

const shell = (command: string, more: Record<string, unknown> = {}) => ({
  toolCalls: [{ name: 'shell', arguments: { command, ...more } }],
});

async function scene(
  script: Script,
  sections: Record<string, unknown> = { sandbox: {} },
  policy: Record<string, unknown> = { mode: 'full' },
) {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  const model = scriptedModel(script);
  const rig = await testDaemon({ dataDir: dir.path, model, gateway: OWNER, policy, sections });
  return {
    ...{ ...rig, dir: dir.path, model },
    /** What the model was last told of a tool. */
    told: () => model.requests.at(-1)?.messages.findLast(({ role }) => role === 'tool')?.content,
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}

/** Of the one session there is. */
async function workspaceIn(dir: string): Promise<string> {
  for await (const path of glob('**/workspaces/*', { cwd: dir })) return join(dir, path);
  throw new Error('there is no workspace');
}

async function processesWith(mark: string): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'args']);
  return stdout.split('\n').filter((line) => line.includes(mark));
}

test('a program works in the workspace of its session, and sees neither the state nor a key of the daemon', async (context) => {
  needsSandbox(context);
  process.env['GATEHOUSE_TEST_KEY'] = 'canary-of-the-environment';
  const look = 'echo made > note; cat /proc/*/environ "$STATE"/* 2>&1 | tr "\\0" "\\n"; ls';
  await using at = await scene((request) =>
    request.messages.some(({ role }) => role === 'tool') ? 'done' : shell(look.replace('$STATE', join(at.dir, 'sessions'))),
  );
  await at.channel.deliver({ platformId: 'm1', text: 'look around' });
  await at.daemon.gateway.idle();

  expect(at.told()).toContain('note\nExit code: 0');
  expect(at.told()).not.toContain('canary');
  expect(await readFile(join(await workspaceIn(at.dir), 'note'), 'utf8')).toBe('made\n');
});

test('grep searches the workspace, by expressions that cannot be flags, and leaves out what git ignores', async (context) => {
  needsSandbox(context);
  const write = `printf 'one two\\n--two\\n' > a.txt; printf 'two\\n' > b.log; printf '*.log\\n' > .gitignore`;
  const grep = (args: Record<string, unknown>) => ({ toolCalls: [{ name: 'grep', arguments: args }] });
  await using at = await scene([
    shell(write),
    grep({ pattern: 'two' }),
    grep({ pattern: '--two' }),
    grep({ pattern: '(' }),
    'done',
  ]);
  await at.channel.deliver({ platformId: 'm1', text: 'search' });
  await at.daemon.gateway.idle();

  const told =
    at.model.requests
      .at(-1)
      ?.messages.filter(({ role }) => role === 'tool')
      .map(({ content }) => content) ?? [];
  expect(told.slice(1, 3)).toEqual(['a.txt:1: one two\na.txt:2: --two', 'a.txt:2: --two']);
  expect(told[3]).toMatch(/^Error: .*unclosed group/s);
});

test('/stop ends a turn with everything that its programs started', async (context) => {
  needsSandbox(context);
  const mark = `31${process.pid}7`;
  await using at = await scene([shell(`trap '' TERM; setsid sleep ${mark} & nohup sleep ${mark} & sleep ${mark}`), 'never']);
  await at.channel.deliver({ platformId: 'm1', text: 'run on and on' });
  await until('three of them run', async () => (await processesWith(`sleep ${mark}`)).length >= 3);
  await at.channel.deliver({ platformId: 'm2', text: '/stop' });
  const stoppedAt = Date.now();
  await until('none is left', async () => (await processesWith(mark)).length === 0);
  expect(Date.now() - stoppedAt).toBeLessThan(2_000);
  await at.daemon.gateway.idle();
});

test('what runs longer than it asked for is ended, and the model reads what it had said', async (context) => {
  needsSandbox(context);
  await using at = await scene([shell('echo begun; sleep 60', { timeout_secs: 1 }), 'done']);
  await at.channel.deliver({ platformId: 'm1', text: 'wait' });
  await at.daemon.gateway.idle();
  expect(at.told()).toBe('Error: timed out after 1 s, and ended with all that it started\nbegun');
});

test('without the section, or where no sandbox works, no tool runs programs, and status says why', async () => {
  await using none = await scene(['done'], {});
  await none.channel.deliver({ platformId: 'm1', text: 'hi' });
  await none.daemon.gateway.idle();
  expect(none.model.requests[0]?.tools.map(({ name }) => name)).not.toContain('shell');
  expect(none.daemon.programs.status).toBeUndefined();

  await using off = await scene(['done'], { sandbox: { mode: 'macos' } });
  await off.channel.deliver({ platformId: 'm1', text: 'hi' });
  await off.daemon.gateway.idle();
  expect(off.model.requests[0]?.tools.map(({ name }) => name)).not.toContain('shell');
  expect(off.daemon.programs.status).toMatchObject({ problem: expect.any(String), hint: expect.any(String) });
});

test('a command that is never right is refused in every mode, and one that may be is asked about', async (context) => {
  needsSandbox(context);
  await using at = await scene([shell('rm  -rf   /'), shell('rm -rf build'), 'done']);
  await at.channel.deliver({ platformId: 'm1', text: 'clean up' });
  await until('a question', () => at.channel.sent.find(({ text }) => text.includes('May I use shell')));
  const refused = at.model.requests[1]?.messages.findLast(({ role }) => role === 'tool')?.content;
  expect(refused).toBe('Error: shell is not allowed: commands such as `rm -rf /` are never run.');
  const question = at.channel.sent.at(-1)?.text;
  expect(question).toContain('`rm -rf` needs a yes each time');
  expect(question).toContain('in the workspace of this conversation, as its 0 files are now');
});

test('what changes in the workspace between the question and the yes makes the yes void', async (context) => {
  needsSandbox(context);
  await using at = await scene([shell('sh tidy.sh'), 'done'], { sandbox: {} }, { mode: 'guarded' });
  await at.channel.deliver({ platformId: 'm1', text: 'tidy up' });
  const asked = () => at.channel.sent.filter(({ text }) => text.includes('May I use shell'));
  await until('a question', () => asked().length === 1);
  const workspace = await workspaceIn(at.dir);
  await writeFile(join(workspace, 'tidy.sh'), 'touch harm\n');
  const code = /\/allow (\w+)/.exec(asked()[0]?.text ?? '')?.[1];
  await at.channel.deliver({ platformId: 'm2', text: `/allow ${code}` });
  await until('it is asked anew', () => asked().length === 2);
  expect(await readdir(workspace)).toEqual(['tidy.sh']);
});
