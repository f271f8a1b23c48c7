// What tools are told of the run they are made for, and which of them a run is offered.
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { NewRun } from '../core/new-run.ts';
import type { RunScope } from '../core/tool.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { testDaemon } from '../testing/test-daemon.ts';
import { defineBoundTool, defineTool } from '../tools/define.ts';

/**
 * All that a tool takes which needs a capability of the channel; its other line is the entry in `extraTools`.
 */
const applaud = defineBoundTool({
  name: 'applaud',
  description: 'Claps.',
  schema: z.strictObject({}),
  tags: [],
  effect: 'outside',
  act: 'home',
  idempotent: true,
  bind: ({ answer }) => answer?.react,
  async run(_args, { signal }, react) {
    await react('👏', signal);
    return 'Clapped';
  },
});

async function scene(channel: TestChannel) {
  const dir = await tempDir();
  const scopes: RunScope[] = [];
  const watch = (scope: RunScope) => {
    scopes.push(scope);
    return [];
  };
  const model = scriptedModel([{ toolCalls: [{ name: 'applaud' }] }, 'Well done!']);
  const rig = await testDaemon({
    dataDir: dir.path,
    model,
    channel,
    policy: { members: ['applaud'] },
    daemon: { extraTools: [applaud, watch] },
  });
  return {
    ...rig,
    scopes,
    model,
    offered: () => model.requests[0]?.tools.map(({ name }) => name),
    async [Symbol.asyncDispose]() {
      await rig[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('a tool that needs a capability of the channel works where the channel has it', async () => {
  await using at = await scene(new TestChannel('test').withReactions());
  await at.channel.deliver({ platformId: 'm7', text: 'I passed!' });
  await at.daemon.gateway.idle();
  expect(at.offered()).toContain('applaud');
  expect(at.channel.reactions).toEqual([{ platformId: 'm7', emoji: '👏' }]);
  expect(at.channel.texts()).toEqual(['Well done!']);
});

test('a tool that needs a capability of the channel is not offered where the channel lacks it', async () => {
  await using at = await scene(new TestChannel('test'));
  await at.channel.deliver({ text: 'I passed!' });
  await at.daemon.gateway.idle();
  expect(at.offered()).toEqual(['read_file', 'write_file', 'list_dir', 'send_file', 'offer_choices']);
});

test('the scope of a run that a message began names its session, who asked, and the chat of the answer', async () => {
  await using at = await scene(new TestChannel('test').withReactions());
  await at.channel.deliver({ text: 'I passed!', chatId: 'room', threadId: 't', senderId: 'ann' });
  await at.daemon.gateway.idle();
  expect(at.scopes).toHaveLength(1);
  expect(at.scopes[0]).toMatchObject({
    session: expect.stringContaining('room'),
    authority: { principal: 'test:ann' },
    channel: 'test',
    answer: { react: expect.any(Function) },
  });
  expect(at.scopes[0]?.origin).toEqual({ channel: 'test', account: 'bot', chatId: 'room', threadId: 't', isGroup: false });
});

test('a run that tells no chat is offered nothing that adds to an answer', async () => {
  await using at = await scene(new TestChannel('test').withReactions());
  const run: NewRun = {
    key: 'job/j1/0',
    source: { kind: 'job', job: 'j1', due: 0 },
    profile: 'session',
    lane: 'job:j1',
    session: '_main:job:j1',
    prompt: { text: 'Clean up.', media: [], at: '2026-01-01T00:00:00.000Z' },
    authority: { principal: 'job:j1', role: 'member', mode: 'guarded', policies: [] },
  };
  await at.daemon.journal.commit([{ kind: 'run', run }]);
  await until('the model was asked twice', () => at.model.requests.length === 2);
  await at.daemon.gateway.idle();
  expect(at.offered()).toEqual(['read_file', 'write_file', 'list_dir']);
  const { session, authority } = run;
  expect(at.scopes[0]).toMatchObject({ session, authority, channel: 'job' });
  expect(at.scopes[0]).not.toHaveProperty('origin');
  expect(at.scopes[0]).not.toHaveProperty('answer');
});

test('an output that is too large to be shown is kept in the workspace, and the model reads it there', async () => {
  await using dir = await tempDir();
  const text = Array.from({ length: 20_000 }, (_, i) => `line ${i + 1}`).join('\n');
  const talk = defineTool({
    ...{ name: 'talk', description: 'Talks.', tags: [], effect: 'none' as const, schema: z.strictObject({}) },
    run: async () => text,
  });
  const shown: string[] = [];
  const model = scriptedModel(({ messages }) => {
    const last = messages.at(-1);
    if (last?.role !== 'tool') return { toolCalls: [{ name: 'talk' }] };
    shown.push(last.content);
    const [path] = /\.gatehouse\/outputs\/[\w-]+\.txt/.exec(last.content) ?? [];
    return path ? { toolCalls: [{ name: 'read_file', arguments: { path, start_line: 12_345, end_line: 12_345 } }] } : 'Read.';
  });
  await using at = await testDaemon({
    dataDir: dir.path,
    model,
    policy: { members: ['talk'] },
    daemon: { extraTools: [() => [talk]] },
  });
  await at.channel.deliver({ text: 'talk' });
  await at.daemon.gateway.idle();
  expect(at.channel.texts()).toEqual(['Read.']);
  expect(shown[0]).toMatch(/^line 1\n[\s\S]*all \d+ bytes are in [\s\S]*line 20000$/);
  expect(Buffer.byteLength(shown[0] ?? '')).toBeLessThanOrEqual(50_000);
  expect(shown[1]).toBe('12345│ line 12345\n');
});
