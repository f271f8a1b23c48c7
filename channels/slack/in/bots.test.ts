import { expect, test } from 'vitest';
import { BOT_ID, BOT_USER, TEAM_ID } from '../../../src/simulator/slack/workspace.ts';
import { inbound, until } from '../../../src/testing/fakes.ts';
import { slackSetup } from '../../../src/testing/slack/setup.ts';
import type { JsonObject } from '../../kit/json.ts';
import { channel as descriptor } from '../index.ts';
import { BotTurns, MOST_IN_A_ROW, wordsOfBot } from './bots.ts';
import { toInbound } from './inbound.ts';
import type { InboundContext } from './inbound-fields.ts';

const context: InboundContext = {
  ...{
    channel: 'slack',
    account: '1-2',
    replyInThread: true,
    directThreads: false,
    followThreads: true,
    commands: [],
    now: 1_767_225_600_000,
  },
  me: { userId: 'U0BOT', botId: 'B0BOT', teamId: 'T1' },
  allowedBots: new Set(['B0FLOW', 'A0ALERT', 'B0BOT']),
  joined: () => true,
};
const CALL = '<@U0BOT> look';
const POST = { type: 'message', channel: 'C1', ts: '1767225600.000100', text: CALL, team: 'T1' };

function read(event: JsonObject) {
  return toInbound({ kind: 'event', body: { event_id: 'Ev1', event: { ...POST, ...event } } }, context);
}

test.each<[string, JsonObject, string | undefined, string]>([
  ['a workflow on the list', { subtype: 'bot_message', bot_id: 'B0FLOW' }, undefined, 'B0FLOW'],
  ['an app on the list', { bot_id: 'B0X', app_id: 'A0ALERT', user: 'U0X' }, undefined, 'A0ALERT'],
  ['a bot that is not on the list', { bot_id: 'B0OTHER', user: 'U0X' }, 'bot-author', 'U0X'],
  ['one that names us not', { bot_id: 'B0FLOW', text: 'disk full' }, 'not-mentioned', 'B0FLOW'],
  [
    'one that writes in a thread of ours',
    { bot_id: 'B0FLOW', text: 'done', thread_ts: '1.000001', parent_user_id: 'U0BOT' },
    'not-mentioned',
    'B0FLOW',
  ],
  ['one that writes to us alone', { bot_id: 'B0FLOW', channel: 'D1' }, 'bot-author', 'B0FLOW'],
  ['the same id in another workspace', { bot_id: 'B0FLOW', team: 'T2' }, 'bot-author', 'B0FLOW'],
  ['ourselves, whatever the list says', { bot_id: 'B0BOT' }, 'own-message', 'B0BOT'],
  ['a person with the name of a bot', { user: 'U1', username: 'B0FLOW' }, undefined, 'U1'],
])('%s', (_name, event, refusal, senderId) => {
  const message = read(event);
  expect([message?.refusal, message?.senderId]).toEqual([refusal, senderId]);
});

test('the words of a bot are found where it put them', () => {
  expect(wordsOfBot({ text: 'said', attachments: [{ text: 'more' }] })).toBe('said');
  const blocks = [{ type: 'header', text: { text: 'Alert' } }, { type: 'divider' }, { type: 'section', text: { text: CALL } }];
  expect(wordsOfBot({ text: '', blocks })).toBe(`Alert\n${CALL}`);
  const attachments = [{ pretext: 'a', title: 'b', text: 'c', fallback: 'no' }, { fallback: 'd' }, {}];
  expect(wordsOfBot({ attachments })).toBe('a\nb\nc\nd');
  expect(wordsOfBot({ blocks: [7, null], attachments: 'x' })).toBe('');
});

test('a machine that writes on and on is refused after a few, in its conversation, until a person writes there', () => {
  const turns = new BotTurns(new Set(['B0FLOW', 'B0TWO']));
  const judge = (senderId: string, chatId = 'C1') => turns.judge(inbound({ senderId, chatId })).refusal;
  const loop = (senderId: string) => Array.from({ length: MOST_IN_A_ROW + 1 }, () => judge(senderId));
  const capped = [...Array.from({ length: MOST_IN_A_ROW }, () => undefined), 'loop-cap'];
  expect(loop('B0FLOW')).toEqual(capped);
  // Another bot is no person.
  expect(loop('B0TWO')).toEqual(capped);
  expect(judge('B0FLOW', 'C2')).toBeUndefined();
  expect(turns.judge(inbound({ senderId: 'U0BOT', chatId: 'C1', refusal: 'own-message' })).refusal).toBe('own-message');
  expect(judge('B0FLOW')).toBe('loop-cap');
  expect(judge('U1')).toBeUndefined();
  expect(loop('B0FLOW')).toEqual(capped);
});

test('two programs that answer each other stop by themselves', async () => {
  await using at = await slackSetup(descriptor, { settings: { allowed_bots: ['B0FLOW'] } });
  const { host } = await at.start();
  const { server } = at;
  const post = () => server.say({ channel: 'C0TEST', user: 'U0FLOW', bot_id: 'B0FLOW', text: `<@${BOT_USER}> again` });
  for (let n = 0; n <= MOST_IN_A_ROW; n += 1) {
    const { ts } = post();
    server.event({
      type: 'message',
      channel: 'C0TEST',
      user: BOT_USER,
      bot_id: BOT_ID,
      team: TEAM_ID,
      text: 'yes',
      ts: `${ts}1`,
    });
  }
  await until('all arrived', () => host.accepted.filter(({ senderId }) => senderId === 'B0FLOW').length === MOST_IN_A_ROW + 1);
  const refusals = host.accepted.flatMap(({ senderId, refusal }) => (senderId === 'B0FLOW' ? [refusal] : []));
  expect(refusals.filter((refusal) => refusal === undefined)).toHaveLength(MOST_IN_A_ROW);
  expect(refusals.at(-1)).toBe('loop-cap');
});
