// Faults that need the whole daemon but no process of its own: scripted platform and model, the rest is real.
import { appendFile, copyFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Clock } from '../core/ports.ts';
import { backupJournal } from '../journal/backup.ts';
import { systemClock } from '../lib/clock.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { job } from '../testing/jobs.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { SteadyClock } from '../testing/steady-clock.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { testDaemon } from '../testing/test-daemon.ts';
import { OPEN_TO_ALL, waitingTools } from '../testing/waiting-tools.ts';

const echo = () => scriptedModel((request) => `answer to ${request.messages.at(-1)?.content}`);
const prompt = (model: ReturnType<typeof echo>) =>
  model.requests.at(-1)?.messages.map(({ role, content }) => `${role}: ${content}`) ?? [];

/** The one session file below a data directory. */
async function sessionFile(dir: string): Promise<string> {
  const [user = ''] = await readdir(join(dir, 'users'));
  return join(dir, 'users', user, 'sessions/default.jsonl');
}

/** A conversation of three answered messages on disk, its daemon stopped. */
async function conversation(dir: string): Promise<string> {
  await using rig = await testDaemon({ dataDir: dir, model: echo() });
  for (const text of ['one', 'two', 'three']) await rig.channel.deliver({ text, platformId: text });
  await rig.daemon.gateway.idle();
  await rig.daemon.close();
  return await sessionFile(dir);
}

describe('a damaged session', () => {
  test('F17 a torn last line is reported, and the chat goes on with everything before it', async () => {
    await using dir = await tempDir();
    const file = await conversation(dir.path);
    await appendFile(file, '{"id":"torn","role":"assistant","content":"half of a li');
    const model = echo();
    await using rig = await testDaemon({ dataDir: dir.path, model });
    await rig.channel.deliver({ text: 'four', platformId: 'four' });
    await rig.daemon.gateway.idle();
    expect(rig.channel.texts()).toEqual(['answer to four']);
    expect(prompt(model).slice(1)).toEqual([
      ...['one', 'two', 'three'].flatMap((text) => [`user: ${text}`, `assistant: answer to ${text}`]),
      'user: four',
    ]);
    const report = rig.logger.lines.find(({ event }) => event === 'session.damaged');
    expect(report).toMatchObject({ level: 'warn', data: { lines: 1, quarantine: expect.any(String) } });
    expect((await readFile(String(report?.data['quarantine']), 'utf8')).trim()).toContain('half of a li');
  });

  test('F18 a corrupt middle costs that line only, in that session only', async () => {
    await using dir = await tempDir();
    const file = await conversation(dir.path);
    const lines = (await readFile(file, 'utf8')).split('\n');
    lines[3] = '\0'.repeat(40);
    await writeFile(file, lines.join('\n'));
    const model = echo();
    await using rig = await testDaemon({ dataDir: dir.path, model });
    await rig.channel.deliver({ chatId: 'other', text: 'untouched', platformId: 'o' });
    await rig.channel.deliver({ text: 'four', platformId: 'four' });
    await rig.daemon.gateway.idle();
    expect(rig.channel.texts()).toEqual(['answer to four']);
    expect(rig.channel.texts('other')).toEqual(['answer to untouched']);
    const seen = model.requests.flatMap(({ messages }) => messages.map(({ content }) => content));
    expect(seen).toEqual(expect.arrayContaining(['one', 'answer to one', 'answer to two', 'three', 'answer to three', 'four']));
    expect(rig.logger.lines.filter(({ event }) => event === 'session.damaged')).toHaveLength(1);
  });

  test('F20 a session of 11 MB is still read, answered and appended to', async () => {
    await using dir = await tempDir();
    const file = await conversation(dir.path);
    const line = (n: number) =>
      `${JSON.stringify({ id: `big-${n}`, role: n % 2 ? 'assistant' : 'user', content: `${n} ${'x'.repeat(11_000)}`, timestamp: '2026-01-01T00:00:00.000Z' })}\n`;
    await appendFile(file, Array.from({ length: 1_000 }, (_, n) => line(n)).join(''));
    expect((await stat(file)).size).toBeGreaterThan(11_000_000);
    const model = echo();
    await using rig = await testDaemon({ dataDir: dir.path, model });
    await rig.channel.deliver({ text: 'four', platformId: 'four' });
    await rig.daemon.gateway.idle();
    expect(rig.channel.texts()).toEqual(['answer to four']);
    expect(prompt(model).some((text) => text.startsWith('assistant: 999 '))).toBe(true);
    await rig.daemon.close();
    expect((await readFile(file, 'utf8')).includes('answer to four')).toBe(true);
  });

  test('F21 half a tool call in the history is completed before the next request, and another chat is not touched', async () => {
    await using dir = await tempDir();
    const file = await conversation(dir.path);
    const call = { id: 'call_lost', name: 'write_file', arguments: '{"path":"a"}' };
    const half = { id: 'half', role: 'assistant', content: '', tool_calls: [call], timestamp: '2026-01-01T00:00:00.000Z' };
    await appendFile(file, `${JSON.stringify(half)}\n`);
    const model = echo();
    await using rig = await testDaemon({ dataDir: dir.path, model });
    await rig.channel.deliver({ text: 'four', platformId: 'four' });
    await rig.daemon.gateway.idle();
    const messages = model.requests[0]?.messages ?? [];
    const index = messages.findIndex(({ tool_calls }) => tool_calls !== undefined);
    expect(messages[index + 1]).toMatchObject({ role: 'tool', tool_call_id: messages[index]?.tool_calls?.[0]?.id });
    expect(rig.channel.texts()).toEqual(['answer to four']);
  });
});

