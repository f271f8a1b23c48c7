import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import type { SearchHit } from '../core/egress.ts';
import type { ToolSettings } from '../core/tool-settings.ts';
import { MemoryLogger, tempDir } from '../testing/fakes.ts';
import { runScope, toolCall } from '../testing/tool-scope.ts';
import { configureTool } from './configure-tool.ts';
import { openToolSettings, withDefaults } from './tool-settings.ts';
import { webSearch } from './web-search.ts';

async function scene(content?: string) {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  const file = join(dir.path, 'tool_config.json');
  if (content !== undefined) await writeFile(file, content);
  const logger = new MemoryLogger();
  const settings = openToolSettings(file, logger);
  const [tool] = configureTool({ ...runScope(), toolSettings: settings });
  const run = async (args: object) => await tool?.run(args, toolCall());
  return { dir: dir.path, file, logger, settings, run };
}

/** How many results a search asks for. */
async function counted(settings: ToolSettings, args: object = {}): Promise<number | undefined> {
  let asked: number | undefined;
  const search = async (_: string, count: number) => {
    asked = count;
    return { kind: 'found', source: 'x', hits: [] as readonly SearchHit[] } as const;
  };
  const [tool] = webSearch({ ...runScope(), webSearch: search });
  if (tool) await withDefaults(tool, settings.current['web_search']).run({ query: 'q', ...args }, toolCall());
  return asked;
}

test('what is set holds at once and over a restart, in a file of the owner alone, and a call may still say otherwise', async () => {
  const { run, settings, file } = await scene();
  expect(await run({ action: 'set', tool: 'web_search', key: 'count', value: 8 })).toEqual({
    ...{ ok: true, output: 'Set: web_search.count = 8 (built in: 5)' },
  });
  expect([await counted(settings), await counted(settings, { count: 2 })]).toEqual([8, 2]);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ web_search: { count: 8 } });
  expect(openToolSettings(file, new MemoryLogger()).current).toEqual({ web_search: { count: 8 } });
});

test('the model is told the default that holds', async () => {
  const { run, settings } = await scene();
  await run({ action: 'set', tool: 'web_search', key: 'count', value: 8 });
  const [tool] = webSearch({ ...runScope(), webSearch: async () => ({ kind: 'failed', reason: '' }) });
  if (!tool) throw new Error('no tool');
  expect(withDefaults(tool, settings.current['web_search']).parameters).toMatchObject({ properties: { count: { default: 8 } } });
  expect(tool.parameters).toMatchObject({ properties: { count: { default: 5 } } });
  expect(withDefaults(tool, undefined)).toBe(tool);
});

test('all settings are listed, one is told, and each goes back', async () => {
  const { run, settings, file } = await scene();
  await run({ action: 'set', tool: 'web_fetch', key: 'extract_mode', value: 'text' });
  await run({ action: 'set', tool: 'web_fetch', key: 'max_chars', value: 1_000 });
  await run({ action: 'set', tool: 'deep_search', key: 'max_chars_per_page', value: 500 });
  expect((await run({ action: 'list' }))?.output.split('\n')).toEqual([
    'web_search.count = 5 (as built in)',
    'web_fetch.extract_mode = "text" (built in: "markdown")',
    'web_fetch.max_chars = 1000 (built in: 50000)',
    'deep_search.count = 5 (as built in)',
    'deep_search.max_chars_per_page = 500 (built in: 20000)',
  ]);
  expect((await run({ action: 'get', tool: 'web_fetch', key: 'max_chars' }))?.output).toContain('= 1000');
  await run({ action: 'reset', tool: 'web_fetch', key: 'max_chars' });
  expect(settings.current).toEqual({ web_fetch: { extract_mode: 'text' }, deep_search: { max_chars_per_page: 500 } });
  await run({ action: 'reset', tool: 'web_fetch' });
  await run({ action: 'reset', tool: 'deep_search' });
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({});
});

