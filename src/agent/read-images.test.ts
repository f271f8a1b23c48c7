import { expect, test } from 'vitest';
import type { Image } from '../core/model.ts';
import { agentRun, countingTool, line, MemoryStepLog } from '../testing/agent-run.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { runAgent } from './run.ts';

const image = (name: string): Image => ({ mime: 'image/png', base64: Buffer.from(name).toString('base64') });
const input = (...media: string[]) => line('user', 'look at this', { id: 'test/bot/m-1:in', media });

function loader(missing: readonly string[] = []) {
  const asked: string[] = [];
  return {
    asked,
    loadImage: async (path: string) => {
      asked.push(path);
      return missing.includes(path) ? undefined : image(path);
    },
  };
}

test('pictures of the new message go with every call of the turn, in order, and are read once', async () => {
  const { asked, loadImage } = loader(['uploads/b.pdf']);
  const model = scriptedModel([{ toolCalls: [{ name: 'echo', arguments: {} }] }, 'a cat and a dog']);
  await runAgent(
    agentRun({ model, tools: [countingTool()], loadImage, input: input('uploads/a.png', 'uploads/b.pdf', 'uploads/c.png') }),
  );
  const shown = new Map([['test/bot/m-1:in', [image('uploads/a.png'), image('uploads/c.png')]]]);
  expect(model.requests.map(({ images }) => images)).toEqual([shown, shown]);
  expect(asked).toEqual(['uploads/a.png', 'uploads/b.pdf', 'uploads/c.png']);
  expect(model.requests[0]?.messages.map(({ id }) => id)).toContain('test/bot/m-1:in');
});

test('pictures of earlier messages are not sent again', async () => {
  const { asked, loadImage } = loader();
  const model = scriptedModel(['fine']);
  await runAgent(agentRun({ model, loadImage, history: [line('user', 'old', { media: ['uploads/old.png'] })] }));
  expect([model.requests[0]?.images, asked]).toEqual([undefined, []]);
});

test('of many pictures four are shown, and no more are read', async () => {
  const { asked, loadImage } = loader();
  const model = scriptedModel(['fine']);
  await runAgent(agentRun({ model, loadImage, input: input('1', '2', '3', '4', '5', '6') }));
  expect(model.requests[0]?.images?.get('test/bot/m-1:in')).toHaveLength(4);
  expect(asked).toEqual(['1', '2', '3', '4']);
});

test('a picture that cannot be read is reported, and the message is answered without it', async () => {
  const model = scriptedModel(['fine']);
  const loadImage = async (path: string) => {
    if (path === 'bad') throw new Error('EIO: disk');
    return image(path);
  };
  const run = agentRun({ model, loadImage, input: input('bad', 'good') });
  expect((await runAgent(run)).outcome).toEqual({ kind: 'answered', text: 'fine' });
  expect(model.requests[0]?.images?.get('test/bot/m-1:in')).toEqual([image('good')]);
  expect(run.events.filter(({ type }) => type === 'failed')).toMatchObject([{ code: 'GH1505' }]);
});

test('an answer that is on disk is used without reading pictures', async () => {
  const { asked, loadImage } = loader();
  const steps = new MemoryStepLog();
  await runAgent(agentRun({ steps, model: scriptedModel(['fine']), input: input('a') }));
  const again = agentRun({ steps: new MemoryStepLog(steps.writes), model: scriptedModel([]), loadImage, input: input('a') });
  expect((await runAgent(again)).outcome).toEqual({ kind: 'answered', text: 'fine' });
  expect(asked).toEqual([]);
});

test('an abort while pictures are read ends the turn', async () => {
  const stop = new AbortController();
  const model = scriptedModel(['never']);
  const loadImage = async (_path: string, signal: AbortSignal): Promise<Image> => {
    stop.abort(new Error('/stop'));
    signal.throwIfAborted();
    return image('never');
  };
  const result = await runAgent(agentRun({ model, loadImage, input: input('a', 'b'), signal: stop.signal }));
  expect(result.outcome).toEqual({ kind: 'aborted' });
});

test('a picture that a tool looked at goes with its result on every later call of the turn', async () => {
  const { loadImage } = loader();
  const look = countingTool({ name: 'look', run: async () => ({ ok: true, output: 'a picture', media: ['shot.png'] }) });
  const model = scriptedModel([
    { toolCalls: [{ name: 'look', arguments: {} }] },
    { toolCalls: [{ name: 'look', arguments: { again: 1 } }] },
    'seen',
  ]);
  const { lines } = await runAgent(agentRun({ model, tools: [look], loadImage }));
  const [first] = lines.filter(({ role }) => role === 'tool');
  expect(first?.media).toEqual(['shot.png']);
  expect(model.requests.map(({ images }) => images?.get(first?.id ?? ''))).toEqual([
    undefined,
    [image('shot.png')],
    [image('shot.png')],
  ]);
});
