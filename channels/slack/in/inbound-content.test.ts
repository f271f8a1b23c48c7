import { expect, test } from 'vitest';
import { COMMAND_MENU } from '../../../src/gateway/commands/index.ts';
import { expectQuick } from '../../../src/testing/quick.ts';
import type { JsonObject } from '../../kit/json.ts';
import { toInbound } from './inbound.ts';
import type { InboundContext } from './inbound-fields.ts';

const context: InboundContext = {
  channel: 'slack',
  account: '1-2',
  me: { userId: 'U0BOT', botId: 'B0BOT', teamId: 'T1' },
  replyInThread: true,
  directThreads: false,
  followThreads: true,
  allowedBots: new Set(),
  commands: COMMAND_MENU,
  joined: () => false,
  now: 1_767_225_600_000,
};
const TS = '1767225600.000100';
const direct = {
  type: 'message',
  channel: 'D1',
  channel_type: 'im',
  user: 'U1',
  team: 'T1',
  text: 'hello',
  ts: TS,
  event_ts: TS,
};
const inChannel = { ...direct, channel: 'C1', channel_type: 'channel' };

function read(event: JsonObject) {
  const body = { type: 'event_callback', team_id: 'T1', event_id: 'Ev1', event };
  return toInbound({ kind: 'event', body }, context);
}

const rich = (...elements: JsonObject[]) => ({ type: 'rich_text', elements: [{ type: 'rich_text_section', elements }] });
const copyOf = (...blocks: JsonObject[]) => [{ team: 'T1', channel: 'C9', ts: TS, message: { blocks } }];
const SHARED_MARK = '[shared message of Bob, not written by the sender]';

test.each<[string, JsonObject, string]>([
  ['nothing but a fallback', { text: '', fallback: '[May 1st] Bob: disk full' }, '[May 1st] Bob: disk full'],
  [
    'text, and the same in blocks',
    {
      text: 'see *this* <https://e.org/a|page> &lt;now&gt;',
      message_blocks: copyOf(
        rich(
          { type: 'text', text: 'see ' },
          { type: 'text', text: 'this', style: { bold: true } },
          { type: 'text', text: ' ' },
          { type: 'link', url: 'https://e.org/a', text: 'page' },
          { type: 'text', text: ' <now>' },
        ),
      ),
      fallback: '[May 1st] Bob: see this page',
    },
    'see *this* page (https://e.org/a) <now>',
  ],
  [
    'a headline as text, and the rest in blocks',
    {
      text: 'Alert',
      message_blocks: copyOf(
        { type: 'header', text: { type: 'plain_text', text: 'Disk full' } },
        {
          type: 'section',
          text: { type: 'mrkdwn', text: '*db1* &amp; <@U3>' },
          fields: [{ type: 'mrkdwn', text: 'used: 99 %' }],
        },
        {
          type: 'context',
          elements: [
            { type: 'image', image_url: 'x' },
            { type: 'plain_text', text: 'by cron' },
          ],
        },
        { type: 'actions', elements: [{ type: 'button', text: { type: 'plain_text', text: 'Ack' } }] },
      ),
    },
    'Alert\nDisk full\n*db1* & @U3\nused: 99 %\nby cron',
  ],
  [
    'a headline that the blocks repeat',
    { text: 'Disk full', message_blocks: copyOf({ type: 'section', text: { type: 'mrkdwn', text: '*Disk full* on db1' } }) },
    '*Disk full* on db1',
  ],
  [
    'words that stand within other words alone',
    { text: 'Error', message_blocks: copyOf({ type: 'section', text: { type: 'mrkdwn', text: 'No errors today' } }) },
    'Error\nNo errors today',
  ],
  [
    'numbers that differ by a sign',
    { text: 'Total: 5', message_blocks: copyOf({ type: 'section', text: { type: 'mrkdwn', text: 'Total: -5' } }) },
    'Total: 5\nTotal: -5',
  ],
  [
    'rich text of every kind',
    {
      message_blocks: copyOf({
        type: 'rich_text',
        elements: [
          {
            type: 'rich_text_list',
            style: 'ordered',
            elements: [
              { type: 'rich_text_section', elements: [{ type: 'user', user_id: 'U3' }] },
              {
                type: 'rich_text_section',
                elements: [
                  { type: 'channel', channel_id: 'C3' },
                  { type: 'emoji', name: 'wave' },
                ],
              },
            ],
          },
          {
            type: 'rich_text_quote',
            elements: [
              { type: 'broadcast', range: 'here' },
              { type: 'text', text: ' <@U0BOT>' },
            ],
          },
          { type: 'rich_text_preformatted', elements: [{ type: 'link', url: 'https://e.org' }] },
        ],
      }),
    },
    '1. @U3\n2. #C3:wave:\n@here <@U0BOT>\nhttps://e.org',
  ],
  [
    'blocks of a program',
    {
      blocks: [
        { type: 'markdown', text: 'built' },
        { type: 'table', rows: [[{ type: 'raw_text', text: 'a' }, rich({ type: 'text', text: 'b' })]] },
      ],
    },
    'built\na | b',
  ],
])('a shared message with %s is told whole, no word twice', (_name, attachment, words) => {
  const attachments = [{ is_msg_unfurl: true, author_name: 'Bob', ...attachment }];
  expect(read({ ...inChannel, text: 'look', attachments })).toMatchObject({
    text: `look\n${SHARED_MARK}\n${words}`,
    mentionsBot: false,
  });
});

