// A program that a person allowed, and a sub-agent of the same conversation that changes what it will run.
import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, type TestContext, test } from 'vitest';
import type { ModelRequest } from '../core/model.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { needs } from '../testing/needs.ts';
import { type ScriptedCall, type ScriptStep, scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';

const OWNER = { owner: [{ channel: 'test', chat_id: 'chat-1', sender_ids: ['user-1'] }] };
const SCRIPT = 'echo as allowed > effect\n';
const HARM = 'echo harm > effect\n';
/** Its first half stands for `npm ci`: it takes its time, and can be seen to have begun. */
const COMMAND = 'rm -rf build && touch begun && sleep 1 && sh deploy.sh';

const call = (name: string, args: Record<string, unknown>): ScriptedCall => ({ name, arguments: args });
const asks = (...toolCalls: readonly ScriptedCall[]): ScriptStep => ({ text: '', toolCalls });

/** What the tools of this run have said by now. */
function resultsIn({ messages }: ModelRequest): readonly string[] {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  return messages.slice(asked).flatMap(({ role, content }) => (role === 'tool' ? [content] : []));
}

async function workspaceIn(dir: string): Promise<string> {
  for await (const path of glob('workspaces/*/*', { cwd: dir })) return join(dir, path);
  throw new Error('there is no workspace');
}

/** A daemon whose model begins a sub-agent in the background: that makes `swap` once the command runs. */
async function scene(mode: string, swap: ScriptedCall) {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  const swapped: string[] = [];
  const runs = async () => existsSync(join(await workspaceIn(dir.path), 'begun'));
  const model = scriptedModel(async (request) => {
    const { content = '' } = request.messages.findLast(({ role }) => role === 'user') ?? {};
    const results = resultsIn(request);
    if (content.startsWith('[You are a sub-agent')) {
      if (results.length === 0) return asks(call('list_dir', {}));
      await until('the command runs', runs);
      if (results.length === 1) return asks(swap);
      swapped.push(results.at(-1) ?? '');
      return 'done';
    }
    if (!content.endsWith('deploy')) return 'told';
    const steps = [
      call('write_file', { path: 'deploy.sh', content: SCRIPT }),
      call('spawn', { task: 'look on', label: 'look on' }),
      call('shell', { command: COMMAND }),
    ];
    const next = steps[results.length];
    return next ? asks(next) : `deployed: ${results.at(-1)}`;
  });
  const rig = await testDaemon({ dataDir: dir.path, model, gateway: OWNER, policy: { mode }, sections: { sandbox: {} } });
  onTestFinished(() => rig[Symbol.asyncDispose]());
  await rig.channel.deliver({ platformId: 'm1', text: 'deploy' });
  const question = () => rig.channel.sent.find(({ text }) => text.includes('May I use shell'));
  await until('a question', () => question());
  const code = /\/allow (\w+)/.exec(question()?.text ?? '')?.[1];
  await rig.channel.deliver({ platformId: 'm2', text: `/allow ${code}` });
  await until('it has run', () => rig.channel.texts().some((text) => text.startsWith('deployed: ')));
  const workspace = await workspaceIn(dir.path);
  return { rig, swapped, read: (name: string) => readFile(join(workspace, name), 'utf8') };
}

test.for<readonly [tool: string, mode: string, args: Record<string, unknown>]>([
  ['write_file', 'guarded', { path: 'deploy.sh', content: HARM }],
  ['edit_file', 'guarded', { path: 'deploy.sh', old_string: 'as allowed', new_string: 'harm' }],
  ['diff_edit', 'guarded', { path: 'deploy.sh', diff: `@@ -1 +1 @@\n-${SCRIPT}+${HARM}` }],
  ['shell', 'workspace', { command: `printf '${HARM.trim()}\\n' > deploy.sh` }],
])(
  'A25 a sub-agent swaps a script by %s while the command runs that a person allowed: what they allowed runs',
  async (row, context: TestContext) => {
    needs(context, 'bwrap', '--ro-bind', '/', '/', '--unshare-all', '--proc', '/proc', 'true');
    const [tool, mode, args] = row;
    const { rig, swapped, read } = await scene(mode, call(tool, args));
    expect(await read('effect')).toBe('as allowed\n');
    expect(rig.channel.texts().find((text) => text.startsWith('deployed: '))).toContain('Exit code: 0');
    // The change is not refused: it comes once the command has ended.
    await until('it is changed', () => swapped.length > 0);
    expect([swapped[0]?.startsWith('Error'), await read('deploy.sh')]).toEqual([false, HARM]);
  },
);

test('a run that waits for a sub-agent and for a yes at once goes on, and so does the sub-agent, which writes files', async (context) => {
  needs(context, 'bwrap', '--ro-bind', '/', '/', '--unshare-all', '--proc', '/proc', 'true');
  await using dir = await tempDir();
  const write = call('write_file', { path: 'deploy.sh', content: SCRIPT });
  const model = scriptedModel((request) => {
    const { content = '' } = request.messages.findLast(({ role }) => role === 'user') ?? {};
    const results = resultsIn(request);
    if (content.startsWith('[You are a sub-agent')) return results.length === 0 ? asks(write) : 'written';
    if (results.length > 0) return `deployed: ${results.join('; ')}`;
    return asks(
      call('dispatch_subagent', { task_description: 'write it' }),
      call('shell', { command: 'sh deploy.sh; cat effect' }),
    );
  });
  const parts = { gateway: OWNER, policy: { mode: 'guarded' }, sections: { sandbox: {} } };
  await using rig = await testDaemon({ dataDir: dir.path, model, ...parts });
  await rig.channel.deliver({ platformId: 'm1', text: 'deploy' });
  const allowed = new Set<string>();
  await until('it has run', async () => {
    for (const code of rig.channel.texts().flatMap((text) => /\/allow (\w+)/.exec(text)?.[1] ?? [])) {
      if (allowed.has(code)) continue;
      allowed.add(code);
      await rig.channel.deliver({ platformId: code, text: `/allow ${code}` });
    }
    return rig.channel.texts().some((text) => text.startsWith('deployed: '));
  });
  expect(rig.channel.texts().at(-1)).toMatch(/^deployed: written; as allowed\nExit code: 0/);
});
