// Programs that a scripted model runs in the daemon, in the real sandbox, and what becomes of them.
import { execFile, spawn } from 'node:child_process';
import { glob, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, onTestFinished, type TestContext, test } from 'vitest';
import { SHIPPED_BOUNDS } from '../testing/child-daemon.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { isFullLoad } from '../testing/full-load.ts';
import { callPieces, messagesOf, stream, textPieces } from '../testing/model-server.ts';
import { needs } from '../testing/needs.ts';
import { byLoad } from '../testing/sample.ts';
import { type Script, scriptedModel } from '../testing/scripted-model.ts';
import { SteadyClock } from '../testing/steady-clock.ts';
import { telegramScene } from '../testing/telegram/scene.ts';
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
  /** Default: a new one, which is removed after the test. */
  dataDir?: string,
) {
  const dir = dataDir === undefined ? await newDirectory() : { path: dataDir };
  const model = scriptedModel(script);
  const rig = await testDaemon({ dataDir: dir.path, model, gateway: OWNER, policy, sections });
  return {
    ...{ ...rig, dir: dir.path, model },
    /** What the model was last told of a tool. */
    told: () => model.requests.at(-1)?.messages.findLast(({ role }) => role === 'tool')?.content,
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}

async function newDirectory() {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  return dir;
}

/** Of the one session there is. */
async function workspaceIn(dir: string): Promise<string> {
  for await (const path of glob('workspaces/*/*', { cwd: dir })) return join(dir, path);
  throw new Error('there is no workspace');
}

/** Made before the first tool is called. */
async function workspaceOf(at: Awaited<ReturnType<typeof scene>>): Promise<string> {
  await at.channel.deliver({ platformId: 'm1', text: 'hi' });
  await at.daemon.gateway.idle();
  return await workspaceIn(at.dir);
}

/** All that the model was told of tools, oldest first. */
const toldIn = ({ model }: Pick<Awaited<ReturnType<typeof scene>>, 'model'>): readonly string[] =>
  model.requests.at(-1)?.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : [])) ?? [];

async function processesWith(mark: string): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'args']);
  return stdout.split('\n').filter((line) => line.includes(mark));
}

test('a program works in the workspace of its session, and sees neither the state nor a key of the daemon', async (context) => {
  needsSandbox(context);
  process.env['GATEHOUSE_TEST_KEY'] = 'canary-of-the-environment';
  const look = 'echo made > note; cat /proc/*/environ "$STATE"/* 2>&1 | tr "\\0" "\\n"; ls; echo ~';
  await using at = await scene((request) =>
    request.messages.some(({ role }) => role === 'tool') ? 'done' : shell(look.replace('$STATE', join(at.dir, 'sessions'))),
  );
  await at.channel.deliver({ platformId: 'm1', text: 'look around' });
  await at.daemon.gateway.idle();

  expect(at.told()).toContain('note\n/workspace\nExit code: 0');
  expect(at.told()).not.toContain('canary');
  expect(await readFile(join(await workspaceIn(at.dir), 'note'), 'utf8')).toBe('made\n');
});

test('A25 a command runs alone: no file of its HOME, which the model may write, is run before it', async (context) => {
  needsSandbox(context);
  const content = 'echo made > by-startup-file\n';
  const files = ['.bashrc', '.bash_profile', '.profile', '.bash_login', '.bash_logout'];
  const writes = files.map((path) => ({ toolCalls: [{ name: 'write_file', arguments: { path, content } }] }));
  await using at = await scene([...writes, shell('ls -A'), 'done']);
  await at.channel.deliver({ platformId: 'm1', text: 'look' });
  await at.daemon.gateway.idle();

  expect(at.told()).toContain('.bashrc\n');
  expect(at.told()).not.toContain('by-startup-file');
});

