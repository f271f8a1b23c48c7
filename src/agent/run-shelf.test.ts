import { expect, test } from 'vitest';
import type { ModelRequest } from '../core/model.ts';
import { agentRun, countingTool, MemoryStepLog } from '../testing/agent-run.ts';
import { type Script, scriptedModel } from '../testing/scripted-model.ts';
import { runAgent } from './run.ts';

const FILES = ['read', 'stat', 'move'].map((name) => countingTool({ name: `mcp__files__${name}` }));
const OTHERS = Array.from({ length: 14 }, (_, n) => countingTool({ name: `mcp__notes__tool_${n}` }));
const TOOLS = [countingTool({ name: 'read_file' }), ...FILES, ...OTHERS];

const described = ({ tools }: ModelRequest): readonly string[] => tools.map(({ name }) => name);

const SCRIPT: Script = [
  { toolCalls: [{ name: 'activate_tools', arguments: { group: 'mcp__files' } }] },
  { toolCalls: [{ name: 'mcp__files__stat' }, { name: 'mcp__notes__tool_3' }] },
  'done',
];

test('a group is described after the model asked for it, and a tool that is not described can be called', async () => {
  const model = scriptedModel(SCRIPT);
  const result = await runAgent(agentRun({ tools: TOOLS, model }));

  expect(result.outcome).toEqual({ kind: 'answered', text: 'done' });
  const files = FILES.map(({ name }) => name);
  expect(model.requests.map(described)).toEqual([
    ['read_file', 'activate_tools'],
    ['read_file', ...files, 'activate_tools'],
    TOOLS.map(({ name }) => name),
  ]);
  const outputs = result.lines.filter(({ role }) => role === 'tool').map(({ content }) => content);
  expect(outputs).toEqual([
    'Described from now on:\nmcp__files: mcp__files__read, mcp__files__stat, mcp__files__move',
    'echo {}',
    'echo {}',
  ]);
});

test('a resumed run describes what it described before', async () => {
  const whole = agentRun({ tools: TOOLS, model: scriptedModel(SCRIPT) });
  await runAgent(whole);
  const upToTheLastAnswer = whole.steps.writes.slice(0, -1);
  const model = scriptedModel(['done']);
  await runAgent(agentRun({ tools: TOOLS, model, steps: new MemoryStepLog(upToTheLastAnswer) }));

  expect(model.requests.map(described)).toEqual([TOOLS.map(({ name }) => name)]);
});

test('a tool that the policy denies is neither described nor named in a group', async () => {
  const model = scriptedModel(['done']);
  const offered = <Facts extends { readonly name: string }>(tools: readonly Facts[]) =>
    tools.filter(({ name }) => !name.startsWith('mcp__files'));
  const run = agentRun({ tools: TOOLS, model });
  await runAgent({ ...run, access: { ...run.access, policy: { ...run.access.policy, offered } } });

  const tools = model.requests[0]?.tools ?? [];
  expect(tools.map(({ name }) => name)).toEqual(TOOLS.map(({ name }) => name).filter((name) => !name.startsWith('mcp__files')));
  expect(JSON.stringify(tools)).not.toContain('files');
});
