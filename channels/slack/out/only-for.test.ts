/** Answers that one person of a channel sees. */
import { afterEach, expect, test } from 'vitest';
import type { InboundMessage, OutboundPart } from '../../../src/core/message.ts';
import { BOT_USER, DIRECT, PERSON } from '../../../src/simulator/slack/workspace.ts';
import { quickClock } from '../../../src/testing/channel-host.ts';
import { outbound, until } from '../../../src/testing/fakes.ts';
import { type SlackSetup, slackSetup } from '../../../src/testing/slack/setup.ts';
import { channel as descriptor } from '../index.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const item of open.splice(0).reverse()) await item[Symbol.asyncDispose]();
});

const CHANNEL = 'C0TEST';
const CALL = `<@${BOT_USER}> /model`;

async function scene() {
  const at: SlackSetup = await slackSetup(descriptor, { clock: quickClock() });
  open.push(at);
  const { channel, host } = await at.start();
  const { server } = at;
  const { signal } = new AbortController();
  const answerTo = ({ chatId, threadId, replyContext }: InboundMessage): OutboundPart =>
    outbound({
      ...{ channel: 'slack', chatId, text: 'Model: *m*' },
      ...(threadId !== undefined && { threadId }),
      ...(replyContext && { replyContext }),
    });
  const write = async (message: { readonly text?: string; readonly thread_ts?: string } = {}): Promise<InboundMessage> => {
    const { ts } = server.say({ channel: CHANNEL, text: CALL, ...message });
    return await until('it arrived', () => host.accepted.find(({ platformId }) => platformId === `${CHANNEL}:${ts}`));
  };
  const send = (part: OutboundPart) => channel.send(part, { plain: false, signal });
  return { ...at, channel, host, answerTo, write, send, signal };
}

const posts = ({ server }: Pick<SlackSetup, 'server'>) => server.sends.map(({ channel, text }) => [channel, text]);

test('the answer to a command that opens a thread is shown in the channel, to its sender, and in no history', async () => {
  const at = await scene();
  expect(await at.send(at.answerTo(await at.write()))).toEqual({
    kind: 'sent',
    platformId: expect.stringMatching(/^C0TEST:only:\d+\.\d+$/),
  });
  // In a thread that has no replies no person would see it.
  expect(at.server.workspace.ephemerals).toEqual([{ channel: CHANNEL, user: PERSON, text: 'Model: _m_', isShown: true }]);
  expect(posts(at)).toEqual([]);
});

test('in plain text, too, nothing of it is read as markup: the method knows no other text', async () => {
  const at = await scene();
  const part = { ...at.answerTo(await at.write()), text: '*m* <!channel>' };
  await at.channel.send(part, { plain: true, signal: at.signal });
  const { args } = at.server.calls.find(({ method }) => method === 'chat.postEphemeral') ?? {};
  expect(args).toMatchObject({ text: '*\u2060m* &lt;!channel&gt;', parse: 'none' });
  expect(Object.keys(args ?? {}).filter((name) => ['mrkdwn', 'metadata', 'unfurl_links'].includes(name))).toEqual([]);
});

test('the answer to a command within a thread is shown there', async () => {
  const at = await scene();
  const parent = at.server.store({ channel: CHANNEL, text: 'first' });
  await at.send(at.answerTo(await at.write({ thread_ts: parent.ts })));
  expect(at.server.workspace.ephemerals).toMatchObject([{ threadTs: parent.ts, isShown: true }]);
});

test('a thread in which one person was answered alone is none that the app takes part in', async () => {
  const at = await scene();
  const parent = at.server.store({ channel: CHANNEL, text: 'first' });
  await at.send(at.answerTo(await at.write({ thread_ts: parent.ts })));
  expect(await at.write({ thread_ts: parent.ts, text: 'as I was saying' })).toMatchObject({ mentionsBot: false });
});

test.each(['user_not_in_channel', 'not_in_channel'])(
  'after %s the person is written to directly, and nothing is shown to others',
  async (error) => {
    const at = await scene();
    const asked = await at.write();
    at.server.workspace.outsiders.add(error === 'not_in_channel' ? CHANNEL : `${CHANNEL}:${PERSON}`);
    expect(await at.send(at.answerTo(asked))).toMatchObject({ kind: 'sent', platformId: expect.stringContaining(`${DIRECT}:`) });
    expect(posts(at)).toEqual([[DIRECT, 'Model: _m_']]);
    expect(at.server.sends[0]?.threadTs).toBeUndefined();
  },
);

