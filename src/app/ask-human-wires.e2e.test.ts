// Questions of the tool ask_human on the wires of Slack, Telegram and mail: a choice by a button, an answer
// in another chat, one of another person.
import { expect, onTestFinished, test } from 'vitest';
import { parseMail } from '../../channels/email/in/mime.ts';
import { MAIL_PASSWORD, startMailServers } from '../simulator/email/servers.ts';
import { startSlackServer } from '../simulator/slack/server.ts';
import { BOT_USER, DIRECT, PERSON } from '../simulator/slack/workspace.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { startInline } from '../testing/inline-daemon.ts';
import { callPieces, messagesOf, type ReceivedRequest, startModelServer, stream, textPieces } from '../testing/model-server.ts';
import { needs } from '../testing/needs.ts';
import { telegramScene } from '../testing/telegram/scene.ts';

const QUESTION = { question: 'Which colour?', to: 'requester', answer: 'choice', choices: ['Red', 'Blue'] };
const ANSWERED = 'This question was answered already.';
const POLICY = { mode: 'full', members: ['ask_human'] };

function script(request: ReceivedRequest) {
  const messages = messagesOf(request);
  const asked = messages.findLastIndex(({ role, content }) => role === 'user' && !content.startsWith('[System note]'));
  if (!messages[asked]?.content.includes('ask me')) return stream(textPieces('heard it'));
  const result = messages.slice(asked).find(({ role }) => role === 'tool');
  return stream(result ? textPieces(`came: ${result.content}`) : callPieces({ name: 'ask_human', arguments: QUESTION }));
}

/** A message of Slack's. */
interface Asked {
  readonly ts?: string;
  readonly blocks?: readonly { readonly elements?: readonly { readonly value: string }[] }[];
}
type Buttons = readonly { readonly callback_data: string }[];
interface Keyboard {
  readonly inline_keyboard?: readonly Buttons[];
}

const codeIn = (texts: readonly string[]): string | undefined => /\/answer ([A-Z2-9]{6})/.exec(texts.join('\n'))?.[1];

test('on Slack a choice is not answered from a channel, and a pressed button answers it once', async () => {
  await using platform = await startSlackServer();
  await using model = await startModelServer({ script });
  await using dir = await tempDir();
  const channel = 'C0TEST';
  const settings = { api_root: platform.apiRoot, rate_limits: false };
  const slack = { type: 'slack', allowed_senders: [PERSON], allowed_groups: [channel], settings };
  const provider = { provider: 'openai', model: 'm', base_url: `${model.url}/v1`, api_key_env: 'TEST_KEY' };
  await using daemon = await startInline({
    dir: dir.path,
    config: { ...provider, tool_policy: POLICY, gateway: { channels: [slack], http: { port: 0 } } },
    env: { TEST_KEY: 'sk-test', SLACK_BOT_TOKEN: platform.botToken, SLACK_APP_TOKEN: platform.appToken },
  });
  await daemon.ready();
  await until('it is connected', () => platform.sockets.open === 1);
  const texts = () => platform.workspace.messages.filter(({ user }) => user === BOT_USER).map(({ text }) => text);
  platform.say({ text: 'ask me' });
  const code = await until('it asks', () => codeIn(texts()));
  platform.say({ channel, text: `<@${BOT_USER}> /answer ${code} 1` });
  const seen = () => JSON.stringify([platform.workspace.ephemerals, texts()]);
  await until('it is told', () => seen().includes('This question stands in another chat: answer it there.'));
  expect(seen()).not.toContain('came:');
  const { ts, blocks } = (platform.workspace.messages.find(({ text }) => text.includes('Which colour?')) ?? {}) as Asked;
  const [red, blue] = blocks?.at(-1)?.elements ?? [];
  const press = (value: string | undefined): void => {
    const actions = [{ action_id: 'gatehouse_choice_1', value, action_ts: platform.workspace.nextTs() }];
    const user = { id: PERSON, team_id: 'T0TEST' };
    platform.sockets.deliver('interactive', { type: 'block_actions', user, channel: { id: DIRECT }, message: { ts }, actions });
  };
  press(blue?.value);
  await until('it is answered', () => texts().includes('came: Blue'));
  press(red?.value);
  await until('the second press is told', () => texts().includes(ANSWERED));
  expect([texts().filter((text) => text.startsWith('came:')), model.requests.length]).toEqual([['came: Blue'], 2]);
});

