import { expect, it } from 'vitest';
import type { ToolCall } from '../core/session.ts';
import type { Tool } from '../core/tool.ts';
import { toolCall } from '../testing/tool-scope.ts';
import { ToolShelf } from './tool-shelf.ts';

function tool(name: string): Tool {
  return {
    ...{ name, description: name, parameters: {}, tags: [], effect: 'none', outputBytes: 100 },
    run: async () => ({ ok: true, output: '' }),
  };
}

const BASE = ['read_file', 'write_file', 'list_dir', 'shell'];
const many = (server: string, count: number): string[] => Array.from({ length: count }, (_, n) => `mcp__${server}__tool_${n}`);
const shelf = (...names: string[]): ToolShelf => new ToolShelf(names.map(tool));
const call = (name: string, args: unknown = {}): ToolCall => ({ id: name, name, arguments: JSON.stringify(args) });
const namesOf = (tools: readonly Tool[]): string[] => tools.map(({ name }) => name);

it('fifteen tools are all described, and there is nothing to activate', () => {
  const at = shelf(...BASE, ...many('files', 11));
  expect(at.described(1)).toHaveLength(15);
  expect(at.own).toEqual([]);
});

it('of more only the base tools are described, and the others are named by group', () => {
  const at = shelf(...BASE, 'cron', ...many('files', 9), ...many('memory', 3));
  const described = at.described(1);
  expect(namesOf(described)).toEqual([...BASE, 'activate_tools']);
  expect(described.at(-1)?.description).toContain(
    'schedule: cron\nmcp__files: tool_0, tool_1, tool_2, 6 more\nmcp__memory: tool_0, tool_1, tool_2',
  );
  expect(namesOf(at.own)).toEqual(['activate_tools']);
});

it('a group is described from the next model call on: asked for by its name, by that of a tool, or by a call', () => {
  const asked = [call('activate_tools', { group: 'mcp__files' }), call('activate_tools', { tools: ['mcp__files__tool_1'] })];
  for (const used of [...asked, call('mcp__files__tool_2')]) {
    const at = shelf(...BASE, ...many('files', 3), ...many('memory', 12));
    at.used([used], 1);
    expect(namesOf(at.described(2))).toEqual([...BASE, ...many('files', 3), 'activate_tools']);
  }
});

it('a group that five model calls did not use is put away, and use puts that off', () => {
  const at = shelf(...BASE, ...many('files', 20));
  at.used([call('mcp__files__tool_0')], 1);
  expect(at.described(6)).toHaveLength(24);
  expect(at.described(7)).toHaveLength(5);
  at.used([call('mcp__files__tool_0')], 6);
  expect(at.described(11)).toHaveLength(24);
});

it('what was asked for wrongly activates nothing, and its answer names the groups', async () => {
  const at = shelf(...BASE, ...many('files', 20));
  for (const args of ['', '[]', 'null', '{"tools":"mcp__files"}', '{"group":7}']) {
    at.used([{ id: '1', name: 'activate_tools', arguments: args }], 1);
  }
  expect(at.described(2)).toHaveLength(5);
  const activate = at.own[0];
  const context = toolCall();
  expect(await activate?.run({ group: 'files' }, context)).toEqual({
    ok: false,
    output: 'Error: no such tool or group. There are: mcp__files',
  });
  expect(await activate?.run({ group: 'mcp__files' }, context)).toMatchObject({ ok: true });
});

it('however many groups there are, what is said of them has a limit, and a call without arguments names all', async () => {
  const servers = (count: number): string[] => Array.from({ length: count }, (_, n) => many(`server-number-${n}`, 9)).flat();
  const said = (count: number): string =>
    shelf(...BASE, ...servers(count))
      .described(1)
      .at(-1)?.description ?? '';
  expect(said(5)).toContain('mcp__server-number-4: tool_0, tool_1, tool_2, 6 more');
  expect(said(11)).toContain('mcp__server-number-10: tool_0, 8 more');
  expect(said(16)).toContain('mcp__server-number-15: 9');
  expect(said(200)).toMatch(/\n18\d more groups, named when you call this without arguments$/);
  for (const count of [5, 11, 16, 200]) expect(said(count).length).toBeLessThan(490);
  const [activate] = shelf(...BASE, ...servers(200)).own;
  expect((await activate?.run({}, toolCall()))?.output).toContain('mcp__server-number-199');
});
