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
  expect(asked).toMatchObject({ temperature: 0, maxOutputTokens: 768, tools: [] });
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
