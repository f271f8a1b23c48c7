// A call that needs a yes, over Telegram: who is asked, what a button does, what a kill in between leaves.
import { expect, test } from 'vitest';
import { configSchema } from '../../config/schema.ts';
import { countingTool } from '../testing/agent-run.ts';
import { cliJson } from '../testing/cli-json.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { callPieces, messagesOf, stream, textPieces } from '../testing/model-server.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { type TelegramScene, telegramScene } from '../testing/telegram/scene.ts';
import { testDaemon } from '../testing/test-daemon.ts';

const OWNER = 500;
const ANN = 7;
const CRON = { name: 'cron', arguments: { action: 'add', message: 'water the plants', every_seconds: 3_600 } };
const READ = { name: 'read_file', arguments: { path: 'notes.txt' } };

/** Makes a job, after it has read a file where the owner asks; then says what came of it. */
async function scene(): Promise<TelegramScene> {
  return await telegramScene({
    script: (request) => {
      const messages = messagesOf(request);
      const asked = messages.findLastIndex(({ role }) => role === 'user');
      const results = messages.slice(asked).filter(({ role }) => role === 'tool');
      const calls = messages[asked]?.content.includes('read') ? [READ, CRON] : [CRON];
      const call = calls[results.length];
      return stream(call ? callPieces(call) : textPieces(`came of it: ${results.at(-1)?.content}`));
    },
    config: { tool_policy: { members: ['cron'] } },
    gateway: { owner: [{ channel: 'telegram', chat_id: String(OWNER) }] },
    entry: { allowed_senders: [String(OWNER), String(ANN)] },
  });
}

function say(at: TelegramScene, chat: number, text: string): void {
  at.platform.inject({ chat_id: chat, from: { id: chat }, text });
}

const question = (at: TelegramScene) =>
  until('a question is asked', () => at.platform.sends.findLast(({ text }) => text.includes('May I use')));

/** Presses a button below the newest question, as the person of that chat or another one. */
async function press(at: TelegramScene, label: string, by?: number): Promise<void> {
  const { messageId, chatId, text } = await question(at);
  const button = at.platform.markupOf(messageId).find((one) => one.text === label);
  const message = { message_id: messageId, date: 1, chat: { id: Number(chatId), type: 'private' }, text };
  const from = { id: by ?? Number(chatId), is_bot: false, first_name: 'Ada' };
  const id = `press-${label}-${messageId}`;
  at.platform.injectUpdate({ callback_query: { id, from, message, chat_instance: 'c', data: button?.callback_data } });
}

const has = (at: TelegramScene, chat: number, text: RegExp) =>
  until(`chat ${chat} reads ${text}`, () => at.texts(chat).find((one) => text.test(one)));

async function jobsIn({ dir }: TelegramScene): Promise<number> {
  const { jobs } = (await cliJson(dir, ['cron', 'list'])) as { readonly jobs: readonly unknown[] };
  return jobs.length;
}

test.concurrent('a member asks for a job: the owner allows one and denies one by a button', async () => {
  await using at = await scene();
  await using daemon = await at.start();
  await daemon.ready();
  say(at, ANN, 'remind me');
  const { chatId, text } = await question(at);
  expect(chatId).toBe(String(OWNER));
  expect(text).toContain('For telegram:7: a job needs a yes in mode guarded');
  expect(text).toContain('"message": "water the plants"');
  expect(await jobsIn(at)).toBe(0);
  await press(at, 'Allow');
  await has(at, ANN, /^came of it: .*water the plants/s);
  expect(await jobsIn(at)).toBe(1);
  const who = { tool: 'cron', effect: 'outside', principal: `telegram:${ANN}`, allowedBy: `telegram:${OWNER}` };
  expect(await cliJson(at.dir, ['effects'])).toMatchObject({ effects: [who] });
  say(at, ANN, 'again');
  await until('the owner is asked again', () => at.texts(OWNER).filter((one) => one.includes('May I use')).length === 2);
  await press(at, 'Deny');
  expect(await has(at, ANN, /a person said no/)).toBe(
    'came of it: Error: cron was not allowed: a person said no. Do not try it in another way.',
  );
  expect(await jobsIn(at)).toBe(1);
});

test.concurrent('the owner is asked for a job of their own only once the run has read untrusted and private things', async () => {
  await using at = await scene();
  await using daemon = await at.start();
  await daemon.ready();
  say(at, OWNER, 'remind me');
  await has(at, OWNER, /^came of it: .*water the plants/s);
  say(at, OWNER, 'read the notes, then remind me');
  expect((await question(at)).text).toContain('untrusted and private things were read');
  await press(at, 'Deny');
  await has(at, OWNER, /a person said no/);
  expect(await jobsIn(at)).toBe(1);
});

