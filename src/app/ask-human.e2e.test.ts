// The tool ask_human through the whole daemon: a scripted model, a channel in memory, a journal on disk.
import { expect, test } from 'vitest';
import type { ModelRequest } from '../core/model.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { type ScriptFunction, scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';

const ALL = { members: ['ask_human'], guests: [] };

/** Each message that begins with “ask” makes the calls; what they came to is the answer. */
function asker(...calls: readonly (readonly Readonly<Record<string, unknown>>[])[]): ScriptFunction {
  let next = 0;
  return (request) => {
    const last = request.messages.findLast(({ role, id }) => role === 'user' && !id.endsWith('#note'));
    if (!last?.content.startsWith('ask')) return `did ${last?.content}`;
    const results = request.messages.slice(request.messages.indexOf(last)).filter(({ role }) => role === 'tool');
    if (results.length > 0) return `came: ${results.map(({ content }) => content).join(' | ')}`;
    const args = calls[Math.min(next, calls.length - 1)] ?? [];
    next += 1;
    return { text: '', toolCalls: args.map((one) => ({ name: 'ask_human', arguments: one })) };
  };
}

const said = ({ messages }: ModelRequest): string => messages.map(({ content }) => content).join('\n');

async function start(dataDir: string, model: ReturnType<typeof scriptedModel>, more: object = {}): Promise<TestDaemon> {
  return await testDaemon({ dataDir, model, channel: new TestChannel('test'), policy: ALL, ...more });
}

const codeIn = (text = ''): string => /\/(?:answer|allow) ([A-Z2-9]{6})/.exec(text)?.[1] ?? '';

test('the person is asked in their chat, and their next words are the result of the call', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(asker([{ question: 'Which colour?' }]));
  await using rig = await start(dir.path, model);
  await rig.channel.deliver({ text: 'ask', timestamp: Date.now() });
  const question = await until('it is asked', () => rig.channel.texts().find((text) => text.includes('Which colour?')));
  expect(question).toMatch(
    /^❓ Which colour\?\nAnswer with your next message here, or with `\/answer \w{6} …`, or decline with `\/deny \w{6}`, within 7 days\.$/,
  );
  await rig.channel.deliver({ text: 'sea green', timestamp: Date.now() });
  await until('it is answered', () => rig.channel.texts().includes('came: sea green'));
  expect(rig.channel.texts()).toEqual([question, '✅ Noted.', 'came: sea green']);
  expect(model.requests).toHaveLength(2);
  expect(said(model.requests[1] as ModelRequest)).toContain('sea green');
  expect(codeIn(question)).not.toBe('');
});
