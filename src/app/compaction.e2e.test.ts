// Compaction of a conversation, through the whole daemon: forty stored messages become a summary and ten.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { sessionStem } from '../../sessions/file-name.ts';
import { openJsonlStore } from '../../sessions/jsonl-store.ts';
import { sessionKey } from '../core/ids.ts';
import type { ModelRequest } from '../core/model.ts';
import { systemClock } from '../lib/clock.ts';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { type ScriptFunction, type ScriptStep, scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';
import { OPEN_TO_ALL, waitingTools } from '../testing/waiting-tools.ts';

const SESSION = sessionKey({ channel: 'test', account: 'bot', chatId: 'chat-1' });
const isSummary = ({ context }: ModelRequest): boolean => context.purpose === 'summary';

/** Answers each message with a number, and what asks for a summary with `summary`. */
function talker(summary: ScriptFunction | ScriptStep): ScriptFunction {
  let turn = 0;
  return (request, signal) => {
    if (isSummary(request)) return typeof summary === 'function' ? summary(request, signal) : summary;
    turn += 1;
    return `answer ${turn}`;
  };
}

async function start(dataDir: string, model: ReturnType<typeof scriptedModel>, more: object = {}): Promise<TestDaemon> {
  const daemon = { extraTools: [waitingTools] };
  return await testDaemon({
    dataDir,
    model,
    channel: new TestChannel('test'),
    policy: OPEN_TO_ALL,
    local: true,
    daemon,
    ...more,
  });
}

async function talk(rig: TestDaemon, turns: number, from = 1): Promise<void> {
  for (let turn = from; turn < from + turns; turn += 1) {
    await rig.channel.deliver({ platformId: `m${turn}`, text: `question ${turn}` });
    await rig.daemon.gateway.idle();
  }
}

async function stored(dir: string) {
  const store = openJsonlStore({ dir, clock: systemClock, onDamage: () => undefined });
  return (await store.load(SESSION))?.messages ?? [];
}

async function archived(dir: string): Promise<readonly { readonly id?: string }[]> {
  const text = await readFile(`${sessionStem(dir, SESSION)}.archive.jsonl`, 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { id?: string });
}

const says = (rig: TestDaemon, text: string) =>
  until(`it says ${text}`, () => rig.channel.texts().some((one) => one.startsWith(text)), 20_000);
const compacted = ({ logger }: TestDaemon) => logger.lines.filter(({ event }) => event === 'session.compacted').length;

test('forty stored messages become one summary and the newest ten; all are in the archive, and the call is in the ledger', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(talker('They counted.'));
  await using rig = await start(dir.path, model);
  await talk(rig, 19);
  expect(model.requests.some(isSummary)).toBe(false);
  await talk(rig, 1, 20);
  await until('it is compacted', () => compacted(rig) === 1);
  const lines = await stored(dir.path);
  expect(lines.map(({ role }) => role)).toEqual(['system', ...Array.from({ length: 5 }, () => ['user', 'assistant']).flat()]);
  expect(lines[0]?.content).toMatch(/^Conversation summary \(compacted from 30 messages\)\n.*\nThey counted\.$/);
  expect(lines[1]?.content).toBe('question 16');
  const kept = (await archived(dir.path)).filter(({ id }) => id !== undefined);
  expect(new Set(kept.map(({ id }) => id)).size).toBe(40);
  const asked = model.requests.find(isSummary);
  expect(asked).toMatchObject({ temperature: 0, maxOutputTokens: 768 + 12_288, tools: [] });
  expect(asked?.messages[1]?.content).toContain('"content":"question 15"');
  expect(asked?.messages[1]?.content).not.toContain('question 16');
  const spent = await rig.daemon.journal.spending({ since: 0, by: 'purpose' });
  expect(spent.map(({ key, calls }) => [key, calls])).toContainEqual(['summary', 1]);
  // It is told as a note, so that nothing in it counts as the operator's words.
  await talk(rig, 1, 21);
  const [system, note, ...rest] = model.requests.at(-1)?.messages ?? [];
  expect(system?.content).not.toContain('They counted.');
  expect([note?.role, note?.content]).toEqual(['user', expect.stringContaining('They counted.')]);
  expect(rest).toHaveLength(11);
});

test('no answer waits for a summary, and what is said meanwhile stays behind it', async () => {
  await using dir = await tempDir();
  const held = gate();
  const model = scriptedModel(talker(() => held.opened.then(() => 'They counted.')));
  await using rig = await start(dir.path, model);
  await talk(rig, 20);
  await until('a summary is asked for', () => model.requests.some(isSummary));
  await talk(rig, 2, 21);
  expect(rig.channel.texts().at(-1)).toBe('answer 22');
  held.open();
  await until('it is compacted', () => compacted(rig) === 1);
  expect((await stored(dir.path)).map(({ content }) => content).slice(-4)).toEqual([
    'question 21',
    'answer 21',
    'question 22',
    'answer 22',
  ]);
  expect(await stored(dir.path)).toHaveLength(15);
});