describe('F22 a clock that jumps', () => {
  const HOUR = 3_600_000;
  const YEAR = 365 * 24 * HOUR;
  /** Wall clock that can be set; time goes on as it does. */
  function settableClock(): Clock & { jump(ms: number): void } {
    let offset = 0;
    return {
      ...systemClock,
      now: () => Date.now() + offset,
      jump: (ms) => {
        offset += ms;
      },
    };
  }

  test.each([-YEAR, -HOUR, HOUR, YEAR])(
    'F22 by %d ms neither delays a retry, nor expires an answer, nor cuts a turn off',
    async (ms) => {
      await using dir = await tempDir();
      const clock = settableClock();
      const model = scriptedModel(async () => {
        clock.jump(ms);
        await systemClock.sleep(20);
        return 'late answer';
      });
      const channel = new TestChannel('test');
      channel.results.push({ kind: 'retry', reason: 'slow down', afterMs: 150, scope: 'part' });
      await using rig = await testDaemon({ dataDir: dir.path, model, channel, daemon: { clock } });
      await channel.deliver({ text: 'hello' });
      await until('the answer was refused once', () => channel.results.length === 0);
      await systemClock.sleep(30);
      clock.jump(ms);
      await until('it is sent', () => channel.texts().length === 1);
      await rig.daemon.gateway.idle();
      expect(channel.texts()).toEqual(['late answer']);
      expect((await rig.daemon.journal.counts()).outbox).toMatchObject({ SENT: 1, EXPIRED: 0 });
    },
  );

  test('F22 a year ahead and back, across a restart: a message that comes again is still known', async () => {
    await using dir = await tempDir();
    const clock = settableClock();
    const channel = new TestChannel('test');
    for (const jump of [0, YEAR, -2 * YEAR, YEAR]) {
      clock.jump(jump);
      await using rig = await testDaemon({ dataDir: dir.path, model: echo(), channel, daemon: { clock } });
      await channel.deliver({ platformId: 'same', text: 'hello' });
      await rig.daemon.gateway.idle();
    }
    expect(channel.texts()).toEqual(['answer to hello']);
  });
});

describe('sending', () => {
  test('F35 a chat told to wait waits as told, in order, and no other chat waits with it', async () => {
    await using dir = await tempDir();
    const channel = new TestChannel('test');
    const clock = new SteadyClock();
    const at = new Map<string, number>();
    const send = channel.send.bind(channel);
    let limited = false;
    channel.send = async (part, options) => {
      if (part.chatId === 'busy' && !limited) {
        limited = true;
        return { kind: 'retry', reason: '429', afterMs: 2_000, scope: 'chat' };
      }
      at.set(part.text, clock.monotonic());
      return send(part, options);
    };
    await using rig = await testDaemon({ dataDir: dir.path, model: echo(), channel, daemon: { clock } });
    const begun = clock.monotonic();
    for (const n of [1, 2, 3]) await channel.deliver({ chatId: 'busy', text: `${n}`, platformId: `b${n}` });
    await channel.deliver({ chatId: 'free', text: 'free', platformId: 'f' });
    await rig.daemon.gateway.idle();
    expect(channel.texts('busy')).toEqual(['answer to 1', 'answer to 2', 'answer to 3']);
    expect((at.get('answer to 1') ?? 0) - begun).toBeGreaterThanOrEqual(2_000);
    expect((at.get('answer to free') ?? 0) - begun).toBeLessThan(2_000);
  });

  test('F36 refused markup goes out once more as plain text; refused again it is a dead letter with its reason, and the chat goes on', async () => {
    await using dir = await tempDir();
    const channel = new TestChannel('test');
    const plains: boolean[] = [];
    const send = channel.send.bind(channel);
    channel.send = async (part, options) => {
      plains.push(options.plain);
      return send(part, options);
    };
    const markup = { kind: 'refused', reason: 'markup', detail: 'unclosed tag' } as const;
    channel.results.push(markup, { kind: 'sent', platformId: '1' }, markup, { kind: 'refused', reason: 'invalid', detail: 'no' });
    await using rig = await testDaemon({ dataDir: dir.path, model: echo(), channel });
    for (const text of ['one', 'two', 'three']) {
      await channel.deliver({ text, platformId: text });
      await rig.daemon.gateway.idle();
    }
    expect(plains.slice(0, 4)).toEqual([false, true, false, true]);
    expect(channel.texts()).toEqual(['answer to one', expect.stringMatching(/GH1601/), 'answer to three']);
    expect(await rig.daemon.journal.dead.list()).toMatchObject([{ reason: expect.stringContaining('invalid: no') }]);
  });

  test('F37 a send whose fate nobody knows is not repeated: UNKNOWN is counted, logged with its code, and the chat goes on', async () => {
    await using dir = await tempDir();
    const channel = new TestChannel('test');
    channel.results.push({ kind: 'unknown', detail: 'no reply' });
    await using rig = await testDaemon({ dataDir: dir.path, model: echo(), channel });
    for (const text of ['one', 'two']) {
      await channel.deliver({ text, platformId: text });
      await rig.daemon.gateway.idle();
    }
    expect(channel.texts()).toEqual(['answer to two']);
    expect((await rig.daemon.journal.counts()).outbox).toMatchObject({ SENT: 1, UNKNOWN: 1 });
    expect(rig.daemon.observations.errors).toMatchObject([{ code: 'GH1602' }]);
  });
});

