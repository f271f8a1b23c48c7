// What commands about people do to a daemon that runs. Everything is real but the platform and the model; the
// commands have the journal open a second time, as another process.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { configSchema } from '../../config/schema.ts';
import { runCli } from '../cli/program.ts';
import { processDeps } from '../cli/wiring.ts';
import type { InboundMessage } from '../core/message.ts';
import { Database } from '../journal/database.ts';
import { openJournal } from '../journal/open.ts';
import { systemClock } from '../lib/clock.ts';
import { countingTool } from '../testing/agent-run.ts';
import { filesHolding } from '../testing/bytes-on-disk.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { type Script, scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { testDaemon } from '../testing/test-daemon.ts';
import { OPEN_TO_ALL } from '../testing/waiting-tools.ts';

const OPEN = { allowed_senders: ['*'], allowed_groups: ['*'] };

interface Setting {
  readonly script?: Script;
  readonly entry?: Record<string, unknown>;
  readonly gateway?: Record<string, unknown>;
  readonly channel?: TestChannel;
}

async function setup({ script = () => 'echo', entry = OPEN, gateway = {}, channel }: Setting = {}) {
  const dir = await tempDir();
  const dataDir = join(dir.path, 'data');
  const model = scriptedModel(script);
  const tool = countingTool({ name: 'pay', act: 'none', run: async () => ({ ok: true, output: 'paid' }) });
  const daemon = { extraTools: [() => [tool]] };
  const rig = await testDaemon({ dataDir, model, entry, gateway, policy: OPEN_TO_ALL, daemon, ...(channel ? { channel } : {}) });
  const cli = async (...argv: string[]) => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const code = await runCli([...argv, '--data-dir', dataDir, '--config', join(dir.path, 'config.json')], {
      ...processDeps(),
      stdio: { stdin: new PassThrough(), stdout, stderr },
      env: { HOME: dir.path },
      cwd: dir.path,
      channelTypes: ['test', 'cli'],
      channelSettings: async () => z.strictObject({}),
    });
    return { code, stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') };
  };
  await writeFile(
    join(dir.path, 'config.json'),
    JSON.stringify({ gateway: { channels: [{ type: 'test', ...entry }], ...gateway } }),
  );
  return {
    ...{ ...rig, dataDir, model, tool, cli },
    refused: async () =>
      Object.fromEntries((await rig.daemon.journal.counts()).refused.map(({ reason, count }) => [reason, count])),
    rows: <Row>(sql: string): readonly Row[] => {
      using db = new Database(join(dataDir, 'journal.db'), { busyMs: 5_000 });
      return db.all<Row>(sql);
    },
    [Symbol.asyncDispose]: async () => {
      await rig[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

const EVE = { senderId: 'eve', senderName: 'Eve', chatId: 'chat of eve' };
const GROUP = { chatId: 'group', isGroup: true, mentionsBot: true };

test.each<[what: string, message: Partial<InboundMessage>]>([
  ['a message', { text: 'hello' }],
  ['a message in a group', { ...GROUP, text: 'hello' }],
  ['words that do not address the agent', { ...GROUP, mentionsBot: false, text: 'hello' }],
  ['a voice note that may be overheard', { ...GROUP, mentionsBot: false, text: '', media: [{ kind: 'voice', ref: 'v' }] }],
  ['an edit', { kind: 'edit', targetId: 'first', text: 'other words' }],
  ['a message that is taken back', { kind: 'delete', targetId: 'first', text: '' }],
  ['a reaction', { kind: 'reaction', targetId: 'first', text: '👍' }],
  ['a button', { text: '/allow ABC234' }],
  ['a command', { text: '/stop' }],
  ['a question why', { text: '/why' }],
])('S3 after a block %s is refused at once, also where everyone is let in', async (_what, message) => {
  await using at = await setup();
  await at.channel.deliver({ ...EVE, platformId: 'first', text: 'hi' });
  await until('it is answered', () => at.channel.sent.length === 1);
  expect(await at.cli('people', 'block', 'test:eve')).toMatchObject({ code: 0 });
  await at.channel.deliver({ ...EVE, ...message });
  expect(await at.refused()).toEqual({ blocked: 1 });
  await at.daemon.gateway.idle();
  expect([at.model.requests.length, at.channel.sent.length]).toEqual([1, 1]);
  // Others are answered as ever.
  await at.channel.deliver({ senderId: 'ada', text: 'hi' });
  await until('Ada is answered', () => at.channel.sent.length === 2);
});

test('S3 the turn of a blocked person ends within about a second, what waits does not run, and no answer is sent', async () => {
  const channel = new TestChannel('test').withEdits();
  const ended: string[] = [];
  await using at = await setup({
    channel,
    script: ({ messages }, signal) => {
      const words = messages.at(-1)?.content ?? '';
      if (!words.includes('long')) return `echo ${words}`;
      signal.addEventListener('abort', () => ended.push(words), { once: true });
      return { hang: true };
    },
  });
  await at.channel.deliver({ ...EVE, text: 'long work' });
  await at.channel.deliver({ ...EVE, text: 'and more' });
  await at.channel.deliver({ senderId: 'ada', text: 'long work of Ada' });
  await until('both are at work', () => at.model.requests.length === 2);
  const { stdout } = await at.cli('people', 'block', 'test:eve', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ state: 'blocked', ended: { runs: 2 } });
  const since = performance.now();
  await until('her turn ended', () => ended.length === 1);
  expect(performance.now() - since).toBeLessThan(5_000);
  await until('only the turn of Ada is left', () => at.daemon.lanes.stats().running === 1);
  expect(ended).toEqual(['long work']);
  expect(at.channel.texts('chat of eve')).toEqual([]);
  expect((await at.daemon.journal.counts()).inbox).toMatchObject({ NEW: 0, RUNNING: 1, PARKED: 0 });
});

test('what the turn of a blocked person did stays in the session of the group, for those who go on there', async () => {
  const pay = { text: 'I will pay.', toolCalls: [{ name: 'pay', arguments: {} }] };
  await using at = await setup({ script: [pay, { hang: true }, 'done'] });
  await at.channel.deliver({ ...EVE, ...GROUP, text: 'pay the bill' });
  await until('the tool ran', () => at.model.requests.length === 2);
  await at.cli('people', 'block', 'test:eve');
  await until('her turn ended', () => at.daemon.lanes.stats().running === 0);
  await until('its lines are in the file', () => at.rows('SELECT 1 FROM session_line').length === 0);
  await at.channel.deliver({ senderId: 'ada', senderName: 'Ada', ...GROUP, text: 'go on' });
  await until('Ada is answered', () => at.model.requests.length === 3);
  const shown = at.model.requests[2]?.messages.slice(1).map(({ role, content }) => `${role}: ${content}`);
  expect(shown).toEqual([
    'user: [from Eve] pay the bill',
    'assistant: I will pay.',
    'tool: paid',
    'assistant: [interrupted]',
    'user: [from Ada] go on',
  ]);
  expect(at.tool.runs).toBe(1);
});

test('S3 what a person said in a group before a block is told to no model, neither with what waits nor with what comes', async () => {
  await using at = await setup({
    gateway: { max_concurrent_sessions: 1 },
    script: ({ messages }) => (messages.at(-1)?.content.includes('long') ? { hang: true } : 'done'),
  });
  const ADA = { senderId: 'ada', senderName: 'Ada', ...GROUP };
  const aside = { ...GROUP, mentionsBot: false };
  await at.channel.deliver({ ...EVE, text: 'long work in private' });
  await until('she has the only permit', () => at.model.requests.length === 1);
  await at.channel.deliver({ ...EVE, ...aside, text: 'words of Eve' });
  await at.channel.deliver({ senderId: 'bob', senderName: 'Bob', ...aside, text: 'words of Bob' });
  await at.channel.deliver({ ...ADA, text: 'what waits' });
  await at.channel.deliver({ ...EVE, ...aside, text: 'more words of Eve' });
  await at.channel.deliver({ ...EVE, ...aside, kind: 'reaction', targetId: '1', text: '👎' });
  await at.cli('people', 'block', 'test:eve');
  await until('what waited is answered', () => at.channel.texts('group').length === 1);
  await at.cli('people', 'unblock', 'test:eve');
  await at.channel.deliver({ ...EVE, ...aside, text: 'later' });
  await at.channel.deliver({ ...ADA, text: 'what comes' });
  await until('what came is answered', () => at.channel.texts('group').length === 2);
  const told = at.model.requests.slice(1).map(({ messages }) => messages.at(-1)?.content);
  expect(told).toEqual([
    '[said in this group since you last spoke, not to you:\n  [from Bob] words of Bob\n]\n[from Ada] what waits',
    '[said in this group since you last spoke, not to you:\n  [from Eve] later\n]\n[from Ada] what comes',
  ]);
});

test('S3 S6 who asks is let in by id and told so; who is revoked is refused at once, without a code', async () => {
  await using at = await setup({ entry: { allowed_senders: [] } });
  await at.channel.deliver({ ...EVE, text: 'let me in' });
  await until('she has a code', () => at.channel.sent.length === 1);
  expect((await at.cli('pair', 'approve', '--sender', 'test:eve')).code).toBe(0);
  await until('she is told', () => at.channel.texts('chat of eve').includes('You can talk to me now.'));
  await at.channel.deliver({ ...EVE, text: 'hello' });
  await until('she is answered', () => at.channel.texts('chat of eve').includes('echo'));
  expect((await at.cli('people', 'revoke', 'test:eve')).code).toBe(0);
  await at.channel.deliver({ ...EVE, text: 'hello?' });
  await at.daemon.gateway.idle();
  expect(await at.refused()).toEqual({ denied: 1 });
  expect(at.channel.sent).toHaveLength(3);
});

test('S13 once a code was sent the journal has it nowhere, and the person has it', async () => {
  await using at = await setup({ entry: { allowed_senders: [] } });
  await at.channel.deliver({ ...EVE, text: 'let me in' });
  await until('she has a code', () => at.channel.sent.length === 1);
  const code = /approve ([A-Z0-9]{8})`/.exec(at.channel.sent[0]?.text ?? '')?.[1] ?? '';
  expect(code).not.toBe('');
  await until('it is recorded', () => at.rows("SELECT 1 FROM outbox WHERE state = 'SENT'").length === 1);
  expect(JSON.stringify(at.rows('SELECT part FROM outbox'))).not.toContain(code);
  expect(JSON.stringify(at.rows('SELECT part FROM outbox'))).toContain('pair approve ********');
  expect((await at.cli('pair', 'approve', code)).code).toBe(0);
  await at.daemon.close();
  expect(await filesHolding(at.dataDir, [code])).toEqual([]);
});

test('the owner is told once a day that strangers ask, whoever and however many; nobody is without an owner', async () => {
  const owner = [{ channel: 'test', chat_id: 'boss', sender_ids: ['boss'] }];
  await using at = await setup({ entry: { allowed_senders: [] }, gateway: { owner } });
  for (const senderId of ['eve', 'mallory', 'trudy']) await at.channel.deliver({ senderId, chatId: senderId, text: 'hi' });
  await until('the owner is told', () => at.channel.texts('boss').length > 0);
  await at.daemon.gateway.idle();
  expect(at.channel.texts('boss')).toEqual([
    expect.stringMatching(/^⚠️ Someone who is not let in wrote on test.*people pair list/s),
  ]);
  await using alone = await setup({ entry: { allowed_senders: [] } });
  await alone.channel.deliver({ ...EVE, text: 'hi' });
  await alone.daemon.gateway.idle();
  expect(alone.logger.lines.filter(({ event }) => event === 'owner.not-told')).toEqual([]);
});

test('S3 a changed list of senders holds from the next message on, and the record names the key, not the ids', async () => {
  await using at = await setup({ entry: { allowed_senders: ['ada'] } });
  const take = (ids: readonly string[]) =>
    at.daemon.reload(
      configSchema.parse({ tool_policy: OPEN_TO_ALL, gateway: { channels: [{ type: 'test', allowed_senders: ids }] } }),
      new AbortController().signal,
    );
  await take(['eve']);
  await at.channel.deliver({ senderId: 'ada', chatId: 'chat of ada', text: 'still here?' });
  await at.channel.deliver({ ...EVE, text: 'and I?' });
  await until('both are told', () => at.channel.sent.length === 2);
  expect(at.channel.texts('chat of ada')[0]).toContain('This assistant is private');
  expect(at.channel.texts('chat of eve')).toEqual(['echo']);
  await take(['eve']);
  await using opened = await openJournal({ dir: at.dataDir, clock: systemClock });
  const entries = await opened.people.audit({});
  const applied = { kind: 'config.applied', subject: 'config', by: 'file' };
  const digest = expect.stringMatching(/^[0-9a-f]{64}$/);
  expect(entries).toMatchObject([
    { ...applied, data: { digest } },
    { ...applied, data: { keys: ['gateway.channels.test.allowed_senders'], digest } },
  ]);
  expect(JSON.stringify(entries)).not.toContain('eve');
});

test('a config that was changed while no daemon ran is in the record from the next start on, once', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(() => 'echo');
  for (const ids of [['ada'], ['ada'], ['ada', 'eve'], ['ada', 'eve']]) {
    await using _rig = await testDaemon({ dataDir: dir.path, model, entry: { allowed_senders: ids } });
  }
  await using opened = await openJournal({ dir: dir.path, clock: systemClock });
  const entries = await opened.people.audit({ subject: 'config' });
  expect(entries.map(({ data }) => Object.keys(data))).toEqual([['digest'], ['digest']]);
  expect(new Set(entries.map(({ data }) => data['digest'])).size).toBe(2);
});