/** A person is asked within a turn, which waits for them. */
const ASK = { toolCalls: [{ name: 'ask_person', arguments: { question: 'May I?' } }] };

test('a parked run goes on with the history that it had, whatever was compacted behind it', async () => {
  await using dir = await tempDir();
  let turn = 0;
  const model = scriptedModel((request) => {
    if (isSummary(request)) return 'They counted.';
    const asked = request.messages.findLast(({ role, id }) => role === 'user' && !id.endsWith('#note'))?.content;
    if (asked === 'wait') return request.messages.some(({ role }) => role === 'tool') ? 'It was allowed.' : ASK;
    turn += 1;
    return `answer ${turn}`;
  });
  await using rig = await start(dir.path, model);
  await talk(rig, 6);
  await rig.channel.deliver({ platformId: 'wait', text: 'wait' });
  await until('it is parked', async () => (await rig.daemon.journal.counts()).inbox.PARKED === 1);
  const had = model.requests.at(-1)?.messages.map(({ content }) => content) ?? [];
  // Twelve lines are its history; so forty more are needed.
  await talk(rig, 19, 7);
  expect(model.requests.some(isSummary)).toBe(false);
  await talk(rig, 1, 26);
  await until('it is compacted', () => compacted(rig) === 1);
  const lines = await stored(dir.path);
  expect(lines.slice(0, 12).map(({ content }) => content)).toEqual(had.slice(1, 13));
  expect([lines.length, lines[12]?.role, lines[12]?.content]).toEqual([
    23,
    'system',
    expect.stringContaining('from 30 messages'),
  ]);
  const code = /\/allow ([A-Z2-9]{6})/.exec(rig.channel.texts().join('\n'))?.[1] ?? '';
  await rig.channel.deliver({ platformId: 'yes', text: `/allow ${code}` });
  await says(rig, 'It was allowed.');
  const resumed = model.requests.at(-1)?.messages.map(({ content }) => content) ?? [];
  expect(resumed.slice(1, 14)).toEqual(had.slice(1, 14));
  // Nothing waits any more: the next turn compacts what it held.
  await talk(rig, 1, 27);
  await rig.channel.deliver({ platformId: 'c', text: '/compact' });
  await rig.daemon.gateway.idle();
  await says(rig, '48 messages became');
  expect(await stored(dir.path)).toHaveLength(11);
});

test('a summary that fails changes nothing and is not paid for at every turn; /compact says why', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(talker({ fail: 'server' }));
  await using rig = await start(dir.path, model);
  await talk(rig, 23);
  await until('it was tried', () => rig.logger.lines.some(({ event }) => event === 'session.not-compacted'));
  expect(model.requests.filter(isSummary)).toHaveLength(1);
  await rig.channel.deliver({ platformId: 'c', text: '/compact' });
  await says(rig, 'Nothing was changed: the summary could not be made (');
  await until('all lines are in the file', async () => (await stored(dir.path)).length === 46);
});

test('/compact says how many messages became a summary, and does nothing where there is nothing to do', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(talker('They counted.'));
  await using rig = await start(dir.path, model);
  await talk(rig, 5);
  await rig.channel.deliver({ platformId: 'c1', text: '/compact' });
  await says(rig, 'There is nothing to compact: the conversation is short enough.');
  await talk(rig, 3, 6);
  await rig.channel.deliver({ platformId: 'c2', text: '/compact' });
  await says(rig, '6 messages became a summary. The newest 10 stayed as they are.');
  await talk(rig, 2, 9);
  await rig.channel.deliver({ platformId: 'c3', text: '/compact' });
  // The summary stands for six, and four more join it.
  await says(rig, '10 messages became a summary. The newest 10 stayed as they are.');
  expect(await stored(dir.path)).toHaveLength(11);
  expect(model.requests.filter(isSummary)).toHaveLength(2);
});

test('in a group only the owner compacts', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(talker('They counted.'));
  await using rig = await start(dir.path, model, { local: false, entry: { allowed_groups: ['*'] } });
  await rig.channel.deliver({ platformId: 'g', text: '/compact', isGroup: true, mentionsBot: true });
  await says(rig, 'In a group only the owner');
  expect(model.requests).toEqual([]);
});

test('a summary knows what its lines had read', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(talker('They counted.'));
  const store = openJsonlStore({ dir: dir.path, clock: systemClock, onDamage: () => undefined });
  const line = { role: 'user', content: 'from a stranger', timestamp: new Date(0).toISOString() } as const;
  await store.append(SESSION, [
    { id: 'x1', ...line, taint: 1 },
    { id: 'x2', ...line, taint: 2 },
  ]);
  await using rig = await start(dir.path, model);
  await talk(rig, 19);
  await until('it is compacted', () => compacted(rig) === 1);
  expect((await stored(dir.path))[0]).toMatchObject({ taint: 3 });
});