test.concurrent('F5 killed between the question and the yes: nothing is asked, called or done twice', async () => {
  await using at = await scene();
  {
    await using dying = await at.spawn();
    await dying.ready();
    say(at, ANN, 'remind me');
    await question(at);
    await dying.stop('SIGKILL');
  }
  await using daemon = await at.start();
  await daemon.ready();
  await press(at, 'Allow');
  await has(at, ANN, /^came of it/);
  await daemon.settled(2);
  expect(await jobsIn(at)).toBe(1);
  expect(at.texts(OWNER).filter((one) => one.includes('May I use'))).toHaveLength(1);
  expect(at.model.requests).toHaveLength(2);
});

test.concurrent('a yes for the session holds for what its rule fits, until the session is begun anew', async () => {
  await using dir = await tempDir();
  const run = countingTool({
    ...{ name: 'run', act: 'program', effect: 'workspace' },
    approval: async () => ({ digest: 'cwd', shown: 'in .', rule: 'git … in .' }),
  });
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? `did: ${messages.at(-1)?.content}`
      : { toolCalls: [{ name: 'run', arguments: { n: messages.length } }] },
  );
  await using rig = await testDaemon({
    ...{ dataDir: dir.path, model, policy: { members: ['*'] }, daemon: { extraTools: [() => [run]] } },
    gateway: { owner: [{ channel: 'test', chat_id: 'chat-1', sender_ids: ['user-1'] }] },
  });
  const answers = () => rig.channel.texts().filter((text) => text.startsWith('did: ')).length;
  const asked = (n: number) =>
    until('it asks', () => {
      const codes = rig.channel.texts().flatMap((text) => /`\/allow ([A-Z2-9]{6}) session`/.exec(text)?.[1] ?? []);
      return codes.length === n ? codes.at(-1) : undefined;
    });
  await rig.channel.deliver({ text: 'one' });
  await rig.channel.deliver({ text: `/allow ${await asked(1)} session` });
  await until('it ran', () => answers() === 1);
  expect(rig.channel.texts()).toContain('✅ Allowed for this session.');
  await rig.channel.deliver({ text: 'two' });
  await until('it ran without a question', () => answers() === 2);
  const effects = await rig.daemon.journal.record.effects(0);
  expect(effects.map(({ tool, allowedBy }) => [tool, allowedBy])).toEqual([
    ['run', 'test:user-1'],
    ['run', 'test:user-1'],
  ]);
  await rig.channel.deliver({ text: '/new --keep 0' });
  await rig.channel.deliver({ text: 'three' });
  await rig.channel.deliver({ text: `/deny ${await asked(2)}` });
  await until('it is answered', () => answers() === 3);
  expect(run.runs).toBe(2);
});

test.concurrent('a changed policy holds at once: also for a call that waits for its yes', async () => {
  await using dir = await tempDir();
  const run = countingTool({ name: 'run', act: 'program', effect: 'workspace' });
  const model = scriptedModel(({ messages }) => {
    const last = messages.at(-1);
    return last?.role === 'tool' ? `came of it: ${last.content}` : { toolCalls: [{ name: 'run' }] };
  });
  const owner = { owner: [{ channel: 'test', chat_id: 'chat-1' }] };
  await using rig = await testDaemon({
    ...{ dataDir: dir.path, model, policy: { members: ['*'] }, daemon: { extraTools: [() => [run]] } },
    gateway: owner,
  });
  await rig.channel.deliver({ text: 'run it' });
  const code = await until('it asks', () => /`\/allow ([A-Z2-9]{6})`/.exec(rig.channel.texts().join())?.[1]);
  const channels = [{ type: 'test', allowed_senders: ['user-1', '*'] }];
  const forbidden = configSchema.parse({ tool_policy: { members: ['*'], deny: ['run'] }, gateway: { channels, ...owner } });
  await rig.daemon.reload(forbidden, new AbortController().signal);
  await rig.channel.deliver({ text: `/allow ${code}` });
  await until('it is answered', () => rig.channel.texts().includes('came of it: Error: run is not allowed: "run" forbids it.'));
  expect(run.runs).toBe(0);
  expect(model.requests.at(-1)?.tools?.map(({ name }) => name)).not.toContain('run');
});