test('grep searches the workspace, by expressions that cannot be flags, and leaves out what git ignores there', async (context) => {
  needsSandbox(context);
  const write = `printf 'one two\\n--two\\n' > a.txt; printf 'two\\n' > b.log; printf '*.log\\n' > .gitignore
    mkdir -p .config/git; echo a.txt > .config/git/ignore; printf '[core]\\nexcludesFile = .config/git/ignore\\n' > .gitconfig`;
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

/** Keys of git whose value is run, or can lead to one that is. */
const NAMING_PROGRAMS = [
  ...[
    'core.fsmonitor',
    'core.pager',
    'core.editor',
    'core.sshCommand',
    'core.askPass',
    'core.gitProxy',
    'core.alternateRefsCommand',
  ],
  ...['diff.external', 'diff.x.textconv', 'diff.x.command', 'filter.x.clean', 'filter.x.smudge', 'filter.x.process'],
  ...[
    'pager.status',
    'pager.diff',
    'pager.log',
    'pager.show',
    'pager.blame',
    'alias.status',
    'alias.log',
    'interactive.diffFilter',
  ],
  ...['credential.helper', 'gpg.program', 'gpg.ssh.program', 'gpg.x509.program', 'gpg.ssh.defaultKeyCommand', 'sequence.editor'],
  ...['remote.origin.uploadpack', 'remote.origin.vcs', 'uploadpack.packObjectsHook', 'trailer.x.command', 'merge.x.driver'],
];

test('git shows a repository of the workspace, and runs none of the programs that it names', async (context) => {
  needsSandbox(context);
  needs(context, 'git', '--version');
  const author = '-c user.name=A -c user.email=a@site.example';
  const make = [
    ...['git init -q -b main repo', 'cd repo', 'echo one > a.txt', 'git add .', `git ${author} commit -q -m First`],
    ...['echo two >> a.txt', `git ${author} commit -q -a -m Second`, 'echo three >> a.txt', 'echo new > b.txt'],
    ...[`for name in ${NAMING_PROGRAMS.join(' ')}`, 'do git config "$name" "touch /workspace/ran; cat #"; done'],
    ...['echo "*.txt diff=x filter=x" > .git/info/attributes', 'cp .git/info/attributes .gitattributes'],
    ...["printf '#!/bin/sh\\ntouch /workspace/ran\\n' > .git/hooks/post-index-change", 'chmod +x .git/hooks/post-index-change'],
    ...['cp .git/config .git/config.worktree', 'cp .git/config .git/more', 'git config include.path more'],
    ...['for name in extensions.worktreeConfig filter.x.required log.showSignature submodule.recurse status.submoduleSummary'],
    ...['do git config "$name" true; done', 'git config diff.submodule log'],
    ...['git config core.hooksPath .git/hooks', 'cp .git/config /workspace/.gitconfig'],
    ...['git config branch.main.remote origin', 'git config branch.main.merge refs/heads/main'],
    ...["git config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'", 'git config remote.origin.url ext::sh'],
    'git update-ref refs/remotes/origin/main HEAD~1',
  ];
  const git = (action: string, more: Record<string, unknown> = {}) => ({
    toolCalls: [{ name: 'git', arguments: { action, path: 'repo', ...more } }],
  });
  const file = { path: 'repo/a.txt' };
  await using at = await scene([
    ...[shell(make.join('; ')), git('status'), git('diff'), git('log', { count: 1 }), git('show', { ref: 'HEAD~1' })],
    ...[
      git('blame', file),
      git('log', { path: 'repo/gone.txt' }),
      git('diff', { ref: '--output=x' }),
      git('log', { path: '../..' }),
    ],
    ...[git('blame'), shell('ls')],
    'done',
  ]);
  await at.channel.deliver({ platformId: 'm1', text: 'what changed?' });
  await at.daemon.gateway.idle();
  const told = toldIn(at);
  expect(told[10]).toBe('repo\nExit code: 0');
  expect(told[1]).toBe('## main...origin/main [ahead 1]\n M a.txt\n?? .gitattributes\n?? b.txt');
  expect(told[2]).toContain('+three');
  expect(told[3]).toMatch(/^[0-9a-f]{7,} \d{4}-\d\d-\d\d A: Second$/);
  expect(told[4]).toContain('+one');
  expect(told[5]).toMatch(/\(A +\d{4}-\d\d-\d\d +2\) two/);
  expect(told.slice(6, 10)).toEqual([
    'No commits',
    'Error: a ref does not begin with -',
    expect.stringContaining('Error: path "../.."'),
    'Error: blame needs the path of a file',
  ]);
});

test('git takes no repository that the model wrote itself, and no settings from the workspace', async (context) => {
  needsSandbox(context);
  needs(context, 'git', '--version');
  const write = (path: string, content: string) => ({ toolCalls: [{ name: 'write_file', arguments: { path, content } }] });
  const git = (action: string, path: string) => ({ toolCalls: [{ name: 'git', arguments: { action, path } }] });
  // Its commit is missing, so git would fetch it from the remote.
  const bare = [
    ...['[core]', 'repositoryformatversion = 1', 'bare = true', 'sshCommand = "touch /workspace/ran; false"'],
    ...['[extensions]', 'partialClone = origin', '[remote "origin"]', 'promisor = true', 'url = ssh://x/y', ''],
  ].join('\n');
  await using at = await scene(
    [
      ...['hello', write('r/HEAD', 'ref: refs/heads/main\n'), write('r/refs/heads/main', `${'a'.repeat(40)}\n`)],
      ...[write('r/objects/k', ''), write('r/config', bare), git('show', 'r'), git('log', 'r'), git('status', 'r/objects')],
      ...[write('.gitconfig', '[filter "x"]\nclean = touch /workspace/ran\n[core]\nfsmonitor = touch /workspace/ran\n')],
      ...[write('.gitattributes', '* filter=x\n'), git('diff', 'real'), git('status', 'real/a.txt'), git('show', 'real')],
      'done',
    ],
    { sandbox: {} },
    { mode: 'guarded' },
  );
  const workspace = await workspaceOf(at);
  // A clone that a person put there: the model could not have made it.
  const real = join(workspace, 'real');
  const author = ['-c', 'user.name=A', '-c', 'user.email=a@site.example'];
  const run = promisify(execFile);
  await run('git', ['init', '-q', '-b', 'main', real]);
  for (const text of ['one\n', 'two\n']) {
    await writeFile(join(real, 'a.txt'), text);
    await writeFile(join(real, '.gitattributes'), '* filter=x\n');
    if (text === 'one\n') await run('git', ['-C', real, 'add', '.']);
    if (text === 'one\n') await run('git', ['-C', real, ...author, 'commit', '-q', '-m', 'First']);
  }
  await at.channel.deliver({ platformId: 'm2', text: 'look at both' });
  await at.daemon.gateway.idle();
  expect((await readdir(workspace)).toSorted()).toEqual(['.gitattributes', '.gitconfig', 'r', 'real']);
  expect(at.channel.texts().join()).not.toContain('May I use');
  const told = toldIn(at);
  expect(told[4]).toBe('Error: not a git repository, and nor is a directory above it');
  expect(told.slice(5, 7)).toEqual([told[4], told[4]]);
  expect(told[9]).toContain('-one\n+two');
  expect(told[10]).toBe('## main\n M a.txt');
  expect(told[11]).toContain('First');
});

test('git follows the link of a worktree within the workspace, and none that leads out', async (context) => {
  needsSandbox(context);
  needs(context, 'git', '--version');
  const author = '-c user.name=A -c user.email=a@site.example';
  const make = [
    ...['git init -q -b main repo', 'cd repo', 'echo one > a.txt', 'git add .', `git ${author} commit -q -m First`],
    ...[
      'git worktree add -q -b side ../tree',
      'git config core.worktree /usr',
      // No name of a remote, and a value with a line of its own.
      "git config branch.side.remote 'ext::touch /workspace/ran'",
      `git config branch.side.merge "$(printf 'refs/heads/main\\n[core]\\nfsmonitor = false')"`,
      'cd ..',
      'echo new > tree/b.txt',
      'mkdir out link wrong sha',
    ],
    ...["echo 'gitdir: /usr' > out/.git", 'ln -s ../repo/.git link/.git', 'echo x > wrong/.git'],
    ...['git init -q --object-format=sha256 sha', 'cd sha', 'echo x > x', 'git add x', `git ${author} commit -q -m Long`],
  ];
  const git = (action: string, path: string) => ({ toolCalls: [{ name: 'git', arguments: { action, path } }] });
  const looks = [git('status', 'tree'), git('log', 'tree'), git('status', 'out'), git('status', 'link'), git('status', 'wrong')];
  await using at = await scene([shell(make.join(' && ')), ...looks, git('log', 'sha'), 'done']);
  await at.channel.deliver({ platformId: 'm1', text: 'look' });
  await at.daemon.gateway.idle();
  const told = toldIn(at);
  expect(told[0]).toContain('Exit code: 0');
  expect(told[1]).toBe('## side\n?? b.txt');
  expect(told[2]).toMatch(/ A: First$/);
  expect(told.slice(3, 6)).toEqual([
    'Error: the repository lies outside the workspace',
    'Error: .git is a symbolic link, which tools do not follow',
    'Error: .git names no repository',
  ]);
  expect(told[6]).toMatch(/ A: Long$/);
});

test('without a sandbox grep and git need a yes below mode full, as every program does', async (context) => {
  needs(context, 'git', '--version');
  needs(context, 'rg', '--version');
  const calls = [
    { name: 'grep', arguments: { pattern: 'x' } },
    { name: 'git', arguments: { action: 'log' } },
    { name: 'shell', arguments: { command: 'true' } },
  ];
  for (const call of calls) {
    for (const mode of ['guarded', 'workspace', 'full'] as const) {
      await using at = await scene([{ toolCalls: [call] }, 'done'], { sandbox: { mode: 'none' } }, { mode });
      await at.channel.deliver({ platformId: 'm1', text: 'look' });
      const asked = () => at.channel.texts().some((text) => text.includes(`May I use ${call.name}`));
      const wanted = mode === 'full' ? 'is answered' : 'is asked about';
      await until(`${call.name} in mode ${mode} ${wanted}`, () => asked() || at.channel.texts().includes('done'));
      expect(asked(), `${call.name} in mode ${mode}`).toBe(mode !== 'full');
      expect(at.told() === undefined, `${call.name} in mode ${mode}`).toBe(mode !== 'full');
    }
  }
});

test('a run that waits is parked, lets others of the chat through and goes on by itself', async () => {
  const isTold = (messages: readonly { readonly role: string }[]) => messages.at(-1)?.role === 'tool';
  await using at = await scene(
    ({ messages }) => (isTold(messages) ? 'waited' : { toolCalls: [{ name: 'wait', arguments: { seconds: 1 } }] }),
    {},
  );
  await at.channel.deliver({ platformId: 'm1', text: 'a moment' });
  await until('it is parked', async () => (await at.daemon.journal.counts()).inbox.PARKED === 1);
  await until('it goes on', () => at.channel.sent.some(({ text }) => text.includes('waited')));
  expect(at.told()).toBe('Waited 1 s');
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

test('from the commit of /stop on: answer and permit within 500 ms, a group that ignores TERM gone within 1.5 s, and the next turn knows', async (context) => {
  needsSandbox(context);
  const mark = `37${process.pid}9`;
  await using at = await scene([shell(`trap '' TERM; while :; do sleep ${mark}; done`), 'I know']);
  await at.channel.deliver({ platformId: 'm1', text: 'run on and on' });
  await until('it runs', async () => (await processesWith(`sleep ${mark}`)).length >= 1);
  await at.channel.deliver({ platformId: 'm2', text: '/stop' });
  // The time in which this process ran: how long a busy machine lets it stand still is no delay of ours.
  const clock = new SteadyClock();
  const looking = setInterval(() => clock.monotonic(), 10);
  onTestFinished(() => clearInterval(looking));
  const committedAt = clock.monotonic();
  const after = async (what: string, is: () => boolean | Promise<boolean>): Promise<number> => {
    await until(what, is);
    return clock.monotonic() - committedAt;
  };
  const [answered, free, gone] = await Promise.all([
    after('it is answered', () => at.channel.texts().some((text) => text.startsWith('🛑'))),
    after('the permit is free', () => at.daemon.lanes.stats().running === 0),
    after('the group is gone', async () => (await processesWith(mark)).length === 0),
  ]);
  expect({ answered, free, gone }).toEqual({ answered: below(500), free: below(500), gone: below(1_500) });
  await at.channel.deliver({ platformId: 'm3', text: 'and now?' });
  await until('the next one is answered', () => at.channel.texts().includes('I know'));
  const told = at.model.requests.at(-1)?.messages.map(({ content }) => content) ?? [];
  expect(told).toContainEqual(expect.stringContaining('outcome unknown'));
  expect(told).toContain('[interrupted]');
});

const below = (ms: number) => expect.toSatisfy((value: number) => value < ms);

test.skipIf(!isFullLoad())(
  'F31 100 MB that a program prints are kept where read_file pages them, and cost the daemon at most 30 MB',
  async (context) => {
    needsSandbox(context);
    const print = 'yes 0123456789012345678901234567890123456789012345678 | head -c 100000000; echo problem >&2';
    let told: readonly string[] = [];
    await using at = await telegramScene({
      entry: { allowed_senders: ['7'] },
      gateway: { owner: [{ channel: 'telegram', chat_id: '7', sender_ids: ['7'] }] },
      config: { sandbox: {}, tool_policy: { mode: 'full' } },
      script: (request) => {
        const messages = messagesOf(request);
        const asked = messages.findLastIndex(({ role }) => role === 'user');
        told = messages.slice(asked + 1).flatMap(({ role, content }) => (role === 'tool' ? [content] : []));
        const command = messages[asked]?.content.includes('warm up') ? 'yes | head -c 3000000' : print;
        const path = /\.gatehouse\/outputs\/[\w.-]+/.exec(told[0] ?? '')?.[0] ?? 'none';
        if (told.length === 0) return stream(callPieces({ name: 'shell', arguments: { command } }));
        if (told.length === 1) return stream(callPieces({ name: 'read_file', arguments: { path, start_line: 1_999_999 } }));
        return stream(textPieces('done'));
      },
    });
    await using daemon = await at.spawn({ nodeArgs: SHIPPED_BOUNDS });
    const { pid } = await daemon.ready();
    const residentMb = async () => Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_000;
    const turn = async (n: number, text: string) => {
      at.platform.inject({ chat_id: 7, from: { id: 7 }, text });
      await daemon.settled(n);
    };
    for (const n of [1, 2, 3]) await turn(n, 'warm up');
    const before = await residentMb();
    let most = before;
    const watching = setInterval(async () => {
      most = Math.max(most, await residentMb());
    }, 20);
    await turn(4, 'print a lot');
    clearInterval(watching);
    expect(Buffer.byteLength(told[0] ?? '')).toBeLessThanOrEqual(50_000);
    expect(told[0]).toMatch(/--- stderr ---\nproblem\nExit code: 0$/);
    expect(told[1]).toMatch(/^1999999│ 0123/);
    expect(most - before).toBeLessThan(30);
  },
);

test('what runs longer than it asked for is ended, and the model reads what it had said', async (context) => {
  needsSandbox(context);
  await using at = await scene([shell('echo begun; sleep 60', { timeout_secs: 1 }), 'done']);
  await at.channel.deliver({ platformId: 'm1', text: 'wait' });
  await at.daemon.gateway.idle();
  expect(at.told()).toBe('Error: timed out after 1 s, and ended with all that it started\nbegun');
});

test('what holds more memory than a call may have is ended, and the model reads why', async (context) => {
  needsSandbox(context);
  const hold = `for i in 1 2 3 4 5 6; do perl -e '$x = "x" x 12000000; sleep 20' & done; wait; echo all`;
  await using at = await scene([shell(hold), 'done'], { sandbox: { memory_mb: 64 } });
  await at.channel.deliver({ platformId: 'm1', text: 'take memory' });
  await at.daemon.gateway.idle();
  expect(at.told()).toBe(
    'Error: shell failed: GH2014: the program was ended with all that it started: its processes together held more than 64 MiB of memory (sandbox.memory_mb)',
  );
});

test('A26 without the section, or where no sandbox works, no tool runs programs, and status says why', async () => {
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

test('a yes to a program holds in a turn that began with a file', async (context) => {
  needsSandbox(context);
  await using at = await scene([shell('wc -c uploads/*; touch made'), 'done'], { sandbox: {} }, { mode: 'guarded' });
  at.channel.files.set('f', Buffer.from('notes'));
  const media = [{ kind: 'document', ref: 'f', mime: 'text/plain' } as const];
  await at.channel.deliver({ platformId: 'm1', text: 'count it', media });
  const asked = () => at.channel.sent.filter(({ text }) => text.includes('May I use shell'));
  await until('a question', () => asked().length === 1);
  const code = /\/allow (\w+)/.exec(asked()[0]?.text ?? '')?.[1];
  await at.channel.deliver({ platformId: 'm2', text: `/allow ${code}` });
  await until('it ran, or is asked anew', () => asked().length === 2 || at.channel.texts().includes('done'));
  expect([asked().length, at.channel.texts().at(-1)]).toEqual([1, 'done']);
});

test.for([
  ['the network', { allow_network: true }, 'in a sandbox (bwrap) with the network'],
  ['no sandbox', { mode: 'none' }, 'without a sandbox'],
  ['more to read', { read_allow_paths: ['/opt'] }, 'where it may also read /opt'],
] as const)('a yes to a program in a sandbox is void where a restart gave it %s', async ([_, sandbox, shown], context) => {
  needsSandbox(context);
  const { path } = await newDirectory();
  const asked = (at: Awaited<ReturnType<typeof scene>>) =>
    at.channel.sent.filter(({ text }) => text.includes('May I use shell')).map(({ text }) => text);
  let question = '';
  {
    await using at = await scene([shell('touch made'), 'done'], { sandbox: {} }, { mode: 'guarded' }, path);
    await at.channel.deliver({ platformId: 'm1', text: 'make it' });
    await until('a question', () => asked(at).length === 1);
    [question = ''] = asked(at);
  }
  await using at = await scene(['done'], { sandbox }, { mode: 'guarded' }, path);
  await at.channel.deliver({ platformId: 'm2', text: `/allow ${/\/allow (\w+)/.exec(question)?.[1]}` });
  await until('it is asked anew', () => asked(at).length === 1 || at.channel.texts().includes('done'));
  expect(await readdir(await workspaceIn(path))).toEqual([]);
  expect(question).toContain('in a sandbox (bwrap) without the network');
  expect(asked(at)[0]).toContain(shown);
});

test('a second after the start that follows a kill -9 no program of before runs, and who has the id of one lives', async (context) => {
  needsSandbox(context);
  const mark = `41${process.pid}9`;
  await using at = await telegramScene({
    entry: { allowed_senders: ['7'] },
    gateway: { owner: [{ channel: 'telegram', chat_id: '7', sender_ids: ['7'] }] },
    config: { sandbox: {}, tool_policy: { mode: 'full' } },
    script: (request) => {
      const told = messagesOf(request).at(-1);
      if (told?.role === 'tool') return stream(textPieces(`It is not known: ${told.content.includes('outcome unknown')}`));
      const command = `trap '' TERM HUP; setsid sleep ${mark} & nohup sleep ${mark} & sleep ${mark}`;
      return stream(callPieces({ name: 'shell', arguments: { command } }));
    },
  });
  // Each time other processes outlive the rest: the daemon alone is killed, its worker, both.
  const kills = byLoad([['daemon'], ['worker', 'daemon']], [['daemon'], ['worker', 'daemon'], ['worker']]);
  for (const [nth, victims] of kills.entries()) {
    await using daemon = await at.spawn();
    const { pid } = await daemon.ready();
    at.platform.inject({ chat_id: 7, from: { id: 7 }, text: `run on ${nth}` });
    await until('the programs run', async () => (await processesWith(`sleep ${mark}`)).length >= 3);
    const worker = await childOf(pid);
    for (const victim of victims) process.kill(victim === 'worker' ? worker : pid, 'SIGKILL');
    if (!victims.includes('daemon')) await daemon.settled(nth + 1);
    else await daemon.ended;
    await daemon.stop('SIGKILL');

    using innocent = aliveProcess();
    using journal = new DatabaseSync(join(daemon.dataDir, 'journal.db'));
    const { changes } = journal.prepare('UPDATE process SET pgid = ?').run(innocent.pid);
    journal.close();
    expect(changes).toBe(victims.includes('daemon') ? 1 : 0);
    await using again = await at.spawn();
    await again.ready();
    await sleep(1_000);
    expect(await processesWith(mark), victims.join()).toEqual([]);
    expect(innocent.isAlive(), victims.join()).toBe(true);
    await again.settled(nth + 1);
    await again.stop();
  }
  expect(at.texts(7)).toHaveLength(kills.length);
  expect(at.texts(7)[0]).toBe('It is not known: true');
});

/** The worker is the only child of a daemon. */
async function childOf(pid: number): Promise<number> {
  return Number((await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ')[0]);
}

function aliveProcess() {
  const child = spawn('sleep', ['600'], { stdio: 'ignore', detached: true });
  return {
    pid: child.pid ?? 0,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
}