test('on Telegram a button that is pressed after a restart answers a choice once', async () => {
  await using at = await telegramScene({ script, config: { tool_policy: POLICY }, entry: { allowed_senders: ['1000'] } });
  const keyboard = () => (at.platform.lastCall.get('sendMessage')?.['reply_markup'] ?? {}) as Keyboard;
  {
    await using daemon = await at.start();
    await daemon.ready();
    at.platform.inject({ text: 'ask me' });
    await until('it asks', () => codeIn(at.texts()));
  }
  const [[red], [blue]] = keyboard().inline_keyboard as [Buttons, Buttons];
  await using _daemon = await at.start();
  const press = (button: Buttons[number] | undefined, id: string): void => {
    const message = { message_id: 2, date: 1, chat: { id: 1000, type: 'private', first_name: 'Ada' }, text: 'Which colour?' };
    const from = { id: 1000, is_bot: false, first_name: 'Ada' };
    const data = button?.callback_data;
    at.platform.injectUpdate({ callback_query: { id, from, message, chat_instance: 'c', data } });
  };
  press(blue, 'press-1');
  await until('it is answered', () => at.texts().includes('came: Blue'));
  press(red, 'press-2');
  await until('the second press is told', () => at.texts().includes(ANSWERED));
  expect([at.texts().filter((text) => text.startsWith('came:')), at.model.requests.length]).toEqual([['came: Blue'], 2]);
});

test('by mail another person’s answer with the code of a question is refused, and that of the person asked counts', async (context) => {
  needs(context, 'dovecot', '--version');
  const servers = await startMailServers();
  onTestFinished(() => servers.stop());
  await using model = await startModelServer({ script });
  await using dir = await tempDir();
  const { host, imapPort, smtpPort, users } = servers;
  const settings = {
    ...{ imap_host: host, imap_port: imapPort, imap_tls: 'none', smtp_host: host, smtp_port: smtpPort, smtp_tls: 'none' },
    ...{ from_address: users.bot, authserv_id: 'mx.example.test', poll_interval_secs: 1, find_grace_secs: 2 },
  };
  const email = { type: 'email', allowed_senders: [users.alice, users.carol], settings };
  const provider = { provider: 'openai', model: 'm', base_url: `${model.url}/v1`, api_key_env: 'TEST_KEY' };
  await using daemon = await startInline({
    dir: dir.path,
    config: { ...provider, tool_policy: POLICY, gateway: { channels: [email], http: { port: 0 } } },
    env: { TEST_KEY: 'sk-test', EMAIL_USERNAME: users.bot, EMAIL_PASSWORD: MAIL_PASSWORD },
  });
  await daemon.ready();
  await until('it is connected', async () => (await daemon.status()).channels.every(({ state }) => state === 'healthy'));
  let written = 0;
  const writes = async (from: string, text: string): Promise<void> => {
    written += 1;
    const result = 'Authentication-Results: mx.example.test; dmarc=pass header.from=example.test';
    const head = [result, `From: ${from}`, `To: ${users.bot}`, 'Subject: colours', `Message-ID: <asked-${written}@example.test>`];
    await servers.deliver(`${head.join('\r\n')}\r\n\r\n${text}\r\n`);
  };
  const texts = async (user: 'alice' | 'carol'): Promise<readonly string[]> => {
    const mails = await servers.mailbox(user);
    return await Promise.all(mails.map(async ({ raw }) => (await parseMail(Buffer.from(raw, 'latin1'))).text ?? ''));
  };
  const sees = async (user: 'alice' | 'carol', words: string): Promise<void> => {
    await until(`${user} sees “${words}”`, async () => (await texts(user)).some((text) => text.includes(words)), 60_000);
  };
  await writes(users.alice, 'ask me');
  const code = await until('it asks', async () => codeIn(await texts('alice')), 60_000);
  await writes(users.carol, `/answer ${code} 1`);
  await sees('carol', 'No question that you may answer here has this code.');
  expect((await daemon.status()).journal.inbox.PARKED).toBe(1);
  await writes(users.alice, `/answer ${code} 2`);
  await sees('alice', 'came: Blue');
  expect(model.requests).toHaveLength(2);
}, 120_000);