test('F48 a daemon restored from a backup made in use answers nothing twice, and keeps what was in flight for its owner', async () => {
  await using dir = await tempDir();
  await using restored = await tempDir();
  const model = scriptedModel((request) => (request.messages.at(-1)?.content === 'in flight' ? { hang: true } : 'answered'));
  {
    await using rig = await testDaemon({ dataDir: dir.path, model });
    await rig.channel.deliver({ chatId: 'a', text: 'done', platformId: 'a' });
    await rig.daemon.gateway.idle();
    rig.channel.results.push({ kind: 'retry', reason: 'later', afterMs: 60_000, scope: 'part' });
    await rig.channel.deliver({ chatId: 'b', text: 'answer not sent yet', platformId: 'b' });
    await until('the answer waits', () => rig.channel.results.length === 0);
    await rig.channel.deliver({ chatId: 'c', text: 'in flight', platformId: 'c' });
    await until('its turn runs', () => model.requests.length === 3);
    await mkdir(join(restored.path, 'backups'), { recursive: true });
    await backupJournal(join(dir.path, 'journal.db'), join(restored.path, 'backups/journal.db'), systemClock);
  }
  await copyFile(join(restored.path, 'backups/journal.db'), join(restored.path, 'journal.db'));
  await using rig = await testDaemon({ dataDir: restored.path, model: echo() });
  // The platform offers the old messages once more, too.
  for (const [chatId, text] of [
    ['a', 'done'],
    ['b', 'answer not sent yet'],
    ['c', 'in flight'],
  ] as const)
    await rig.channel.deliver({ chatId, text, platformId: chatId });
  await rig.channel.deliver({ chatId: 'd', text: 'new', platformId: 'd' });
  await rig.daemon.gateway.idle();
  expect(rig.channel.sent.map(({ chatId, text }) => [chatId, text])).toEqual([['d', 'answer to new']]);
  expect(await rig.daemon.journal.dead.list()).toHaveLength(2);
});

test('F48 a restored daemon neither goes on with what waited nor fires what was due since the copy, and says why', async () => {
  await using dir = await tempDir();
  await using restored = await tempDir();
  const extraTools = [waitingTools];
  // Longer than this test can take: the first daemon must see neither date come.
  const AHEAD_MS = 600_000;
  const wait = { text: 'a moment', toolCalls: [{ name: 'sleep', arguments: { ms: AHEAD_MS } }] };
  let due = 0;
  const payload = { text: 'water the plants', profile: 'session', deliver: { channel: 'test', chatId: 'c' } } as const;
  {
    const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'user' ? wait : 'slept'));
    await using rig = await testDaemon({ dataDir: dir.path, model, policy: OPEN_TO_ALL, daemon: { extraTools } });
    await rig.channel.deliver({ chatId: 'a', text: 'wait', platformId: 'a' });
    const isParked = async () => (await rig.daemon.journal.counts()).inbox.PARKED === 1;
    await until('it waits', isParked);
    due = systemClock.now() + AHEAD_MS;
    const reminder = job({ schedule: { kind: 'at', at: due }, nextDue: due, payload });
    await rig.daemon.journal.commit([{ kind: 'job', job: reminder }]);
    await backupJournal(join(dir.path, 'journal.db'), join(restored.path, 'journal.db'), systemClock);
  }
  const model = echo();
  const clock = { ...systemClock, now: () => systemClock.now() + 2 * AHEAD_MS };
  await using rig = await testDaemon({ dataDir: restored.path, model, policy: OPEN_TO_ALL, daemon: { extraTools, clock } });
  const { journal } = rig.daemon;
  await until('the due time is passed over', async () => (await journal.jobs.get('ab12cd34'))?.enabled === false);
  await rig.channel.deliver({ chatId: 'd', text: 'new', platformId: 'd' });
  await rig.daemon.gateway.idle();
  expect(rig.channel.sent.map(({ chatId, text }) => [chatId, text])).toEqual([['d', 'answer to new']]);
  expect(model.requests).toHaveLength(1);
  expect(await journal.dead.list()).toMatchObject([{ reason: expect.stringContaining('restored from a backup') }]);
  const about = await journal.record.of(`job/ab12cd34/${due}`);
  expect(about).toMatchObject([{ event: { state: 'skipped', reason: expect.stringContaining('restored from a backup') } }]);
});