test.for([
  ['web_search', 'count', 11],
  ['web_search', 'count', 0],
  ['web_search', 'count', '5'],
  ['web_search', 'count', 2.5],
  ['web_search', 'count', undefined],
  ['web_fetch', 'extract_mode', 'html'],
  ['web_fetch', 'max_chars', 100_001],
  ['web_fetch', 'url', 'http://evil.example/'],
  ['web_fetch', 'allow_domains', 'evil.example'],
  ['shell', 'timeout_secs', 600],
  ['configure_tool', 'action', 'list'],
  ['__proto__', 'count', 5],
  ['web_search', '__proto__', 5],
  ['web_search', 'constructor', 5],
])('%s.%s cannot be %s', async ([tool, key, value]) => {
  const { run, settings, dir } = await scene();
  expect((await run({ action: 'set', tool, key, value }))?.ok).toBe(false);
  expect((await run({ action: 'set', tool, key, value, more: 1 }))?.ok).toBe(false);
  expect(settings.current).toEqual({});
  expect(await readdir(dir)).toEqual([]);
});

test.for([
  ['{', 'not valid JSON'],
  ['[]', 'tool_config.json: '],
  ['{"web_search":{"count":99}}', 'web_search: count'],
  ['{"web_search":{"count":3},"shell":{"timeout_secs":600}}', 'shell'],
  ['{"web_fetch":{"allow_domains":["*"]}}', 'allow_domains'],
  [' '.repeat(70_000), 'larger than 64 KiB'],
])('a file with %s is told, left as it is, and nothing of it holds', async ([content = '', reason = '']) => {
  const { run, settings, file, logger } = await scene(content);
  expect(settings.current).toEqual({});
  expect(logger.lines).toEqual([
    expect.objectContaining({
      event: 'tool-config.unread',
      data: expect.objectContaining({ detail: expect.stringContaining(reason) }),
    }),
  ]);
  expect(await run({ action: 'set', tool: 'web_search', key: 'count', value: 3 })).toMatchObject({ ok: false });
  expect((await run({ action: 'list' }))?.output).toContain(`[nothing can be set: ${settings.problem}]`);
  expect(await readFile(file, 'utf8')).toBe(content);
});

test('what is no file is not opened', async () => {
  const { dir, logger } = await scene();
  await mkdir(join(dir, 'directory'));
  await promisify(execFile)('mkfifo', [join(dir, 'pipe')]);
  for (const name of ['directory', 'pipe'])
    expect(openToolSettings(join(dir, name), logger).problem).toBe('tool_config.json is no file');
});

test('a change that cannot be written does not hold, and changes at the same time are all kept', async () => {
  const { run, settings, dir } = await scene();
  await Promise.all([
    run({ action: 'set', tool: 'web_search', key: 'count', value: 3 }),
    run({ action: 'set', tool: 'deep_search', key: 'count', value: 4 }),
    run({ action: 'set', tool: 'web_fetch', key: 'max_chars', value: 500 }),
  ]);
  const all = { web_search: { count: 3 }, deep_search: { count: 4 }, web_fetch: { max_chars: 500 } };
  expect(settings.current).toEqual(all);
  if (process.getuid?.() !== 0) {
    await chmod(dir, 0o500);
    await expect(run({ action: 'reset', tool: 'web_search' })).rejects.toThrow('EACCES');
    await chmod(dir, 0o700);
    expect(settings.current).toEqual(all);
  }
});

test('a look changes nothing, and all else is what later runs act on', () => {
  const { act } = configureTool.facts;
  const acts = [
    { action: 'list' },
    { action: 'get' },
    { action: 'set' },
    { action: 'reset' },
    { action: ['list'] },
    undefined,
    null,
  ];
  expect(acts.map((args) => typeof act === 'function' && act(args))).toEqual(['none', 'none', ...Array(5).fill('setting')]);
  expect(configureTool(runScope())).toEqual([]);
});