test('without the scope for that the answer is refused with the reason, and the fix is in the log', async () => {
  const at = await scene();
  const asked = await at.write();
  at.server.workspace.outsiders.add(`${CHANNEL}:${PERSON}`);
  at.server.fault({ method: 'conversations.open', kind: 'error', error: 'missing_scope', needed: 'im:write' });
  expect(await at.send(at.answerTo(asked))).toEqual({
    ...{ kind: 'refused', reason: 'chat-gone' },
    detail: 'user_not_in_channel, and no direct message can be sent',
  });
  const [line] = at.logger.lines.filter(({ event }) => event === 'slack.direct-chat-refused');
  expect(line?.data).toMatchObject({ hint: expect.stringContaining('im:write') });
});

test('an answer that comes long after the command is a direct message, because the person may have left', async () => {
  const at = await scene();
  const part = at.answerTo(await at.write());
  const late = { ...part, replyContext: { ...part.replyContext, onlyFor: { user: PERSON, at: Date.now() - 301_000 } } };
  expect(await at.send(late)).toMatchObject({ kind: 'sent' });
  expect(posts(at)).toEqual([[DIRECT, 'Model: _m_']]);
  at.server.fault({ method: 'conversations.open', kind: 'error', error: 'user_disabled' });
  const other = { ...late, replyContext: { ...part.replyContext, onlyFor: { user: 'U0BOB', at: 0 } } };
  expect(await at.send(other)).toMatchObject({ kind: 'sent' });
  expect(at.server.workspace.ephemerals).toMatchObject([{ user: 'U0BOB' }]);
});

test('when the connection breaks, the platform cannot say whether it was shown: it stays in doubt and is not sent again', async () => {
  const at = await scene();
  const part = at.answerTo(await at.write());
  at.server.fault({ method: 'chat.postEphemeral', kind: 'drop' });
  expect(await at.send(part)).toMatchObject({ kind: 'unknown' });
  expect(await at.channel.find?.(part, at.signal)).toBeUndefined();
  expect(at.server.workspace.ephemerals).toHaveLength(1);
});

test('when the direct conversation cannot be opened just now, nothing was shown and it is tried again', async () => {
  const at = await scene();
  const part = at.answerTo(await at.write());
  at.server.workspace.outsiders.add(`${CHANNEL}:${PERSON}`);
  at.server.fault({ method: 'conversations.open', kind: 'drop', times: 1_000 });
  expect(await at.send(part)).toMatchObject({ kind: 'retry', scope: 'part' });
  at.server.clearFaults();
  expect(await at.send(part)).toMatchObject({ kind: 'sent' });
  expect(posts(at)).toHaveLength(1);
});

test('an answer for one person cannot be edited or taken away', async () => {
  const at = await scene();
  const part = at.answerTo(await at.write());
  const sent = await at.send(part);
  const platformId = sent.kind === 'sent' ? sent.platformId : '';
  expect(await at.channel.edit?.(platformId, part, { plain: false, signal: at.signal })).toMatchObject({
    kind: 'refused',
    reason: 'invalid',
  });
  await expect(at.channel.withdraw?.({ chatId: CHANNEL, platformId }, at.signal)).rejects.toThrow(
    'no message that can be deleted',
  );
});

test('a command that was edited into a question before it was answered is answered for all', async () => {
  const at = await scene();
  const asked = await at.write();
  const previous = at.server.workspace.messages.at(-1);
  const message = { ...previous, text: `<@${BOT_USER}> what now?`, edited: { user: PERSON, ts: at.server.workspace.nextTs() } };
  const event = { type: 'message', subtype: 'message_changed', hidden: true, channel: CHANNEL, ts: at.server.workspace.nextTs() };
  at.server.event({ ...event, message, previous_message: previous });
  await until('the edit arrived', () => at.host.accepted.some(({ kind }) => kind === 'edit'));
  await at.send(at.answerTo(asked));
  expect([posts(at), at.server.workspace.ephemerals]).toEqual([[[CHANNEL, 'Model: _m_']], []]);
});
