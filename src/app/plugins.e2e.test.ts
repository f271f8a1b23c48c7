// The whole daemon with plugins: approved by the command line, run in the real sandbox, and what becomes of them.
import { glob, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, type TestContext, test } from 'vitest';
import { openJournal } from '../journal/open.ts';
import { systemClock } from '../lib/clock.ts';
import { tempDir } from '../testing/fakes.ts';
import { needs } from '../testing/needs.ts';
import { type MadePlugin, makePlugin } from '../testing/plugin.ts';
import { type Script, scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';
import { approvePlugin } from '../tools/plugins/pin.ts';
import { StagedPlugin } from '../tools/plugins/store.ts';

const OWNER = { owner: [{ channel: 'test', chat_id: 'chat-1', sender_ids: ['user-1'] }] };

function needsSandbox(context: TestContext): void {
  needs(context, 'bwrap', '--ro-bind', '/', '/', '--unshare-all', '--proc', '/proc', 'true');
}

async function approve(dataDir: string, made: MadePlugin, flags: readonly ('network' | 'effects')[] = []): Promise<void> {
  await mkdir(join(dataDir, 'plugins'), { recursive: true });
  const directory = await makePlugin(join(dataDir, 'plugins'), made);
  await using staged = await StagedPlugin.of(dataDir, directory);
  await staged.keep();
  await using opened = await openJournal({ dir: dataDir, clock: systemClock, checks: false, sync: 'in-commit' });
  await approvePlugin(opened, staged.code, { flags, by: 'cli' });
}

async function scene(dataDir: string, script: Script, sections: Record<string, unknown> = { sandbox: {} }) {
  const model = scriptedModel(script);
  const rig = await testDaemon({ dataDir, model, gateway: OWNER, policy: { mode: 'full' }, sections });
  return {
    ...{ ...rig, model },
    told: () => model.requests.at(-1)?.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : [])) ?? [],
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}

async function dataDirectory(): Promise<string> {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  return join(dir.path, 'data');
}

const hello = (args: Record<string, unknown> = {}) => ({ toolCalls: [{ name: 'plugin__greet__hello', arguments: args }] });

test('a tool of an approved plugin is run in the sandbox, with its arguments, in the workspace of the session', async (context) => {
  needsSandbox(context);
  const dataDir = await dataDirectory();
  const script =
    '#!/bin/sh\ncat > note; echo working >&2; printf \'{"output":"%s in %s","success":true}\' "$1" "$GATEHOUSE_WORK_DIR"\n';
  await approve(dataDir, { name: 'greet', script });
  await using at = await scene(dataDir, [hello({ text: 'hi' }), 'done']);
  await at.channel.deliver({ platformId: 'm1', text: 'greet' });
  await at.daemon.gateway.idle();
  expect(at.told()).toEqual(['hello in /workspace']);
  const notes: string[] = [];
  for await (const path of glob('workspaces/*/*/note', { cwd: dataDir })) notes.push(path);
  expect(await readFile(join(dataDir, notes[0] ?? ''), 'utf8')).toBe('{"text":"hi"}');
});
