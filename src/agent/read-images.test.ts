import { rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Image } from '../core/model.ts';
import { agentRun, countingTool, line, MemoryStepLog } from '../testing/agent-run.ts';
import { recordEvents, tempDir } from '../testing/fakes.ts';
import { png } from '../testing/pictures.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { NOT_SHOWN, readImages } from './read-images.ts';
import { runAgent } from './run.ts';

/** Each name has a picture of its own. */
const bytesOf = (name: string): Buffer => png(1, name.length + 1);
const image = (name: string): Image => ({ mime: 'image/png', base64: bytesOf(name).toString('base64') });
const input = (...media: string[]) => line('user', 'look at this', { id: 'test/bot/m-1:in', media });

/** A workspace with these pictures. */
async function workspaceWith(...names: string[]) {
  const dir = await tempDir();
  await mkdir(join(dir.path, 'uploads'));
  for (const name of names) await writeFile(join(dir.path, name), bytesOf(name));
  return { path: dir.path, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

test('pictures of the new message go with every call of the turn, in order, and are read once', async () => {
  await using workspace = await workspaceWith('uploads/a.png', 'uploads/longer.png');
  await writeFile(join(workspace.path, 'uploads/b.pdf'), '%PDF-1.7');
  const remove = () => {
    rmSync(join(workspace.path, 'uploads'), { recursive: true });
    return { toolCalls: [{ name: 'echo', arguments: {} }] };
  };
  const model = scriptedModel([remove, 'a cat and a dog']);
  const asked = input('uploads/a.png', 'uploads/b.pdf', 'uploads/longer.png');
  await runAgent(agentRun({ model, tools: [countingTool()], workspace: workspace.path, input: asked }));
  const shown = new Map([['test/bot/m-1:in', [image('uploads/a.png'), image('uploads/longer.png')]]]);
  expect(model.requests.map(({ images }) => images)).toEqual([shown, shown]);
  expect(model.requests[0]?.messages.map(({ id }) => id)).toContain('test/bot/m-1:in');
});

test('pictures of earlier messages are not sent again', async () => {
  await using workspace = await workspaceWith('uploads/old.png');
  const model = scriptedModel(['fine']);
  const history = [line('user', 'old', { media: ['uploads/old.png'] })];
  await runAgent(agentRun({ model, workspace: workspace.path, history }));
  expect(model.requests[0]?.images).toBeUndefined();
});

test('of many pictures four are shown, and no more are read', async () => {
  const asked: string[] = [];
  const load = async (path: string) => {
    asked.push(path);
    return image(path);
  };
  const paths = ['1', '2', '3', '4', '5', '6'];
  expect(await readImages(paths, load, () => undefined, new AbortController().signal)).toHaveLength(4);
  expect(asked).toEqual(['1', '2', '3', '4']);
});

test('a picture that cannot be read is reported, and the message is answered without it', async () => {
  const load = async (path: string) => {
    if (path === 'bad') throw new Error('EIO: disk');
    return image(path);
  };
  const told: unknown[] = [];
  const shown = await readImages(['bad', 'good'], load, (event) => told.push(event), new AbortController().signal);
  expect(shown).toEqual([image('good')]);
  expect(told).toMatchObject([{ type: 'failed', code: 'GH1505', detail: 'a picture cannot be read: EIO: disk' }]);
  // The directory itself is gone.
  const run = agentRun({ model: scriptedModel(['fine']), workspace: '/nowhere', input: input('bad') });
  expect((await runAgent(run)).outcome).toEqual({ kind: 'answered', text: 'fine' });
  expect(run.events.filter(({ type }) => type === 'failed')).toMatchObject([{ code: 'GH1505' }]);
});

test('an answer that is on disk is used without reading pictures', async () => {
  const steps = new MemoryStepLog();
  // Reading there would be reported.
  const asked = { workspace: '/nowhere', input: input('a') };
  await runAgent(agentRun({ steps, model: scriptedModel(['fine']), ...asked }));
  const again = agentRun({ steps: new MemoryStepLog(steps.writes), model: scriptedModel([]), ...asked });
  expect((await runAgent(again)).outcome).toEqual({ kind: 'answered', text: 'fine' });
  expect(again.events).toEqual([]);
});

test('an abort while pictures are read ends the turn', async () => {
  await using workspace = await workspaceWith('a', 'b');
  const stop = new AbortController();
  const { emit, events } = recordEvents();
  const model = scriptedModel(['never']);
  const run = agentRun({ model, emit, workspace: workspace.path, input: input('a', 'b'), signal: stop.signal });
  const ended = runAgent(run);
  // The first file is being opened.
  stop.abort(new Error('/stop'));
  expect((await ended).outcome).toEqual({ kind: 'aborted' });
  expect(events.filter(({ type }) => type === 'failed')).toEqual([]);
});

test('a picture that a tool looked at goes with its result on every later call of the turn', async () => {
  await using workspace = await workspaceWith('shot.png');
  const look = countingTool({ name: 'look', run: async () => ({ ok: true, output: 'a picture', media: ['shot.png'] }) });
  const model = scriptedModel([
    { toolCalls: [{ name: 'look', arguments: {} }] },
    { toolCalls: [{ name: 'look', arguments: { again: 1 } }] },
    'seen',
  ]);
  const { lines } = await runAgent(agentRun({ model, tools: [look], workspace: workspace.path }));
  const [first] = lines.filter(({ role }) => role === 'tool');
  expect(first?.media).toEqual(['shot.png']);
  expect(model.requests.map(({ images }) => images?.get(first?.id ?? ''))).toEqual([
    undefined,
    [image('shot.png')],
    [image('shot.png')],
  ]);
});

test('of many looks in one turn the newest four are shown, and the others say that they are not', async () => {
  await using workspace = await workspaceWith('shot.png');
  const look = countingTool({ name: 'look', run: async () => ({ ok: true, output: 'a picture', media: ['shot.png'] }) });
  const calls = [1, 2, 3, 4, 5, 6].map((n) => ({ toolCalls: [{ name: 'look', arguments: { n } }] }));
  const model = scriptedModel([...calls, 'seen']);
  const { lines } = await runAgent(agentRun({ model, tools: [look], workspace: workspace.path }));
  const ids = lines.filter(({ role }) => role === 'tool').map(({ id }) => id);
  const last = model.requests.at(-1);
  expect([...(last?.images?.keys() ?? [])]).toEqual(ids.slice(2));
  const told = last?.messages.filter(({ content }) => content.endsWith(NOT_SHOWN)).map(({ id }) => id);
  expect(told).toEqual(ids.slice(0, 2));
});

test('all pictures of a request stay within what providers take: the oldest results give way, and the message keeps its own', async () => {
  await using workspace = await workspaceWith();
  const large = Buffer.concat([png(1, 2), Buffer.alloc(3_500_000)]);
  for (const name of ['a', 'b', 'x', 'y']) await writeFile(join(workspace.path, `${name}.png`), large);
  const run = async (args: unknown) => ({ ok: true, output: 'a picture', media: [(args as { path: string }).path] });
  const look = (path: string) => ({ toolCalls: [{ name: 'look', arguments: { path } }] });
  const model = scriptedModel([look('x.png'), look('y.png'), 'seen']);
  const tools = [countingTool({ name: 'look', run })];
  const { lines } = await runAgent(agentRun({ model, tools, workspace: workspace.path, input: input('a.png', 'b.png') }));
  const [first = '', second = ''] = lines.filter(({ role }) => role === 'tool').map(({ id }) => id);
  const [asked = ''] = lines.map(({ id }) => id);
  expect(model.requests.map(({ images = new Map() }) => [...images].map(([id, shown]) => [id, shown.length]))).toEqual([
    [[asked, 2]],
    [
      [asked, 2],
      [first, 1],
    ],
    [
      [asked, 2],
      [second, 1],
    ],
  ]);
  const told = model.requests
    .at(-1)
    ?.messages.filter(({ content }) => content.endsWith(NOT_SHOWN))
    .map(({ id }) => id);
  expect(told).toEqual([first]);
});
