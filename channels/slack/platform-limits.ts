/** What Slack takes, as its pages say: read by the adapter, by the simulator and by docs/limits.md. */
import { type PlatformLimits, pagesReadOn } from '../../src/core/platform-limits.ts';

const page = pagesReadOn('2026-11-23');
const RATES = 'https://api.slack.com/docs/rate-limits';
const BUTTON = 'https://docs.rs/crate/slack-messaging/latest/source/src/blocks/elements/button.rs';
const MEASURED = 'https://github.com/openclaw/openclaw/pull/115027';
const BLOCKS = 'https://github.com/slackapi/bolt-js/issues/2509';

const later = pagesReadOn('2026-11-28');
const TABLE = 'https://docs.slack.dev/reference/block-kit/blocks/table-block';
const DATA =
  'https://github.com/slackapi/slack-skills-plugin/blob/33fe92621bb21c1d2bd9748a18fad16d5af51fbb/skills/block-kit/references/data-display-design.md';
const ONE_TABLE = 'Only one `table` fits in a message, and cell text is capped across the message (10,000 characters for `table`';

const manifest = (words: string) =>
  later('https://app.unpkg.com/@slack/web-api@7.10.0/files/dist/types/request/manifest.d.ts', words);

export const PLATFORM_LIMITS = {
  updateText: {
    what: 'text of an edit, rendered and escaped; the pages say characters',
    value: 4_000,
    unit: 'bytes of UTF-8',
    ...page(MEASURED, 'Slack `chat.update` rejects edit text above 4,000 UTF-8 bytes with `msg_too_long`'),
  },
  postText: {
    what: 'text of a message; what is more is cut off',
    value: 40_000,
    unit: 'characters',
    ...page(
      'https://learn.microsoft.com/en-us/dotnet/api/azure.connectors.sdk.slack.models.postmessagerequest.messagetext?view=azure-dotnet-preview',
      'Slack API will truncate messages containing more than 40,000 characters',
    ),
  },
  onePost: { what: 'text that stays one message; measured on 2026-08-27', value: 4_040, unit: 'characters' },
  pieceOfPost: {
    what: 'each message that a longer text is broken into; measured on 2026-08-27',
    value: 4_000,
    unit: 'characters',
  },
  blocks: { what: 'blocks of a message', value: 50, unit: 'blocks', ...page(BLOCKS, 'Limits of 50 blocks per message') },
  sectionText: {
    what: 'text of a section block',
    value: 3_000,
    unit: 'characters',
    ...page(BLOCKS, '3,000 characters for a single section block'),
  },
  allBlocks: {
    what: 'text of all blocks of a message; 9,597 passed, 11,341 did not',
    value: 9_600,
    unit: 'characters',
    ...page(BLOCKS, 'We are hit with a msg_blocks_too_long'),
  },
  tables: { what: 'tables of a message', value: 1, unit: 'tables', ...later(DATA, ONE_TABLE) },
  tableRows: { what: 'rows of a table, the header among them', value: 100, unit: 'rows', ...later(TABLE, 'Maximum 100 rows') },
  tableColumns: {
    what: 'columns of a table',
    value: 20,
    unit: 'columns',
    ...later(TABLE, 'Each row object is an array with a max of 20 table cells'),
  },
  tableText: { what: 'text of all cells of a message', value: 10_000, unit: 'characters', ...later(DATA, ONE_TABLE) },
  tableCell: {
    what: 'least text of a cell of a table',
    value: 1,
    unit: 'characters',
    ...later(
      'https://github.com/vercel/chat/pull/373',
      'The Slack API was rejecting table blocks with empty text cells (`must be more than 0 characters` error)',
    ),
  },
  actions: {
    what: 'elements of an actions block',
    value: 25,
    unit: 'elements',
    ...page(
      'https://github.com/slackapi/python-slack-sdk/pull/1253',
      'the (new?) max number of elements allowed in an ActionsBlock is 25',
    ),
  },
  label: { what: 'the label of a button', value: 75, unit: 'characters', ...page(BUTTON, 'Max length 75 characters') },
  buttonValue: {
    what: 'what a button sends back',
    value: 2_000,
    unit: 'characters',
    ...page(BUTTON, 'Max length 2000 characters'),
  },
  actionId: { what: 'the id of a button', value: 255, unit: 'characters', ...page(BUTTON, 'Max length 255 characters') },
  options: { what: 'options of a menu', value: 100, unit: 'options' },
  placeholder: { what: 'what a menu says before a choice', value: 150, unit: 'characters' },
  optionText: { what: 'the text of an option', value: 75, unit: 'characters' },
  optionValue: { what: 'what an option sends back', value: 150, unit: 'characters' },
  slashCommands: {
    what: 'commands of an app',
    value: 50,
    unit: 'commands',
    ...manifest('A maximum of 50 slash commands can be included in this array'),
  },
  slashName: {
    what: 'the name of a command, with its slash',
    value: 32,
    unit: 'characters',
    ...manifest('Maximum length is 32 characters, and should include the leading `/` character'),
  },
  slashDescription: {
    what: 'the description of a command',
    value: 2_000,
    unit: 'characters',
    ...manifest('a description of the slash command that will be displayed to users. Maximum length is 2000 characters'),
  },
  slashHint: {
    what: 'the usage hint of a command',
    value: 1_000,
    unit: 'characters',
    ...manifest('a short usage hint about the slash command for users. Maximum length is 1000 characters'),
  },
  chatRate: {
    what: 'messages in one conversation, with short bursts',
    value: 1,
    unit: 'in 1 s',
    ...page(RATES, 'Posting messages | 1 per second | Short bursts >1 allowed.'),
  },
  editRate: {
    what: 'edits of one app in one workspace',
    value: 50,
    unit: 'in 60 s',
    ...page(RATES, 'Web API Tier 3 | 50+ per minute'),
  },
} as const satisfies PlatformLimits;