test('files of a shared message are fetched like those of the message, each once, and named as its files', () => {
  const file = (id: string, more: JsonObject = {}) => ({
    id,
    name: `${id}.pdf`,
    mimetype: 'application/pdf',
    mode: 'hosted',
    ...more,
  });
  const share = (...files: JsonObject[]) => ({ is_share: true, author_name: 'Bob', text: 'the plan', files });
  const gone = file('F3', { mode: 'tombstone' });
  // A file of a shared channel has its id alone.
  const stub = { id: 'F4', file_access: 'check_file_info' };
  const message = read({
    ...direct,
    text: 'sum up',
    files: [file('F1')],
    attachments: [share(file('F1'), file('F2'), gone, stub)],
  });
  expect(message?.media.map(({ ref }) => ref)).toEqual(['F1', 'F2', 'F4']);
  expect(message?.text).toBe(
    'sum up\n[shared message of Bob, not written by the sender; with the files F2.pdf, unnamed]\nthe plan\n[file that cannot be fetched: F3.pdf]',
  );
  expect(read({ ...direct, text: '', attachments: [{ ...share(file('F2')), text: '' }] })).toMatchObject({
    media: [{ ref: 'F2' }],
  });
  const many = Array.from({ length: 15 }, (_, n) => file(`F1${n}`));
  expect(read({ ...direct, files: many, attachments: [share(...many.map(({ id }) => file(`${id}x`)))] })?.media).toHaveLength(20);
  expect(read({ ...direct, attachments: [{ title: 'a preview', files: [file('F2')] }] })?.media).toEqual([]);
});

const cell = (text: string) => rich({ type: 'text', text });
const pasted = {
  type: 'table',
  rows: [
    [cell('Plan'), cell('Price')],
    [
      { type: 'raw_text', text: 'Team <2>' },
      { type: 'raw_number', value: 20 },
    ],
  ],
};

test('a table that a person pasted is told behind the words, wherever it stands, also alone and when it is edited', () => {
  const attachments = [{ id: 1, blocks: [pasted], fallback: '[no preview available]' }];
  expect(read({ ...direct, text: 'which?', attachments })?.text).toBe('which?\nPlan | Price\nTeam <2> | 20');
  const alone = read({ ...direct, text: '', blocks: [pasted] });
  expect([alone?.text, alone?.refusal]).toEqual(['Plan | Price\nTeam <2> | 20', undefined]);
  const edited = { ...direct, edited: { user: 'U1', ts: '1767225700.000000' } };
  const change = { ...direct, subtype: 'message_changed', message: { ...edited, attachments }, previous_message: direct };
  expect(read(change)).toMatchObject({ kind: 'edit', text: 'hello\nPlan | Price\nTeam <2> | 20' });
});

test('a table of an unfurled link or of an app is not among the words of its sender', () => {
  const link = { blocks: [pasted], from_url: 'https://e.org', fallback: 'x' };
  const unfurl = { blocks: [pasted], app_unfurl_url: 'https://e.org', bot_id: 'B1' };
  expect(read({ ...direct, attachments: [link, unfurl] })?.text).toBe('hello');
  expect(read({ ...direct, user: 'U0BOT', bot_id: 'B0BOT', blocks: [pasted] })?.text).toBe('hello');
});

test.each(['\n', '\r', '\u2028', ' \t', '- ', '*'])('a shared message of many %j is read in one pass', (piece) => {
  expectQuick(piece, (text) => read({ ...direct, attachments: [{ is_share: true, text: `a${text}b` }] }));
});
