// Jobs through the whole daemon: from a row that is due to what stands in the chat.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Job } from '../core/job.ts';
import { type OpenedJournal, openJournal } from '../journal/open.ts';
import { systemClock } from '../lib/clock.ts';
import { createProviderRouter, type ProviderRouter } from '../llm/routing/provider-router.ts';
import { estimateRequestTokens } from '../llm/tokens.ts';
import { whyOf } from '../runs/why.ts';
import { DoublePlatform } from '../simulator/double/server.ts';
import { cliJson } from '../testing/cli-json.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { startInline } from '../testing/inline-daemon.ts';
import { job, MEMBER } from '../testing/jobs.ts';
import { callPieces, startModelServer, stream, textPieces } from '../testing/model-server.ts';
import { type Script, scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel, testChannelEntry } from '../testing/test-channel.ts';
import { testDaemon } from '../testing/test-daemon.ts';

const CHAT = { channel: 'test', chatId: 'chat-1' };

async function scene(
  script: Script,
  more: {
    readonly allowed?: string[];
    readonly before?: (dir: string) => Promise<void>;
    readonly timezone?: string;
    readonly sections?: Record<string, unknown>;
    readonly named?: ProviderRouter;
  } = {},
) {
  const { named } = more;
  const dir = await tempDir();
  await more.before?.(dir.path);
  const model = scriptedModel(script);
  const channel = new TestChannel('test').withEdits();
  const running = await testDaemon({
    ...{ dataDir: dir.path, model, channel },
    entry: { allowed_senders: more.allowed ?? ['*'] },
    gateway: { owner: [{ channel: 'test', chat_id: 'owner' }] },
    sections: more.sections ?? {},
    daemon: {
      ...(more.timezone === undefined ? {} : { timezone: more.timezone }),
      ...(named ? { model: async () => ({ model, named, [Symbol.asyncDispose]: async () => undefined }) } : {}),
    },
  });
  const { journal } = running.daemon;
  return {
    ...{ ...running, journal, model, dir: dir.path },
    /** Adds a job that is due, and waits for the end of its run. */
    async fire(override: Partial<Job> = {}): Promise<Job | undefined> {
      const due = systemClock.now();
      const payload = { text: 'water the plants', profile: 'session', deliver: CHAT } as const;
      const made = job({ schedule: { kind: 'every', ms: 600_000, from: due }, payload, nextDue: due, ...override });
      await journal.commit([{ kind: 'job', job: made }]);
      const ended = await until('the end of the run', async () => {
        const now = await journal.jobs.get(made.id);
        return now?.lastStatus === undefined || now.lastStatus === 'running' ? undefined : now;
      });
      await running.daemon.gateway.idle();
      return ended;
    },
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('a job that is due asks the model and answers in its chat, and why says so', async () => {
  await using at = await scene(['The plants are dry.']);
  const ended = await at.fire();
  expect(at.channel.texts()).toEqual(['The plants are dry.']);
  expect(at.channel.sent[0]).toMatchObject({ account: 'bot', chatId: 'chat-1', messageId: `job/ab12cd34/${ended?.lastDue}` });
  expect(at.model.requests[0]?.messages.at(-1)?.content).toContain('water the plants');
  expect(ended).toMatchObject({ lastStatus: 'ok', runCount: 1 });
  const about = await at.journal.record.about(`job/ab12cd34/${ended?.lastDue}`);
  expect(about && whyOf(about, { now: systemClock.now() }).verdict).toBe('It was answered.');
});

test.each(['[SILENT]', '[NO_CHANGE]'])('the answer %j shows nothing in the chat, not for a moment', async (answer) => {
  await using at = await scene([{ text: answer, chunks: [...answer] }]);
  expect(await at.fire()).toMatchObject({ lastStatus: 'ok' });
  expect(at.channel.sent).toEqual([]);
});

test('a job whose model says nothing behind the file that it attached delivers the file', async () => {
  const write = { toolCalls: [{ name: 'write_file', arguments: { path: 'report.txt', content: 'dry' } }] };
  const attach = { toolCalls: [{ name: 'send_file', arguments: { file_path: 'report.txt' } }] };
  await using at = await scene((request) => {
    const done = request.messages.filter(({ role }) => role === 'tool').length;
    return [write, attach][done] ?? { fail: 'empty' };
  });
  expect((await at.fire())?.lastStatus).toBe('ok');
  expect(at.channel.sent.map(({ text, file }) => [text, file?.name])).toEqual([['', 'report.txt']]);
});

test('a job of a chat speaks in its session: the next message of the chat knows what it said', async () => {
  await using at = await scene(['Time to call Mum.', 'In ten minutes, then.']);
  await at.fire({ payload: { text: 'remind me to call Mum', profile: 'session', deliver: CHAT, session: '_main:test:chat-1' } });
  await at.channel.deliver({ platformId: 'm1', text: 'later' });
  await at.daemon.gateway.idle();
  expect(at.model.requests[1]?.messages.map(({ content }) => content)).toContain('Time to call Mum.');
});

test('a job in a long conversation is asked of the model of purpose job, with as much of it as that one reads', async () => {
  const cheap = scriptedModel([], { id: 'ollama/small', contextWindow: 8_192 });
  await using at = await scene(() => 'noted', {
    sections: { models: { cheap: { provider: 'ollama', model: 'small' } }, purposes: { job: 'cheap' } },
    named: createProviderRouter([{ key: 'cheap', model: cheap }]),
  });
  for (const n of [1, 2, 3, 4]) await at.channel.deliver({ platformId: `m${n}`, text: 'Of Rome. '.repeat(2_000) });
  await at.daemon.gateway.idle();
  await at.fire({ payload: { text: 'tidy up', profile: 'session', deliver: CHAT, session: '_main:test:chat-1' } });
  const asked = at.model.requests.at(-1) ?? expect.fail('it was not asked');
  expect([asked.model, asked.messages.at(-1)?.content]).toEqual(['cheap', expect.stringContaining('tidy up')]);
  expect(estimateRequestTokens(asked)).toBeLessThan(8_192);
});

test('/stop in the chat of a job ends its run, which stays unanswered after a restart', async () => {
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  await using at = await scene(async () => {
    asked.resolve();
    return await answered.promise;
  });
  const fired = at.fire({ authority: { ...MEMBER, principal: 'cli:local' } });
  await asked.promise;
  await at.channel.deliver({ platformId: 'm1', text: '/stop' });
  answered.resolve('The plants are dry.');
  expect(await fired).toMatchObject({ enabled: true, lastStatus: 'error: cancelled' });
  expect(at.channel.texts()).toEqual(['🛑 Cancelled.']);
});

test('a failure is told once, until the job works again', async () => {
  await using at = await scene([{ fail: 'overloaded' }, { fail: 'overloaded' }]);
  expect((await at.fire())?.lastStatus).toMatch(/^error: failed:/);
  expect(at.channel.texts()[0]).toMatch(/^The scheduled job ab12cd34 failed/);
  expect(await at.fire({ id: 'again000', lastStatus: 'error: failed:GH2103' })).toMatchObject({ enabled: true });
  expect(at.channel.sent).toHaveLength(1);
});

test('A34 a job of a person who is not let in any more, or only as everyone is, is disabled and asks no model', async () => {
  await using at = await scene([], { allowed: ['*'] });
  expect(await at.fire({ authority: MEMBER })).toMatchObject({
    enabled: false,
    lastStatus: 'error: its creator is not let in any more',
  });
  const about = await at.journal.record.about('last');
  expect(about && whyOf(about, { now: systemClock.now() }).verdict).toBe(
    'The job did not run (disabled): its creator is not let in any more.',
  );
  const guest = { ...MEMBER, role: 'guest' } as const;
  expect(await at.fire({ id: 'guest000', authority: guest })).toMatchObject({
    enabled: false,
    lastStatus: 'error: guests have no jobs',
  });
  const owner = { ...MEMBER, role: 'owner' } as const;
  expect(await at.fire({ id: 'owner000', authority: owner })).toMatchObject({ enabled: false });
  expect(at.model.requests).toEqual([]);
});

test('S3 a job that a blocked person has all the same is disabled when it is due, also where the config lists them', async () => {
  await using at = await scene([], { allowed: ['ada', '*'] });
  const block = { kind: 'shut-out', who: { channel: 'test', senderId: 'ada' }, as: 'blocked', by: 'cli' } as const;
  await at.journal.commit([block]);
  expect(await at.fire({ authority: MEMBER })).toMatchObject({ enabled: false, lastStatus: 'error: its creator is blocked' });
  expect(at.model.requests).toEqual([]);
});

test('a job of a channel that left the config waits for it, asks no model, and runs when it is back', async () => {
  await using dir = await tempDir();
  const authority = { ...MEMBER, principal: 'gone:ada' };
  const due = systemClock.now();
  const payload = { text: 'take the pills', profile: 'session', deliver: { ...CHAT, channel: 'gone' } } as const;
  const schedule = { kind: 'at', at: due } as const;
  const once = job({ authority, schedule, payload, nextDue: due, deleteAfterRun: true });
  // Nor is it known whether the person may have an answer elsewhere.
  const elsewhere = job({ id: 'elsewhere', authority, payload: { ...payload, deliver: CHAT }, nextDue: due });
  {
    await using without = await testDaemon({ dataDir: dir.path, model: scriptedModel([]) });
    const { journal } = without.daemon;
    await journal.commit([once, elsewhere].map((each) => ({ kind: 'job', job: each })));
    const looked = () => journal.jobs.list().then((jobs) => jobs.every(({ lastStatus }) => lastStatus !== undefined));
    await until('a look at both', looked);
    for (const each of await journal.jobs.list()) {
      expect(each).toMatchObject({ enabled: true, runCount: 0, lastStatus: 'error: there is no channel gone' });
      expect(each.nextDue).toBeGreaterThan(due);
    }
  }
  const [model, channel] = [scriptedModel(['Your pills.']), new TestChannel('gone')];
  const entry = { name: 'gone', allowed_senders: ['ada'] };
  await using back = await testDaemon({ dataDir: dir.path, model, channel, entry });
  const was = await back.daemon.journal.jobs.get(once.id);
  if (was) await back.daemon.journal.commit([{ kind: 'job', job: { ...was, nextDue: systemClock.now() }, was }]);
  await until('its answer', () => channel.texts().length === 1);
  expect(channel.texts()).toEqual(['Your pills.']);
});

test('a job of a person who may be paired waits while their channel cannot be created', async () => {
  await using dir = await tempDir();
  const broken = testChannelEntry(() => {
    throw new Error('no network');
  });
  await using running = await testDaemon({
    ...{ dataDir: dir.path, model: scriptedModel([]), entry: { allowed_senders: [] } },
    daemon: { registry: { test: broken } },
  });
  const { journal } = running.daemon;
  await journal.commit([{ kind: 'job', job: job({ authority: MEMBER, nextDue: systemClock.now() }) }]);
  const looked = await until('a look at it', async () => {
    const now = await journal.jobs.get('ab12cd34');
    return now?.lastStatus === undefined ? undefined : now;
  });
  expect(looked).toMatchObject({ enabled: true, lastStatus: 'error: there is no channel test' });
});

test('a job of another account of its channel waits for that one, asks no model, and is not disabled', async () => {
  await using at = await scene([], { allowed: ['ada'] });
  const payload = { text: 'water the plants', profile: 'session', deliver: { ...CHAT, account: 'first-bot' } } as const;
  const waits = { enabled: true, runCount: 0, lastStatus: 'error: there is no channel test with account first-bot' };
  // Paired with the first bot: the second one does not know them.
  const ben = { ...MEMBER, principal: 'test:ben', home: 'test/first-bot/chat-1' };
  expect(await at.fire({ id: 'paired00', authority: ben })).toMatchObject(waits);
  expect(await at.fire({ authority: MEMBER, payload })).toMatchObject(waits);
  expect(at.model.requests).toEqual([]);
});

test('a job whose channel has no login yet waits for it', async () => {
  await using at = await scene([]);
  Object.assign(at.channel, { account: 'not-linked' });
  const waits = { enabled: true, runCount: 0, lastStatus: 'error: there is no channel test' };
  expect(await at.fire({ id: 'paired00', authority: MEMBER })).toMatchObject(waits);
  expect(await at.fire()).toMatchObject(waits);
  expect(at.model.requests).toEqual([]);
});

test('a job of a person on the list runs on their account', async () => {
  await using at = await scene(['ok'], { allowed: ['ada'] });
  expect(await at.fire({ authority: MEMBER })).toMatchObject({ enabled: true, lastStatus: 'ok' });
  expect((await at.journal.usage(0)).map(({ sender }) => sender)).toEqual(['test:ada']);
});

test('the owner makes a job in a conversation, and it answers there', async () => {
  const add = { name: 'cron', arguments: { action: 'add', message: 'look again', every_seconds: 3600 } };
  const list = { name: 'cron', arguments: { action: 'list' } };
  await using at = await scene([{ toolCalls: [add] }, { toolCalls: [list] }, 'Every hour, then.']);
  await at.fire();
  const [, made] = (await at.journal.jobs.list()).toSorted((a, b) => a.createdAt - b.createdAt);
  expect(made).toMatchObject({
    schedule: { kind: 'every', ms: 3_600_000 },
    authority: { principal: 'cli:local', role: 'owner' },
    payload: { text: 'look again', session: 'job:ab12cd34', deliver: { channel: 'test', account: 'bot', chatId: 'chat-1' } },
  });
  expect(at.model.requests[2]?.messages.at(-1)?.content).toContain(`${made?.id} "look again" every 3600 s`);
});

test('the owner asks for a job in a chat: it is made on their account, and answers in that chat', async () => {
  const add = { name: 'cron', arguments: { action: 'add', message: 'look again', every_seconds: 3600 } };
  await using at = await scene([{ toolCalls: [add] }, 'Every hour, then.']);
  await at.channel.deliver({ platformId: 'm1', senderId: 'owner', text: 'look again every hour' });
  await at.daemon.gateway.idle();
  expect(await at.journal.jobs.list()).toMatchObject([
    {
      authority: { principal: 'test:owner', role: 'owner' },
      payload: { session: '_main:test:chat-1', deliver: { channel: 'test', chatId: 'chat-1' } },
    },
  ]);
});

test('a time of day in a conversation is one of the daemon’s zone, which the model is told with the date', async () => {
  const add = { name: 'cron', arguments: { action: 'add', message: 'call Mum', at: '2100-07-01T18:00' } };
  await using at = await scene([{ toolCalls: [add] }, 'At six, then.'], { timezone: 'Pacific/Kiritimati' });
  await at.channel.deliver({ platformId: 'm1', senderId: 'owner', text: 'remind me at six to call Mum' });
  await at.daemon.gateway.idle();
  expect(await at.journal.jobs.list()).toMatchObject([
    { schedule: { at: Date.UTC(2100, 6, 1, 4) }, timezone: 'Pacific/Kiritimati' },
  ]);
  const [first, second] = at.model.requests.map(({ messages }) => messages.map(({ content }) => content));
  expect(first?.[0]).toMatch(/\nCurrent date: \d{4}-\d\d-\d\d \(Pacific\/Kiritimati\)\./);
  expect(second?.[0]).toBe(first?.[0]);
  expect(second?.at(-1)).toContain('in Pacific/Kiritimati; due 2100-07-01 18:00 Pacific/Kiritimati');
});

test('a job that the heartbeat asked for runs as the heartbeat does', async () => {
  await using at = await scene(['The mail came.']);
  const authority = { principal: 'job:heartbeat', role: 'owner', mode: 'guarded', policies: [] } as const;
  expect(await at.fire({ authority })).toMatchObject({ enabled: true, lastStatus: 'ok' });
});

test('A34 a member is not offered the tool', async () => {
  await using at = await scene(['hello']);
  await at.channel.deliver({ platformId: 'm1', text: 'hi' });
  await at.daemon.gateway.idle();
  expect(at.model.requests[0]?.tools?.map(({ name }) => name)).not.toContain('cron');
});

test('a job that another process adds is noticed', async () => {
  await using at = await scene(['noticed']);
  await using other = await openJournal({ dir: at.dir, clock: systemClock, checks: false, sync: 'in-commit' });
  const payload = { text: 'x', profile: 'session', deliver: CHAT } as const;
  await other.journal.commit([{ kind: 'job', job: job({ payload, nextDue: systemClock.now() }) }]);
  await until('its answer', () => at.channel.texts().length === 1);
});

test('HEARTBEAT.md is asked about when the daemon starts, and HEARTBEAT_OK is told to nobody', async () => {
  const before = (dir: string) => writeFile(join(dir, 'HEARTBEAT.md'), '- [ ] look at the mail');
  await using at = await scene(['HEARTBEAT_OK'], { before });
  await until('its end', async () => (await at.journal.jobs.get('heartbeat'))?.lastStatus === 'ok');
  expect(at.model.requests[0]?.messages.at(-1)?.content).toContain('look at the mail');
  expect(at.channel.sent).toEqual([]);
});

const DOUBLE = (url: string) => ({
  channels: [{ type: 'double', allowed_senders: ['*'], settings: { url } }],
  http: { port: 0 },
});

test('the command line makes a job due now, and the daemon that runs answers it', async () => {
  await using platform = new DoublePlatform();
  const url = await platform.start();
  await using model = await startModelServer({ script: () => stream(textPieces('The plants are dry.')) });
  await using dir = await tempDir();
  const config = {
    ...{ provider: 'vllm', model: 'm', base_url: `${model.url}/v1` },
    gateway: DOUBLE(url),
  };
  await using daemon = await startInline({ dir: dir.path, config, faultParts: true });
  await daemon.ready();
  const payload = { text: 'x', profile: 'session', deliver: { channel: 'double', chatId: 'c' } } as const;
  const later = systemClock.now() + 3_600_000;
  await using other = await openJournal({ dir: daemon.dataDir, clock: systemClock, checks: false, sync: 'in-commit' });
  await other.journal.commit([{ kind: 'job', job: job({ payload, nextDue: later, schedule: { kind: 'at', at: later } }) }]);
  expect(await cliJson(dir.path, ['cron', 'run', 'ab12cd34'])).toMatchObject({ ok: true, id: 'ab12cd34' });
  await until('the answer', () => platform.posted.length === 1);
  expect(platform.posted[0]).toMatchObject({ chatId: 'c', text: 'The plants are dry.' });
  await until('its end', async () => (await other.journal.jobs.get('ab12cd34'))?.lastStatus === 'ok');
  // At its own time it fires as well.
  expect(await other.journal.jobs.get('ab12cd34')).toMatchObject({ enabled: true, nextDue: later, runCount: 1 });
  expect((await daemon.status()).jobs).toMatchObject({ enabled: 1, failing: 0, nextDue: later });
});

test('job_usd bounds each run of a job by itself, and the model of purpose job works on it', async () => {
  await using platform = new DoublePlatform();
  const url = await platform.start();
  await using model = await startModelServer({
    script: () => stream(callPieces({ name: 'list_dir', arguments: { path: '.' } })),
  });
  await using dir = await tempDir();
  // 0.01 USD a token out, and ten of them at most: a first call fits, and no second.
  const priced = { provider: 'vllm', base_url: `${model.url}/v1`, model_hints: { price: { in: 0, out: 10_000 } } };
  const config = {
    ...{ ...priced, model: 'main', models: { cheap: { ...priced, model: 'for-jobs' } }, purposes: { job: 'cheap' } },
    budget: { job_usd: 0.1, steps: ['stop'] },
    gateway: { ...DOUBLE(url), max_output_tokens: 10 },
  };
  await using daemon = await startInline({ dir: dir.path, config, faultParts: true });
  await daemon.ready();
  const payload = { text: 'x', profile: 'session', deliver: { channel: 'double', chatId: 'c' } } as const;
  const later = systemClock.now() + 3_600_000;
  await using other = await openJournal({ dir: daemon.dataDir, clock: systemClock, checks: false, sync: 'in-commit' });
  const every = { kind: 'every', ms: 3_600_000, from: later } as const;
  await other.journal.commit([{ kind: 'job', job: job({ payload, nextDue: later, schedule: every }) }]);
  for (const runs of [1, 2]) {
    await cliJson(dir.path, ['cron', 'run', 'ab12cd34']);
    await until('its end', async () => {
      const now = await other.journal.jobs.get('ab12cd34');
      return now?.runCount === runs && now.lastStatus === 'error: failed:GH2112';
    });
    expect(model.requests.map(({ body }) => body['model'])).toEqual(Array(runs).fill('for-jobs'));
  }
  const { groups } = (await cliJson(dir.path, ['usage', '--by', 'job'])) as { groups: readonly { key: string; calls: number }[] };
  expect(groups).toMatchObject([{ calls: 1 }, { calls: 1 }]);
  for (const { key } of groups) expect(key).toMatch(/^job\/ab12cd34\/\d+$/);
  // Told once: it goes on to fail in the same way.
  expect(platform.posted.map(({ text }) => text)).toEqual([
    expect.stringMatching(/^The scheduled job ab12cd34 failed\.\n.*\(GH2112\)\nAlready run: list_dir$/s),
  ]);
});

test('a job of a person who is let in by the account that works now runs', async () => {
  await using at = await scene(['ok'], { allowed: [] });
  const { pairing } = at.daemon.opened as unknown as OpenedJournal;
  const now = systemClock.now();
  await pairing.request({ channel: 'test', account: 'bot', senderId: 'ben', senderName: 'Ben', chatId: 'chat-1' }, now);
  await pairing.approve({ channel: 'test', senderId: 'ben' }, now);
  expect(await pairing.decided({ channel: 'test', account: 'bot', senderId: 'ben' })).toBe('approved');
  const ben = { ...MEMBER, principal: 'test:ben', home: 'test/first-bot/chat-1' };
  expect(await at.fire({ authority: ben })).toMatchObject({ enabled: true, lastStatus: 'ok' });
});
