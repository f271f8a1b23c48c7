/** What Discord takes, as its pages say: read by the adapter, by the simulator and by docs/limits.md. */
import { type PlatformLimits, pagesReadOn } from '../../src/core/platform-limits.ts';

const page = pagesReadOn('2026-11-23');
const later = pagesReadOn('2026-11-28');
const MIB = 1024 * 1024;
const RATES = 'https://javacord.org/wiki/advanced-topics/ratelimits.html';
const MENU = 'https://sapphirejs.dev/docs/Documentation/api-utilities/@sapphire/discord-utilities/variables/SelectMenuLimits/';
const COMMAND =
  'https://sapphirejs.dev/docs/Documentation/api-utilities/@sapphire/discord-utilities/variables/ApplicationCommandLimits';
const BUTTON = 'https://pub.dev/documentation/discord_api/latest/discord_api/DiscordMessageComponentButton-class.html';

export const PLATFORM_LIMITS = {
  text: {
    what: 'text of a message',
    value: 2_000,
    unit: 'code points',
    ...page(
      'https://discord.js.org/docs/packages/discord.js/14.19.1/RESTPostAPIChannelMessageJSONBody:Interface',
      'The message contents (up to 2000 characters)',
    ),
  },
  textUnit: {
    what: 'what counts as one character of it',
    value: 1,
    unit: 'code point',
    ...page(
      'https://github.com/discord/discord-api-docs/issues/1315',
      'the API calculates length based on the number of codepoints in the string',
    ),
  },
  upload: {
    what: 'a file',
    value: 20 * MIB,
    unit: 'bytes',
    ...page('https://discord.com/developers/docs/reference#uploading-files', 'The default limit is `20 MiB` for all users'),
  },
  request: {
    what: 'a request that sends a message',
    value: 25 * MIB,
    unit: 'bytes',
    ...page(
      'https://discord.com/developers/docs/resources/message#create-message',
      'The maximum request size when sending a message is 25 MiB',
    ),
  },
  nonce: {
    what: 'a nonce',
    value: 25,
    unit: 'characters',
    ...page(
      'https://pub.dev/documentation/nyxx/2.0.0-rc.6/nyxx/MessageBuilder/nonce.html',
      'A nonce that can be used for optimistic message sending (up to 25 characters)',
    ),
  },
  rows: {
    what: 'rows of buttons under a message',
    value: 5,
    unit: 'rows',
    ...page(
      'https://commandkit.dev/docs/next/guide/jsx-components/components-v1/action-row',
      'Each message can have up to 5 ActionRows',
    ),
  },
  buttonsPerRow: {
    what: 'buttons in a row',
    value: 5,
    unit: 'buttons',
    ...page(BUTTON, 'An Action Row can contain up to 5 buttons'),
  },
  label: {
    what: 'the label of a button',
    value: 80,
    unit: 'code points',
    ...page(BUTTON, 'text that appears on the button, max 80 characters'),
  },
  customId: {
    what: 'the id of a button',
    value: 100,
    unit: 'characters',
    ...page(BUTTON, 'a developer-defined identifier for the button, max 100 characters'),
  },
  menuOptions: {
    what: 'choices in a menu',
    value: 25,
    unit: 'choices',
    ...later(MENU, 'Maximum amount of options allowed in a select menu. … MaximumOptionsLength: 25'),
  },
  menuLabel: {
    what: 'the label of a choice in a menu',
    value: 100,
    unit: 'code points',
    ...later(MENU, "Maximum characters allowed in a select menu option's name. … MaximumLengthOfNameOfOption: 100"),
  },
  commandDescription: {
    what: 'the description of a command, or of its option',
    value: 100,
    unit: 'characters',
    ...later(COMMAND, 'Maximum characters allowed in an application command description. … MaximumDescriptionCharacters: 100'),
  },
  threadName: {
    what: 'the name of a thread',
    value: 100,
    unit: 'characters',
    ...page('https://docs.discord.com/developers/resources/channel#start-thread-from-message', '1-100 character channel name'),
  },
  chatRate: {
    what: 'messages in one channel; edits are counted by themselves',
    value: 5,
    unit: 'in 5 s',
    ...page(RATES, 'Send Messages | 5 / 5s | per channel'),
  },
  accountRate: {
    what: 'calls of one bot',
    value: 50,
    unit: 'in 1 s',
    ...page(RATES, 'All Actions Combined | 50 / 1s | per account'),
  },
} as const satisfies PlatformLimits;
