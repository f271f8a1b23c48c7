/** What the Bot API takes, as its pages say: read by the adapter, by the simulator and by docs/limits.md. */
import { type PlatformLimits, pagesReadOn } from '../../src/core/platform-limits.ts';

const page = pagesReadOn('2026-11-23');
const later = pagesReadOn('2026-11-28');
const COMMAND = 'https://grammy.dev/ref/types/botcommand';
const MIB = 1024 * 1024;
const CONSTANTS = 'https://docs.python-telegram-bot.org/en/v12.7/telegram.constants.html';
const FLOODS = 'https://telegra.ph/Hitting-limits-bot-FAQ';
const SEND_DOCUMENT = 'https://bump.sh/joscha-goetzer/doc/botapi/operation/operation-post-senddocument';

export const PLATFORM_LIMITS = {
  text: {
    what: 'text of a message, once its markup is parsed',
    value: 4_096,
    unit: 'UTF-16 code units',
    ...page(
      'https://docs.rs/crate/teloxide-core/latest/source/src/payloads/edit_message_text.rs',
      '1-4096 characters after entities parsing',
    ),
  },
  caption: {
    what: 'text next to a file, once its markup is parsed',
    value: 1_024,
    unit: 'UTF-16 code units',
    ...page(SEND_DOCUMENT, '0-1024 characters after entities parsing'),
  },
  entities: {
    what: 'formats of one message that are shown',
    value: 100,
    unit: 'entities',
    ...page(CONSTANTS, 'Beyond this cap telegram will simply ignore further formatting styles'),
  },
  entitySize: {
    what: 'text and markup of a message with formats',
    value: 9_500,
    unit: 'characters',
    ...page(
      'https://github.com/tdlib/telegram-bot-api/issues/165',
      'a good approximation of the current limit on the total message entities size',
    ),
  },
  upload: {
    what: 'a file that a bot sends',
    value: 50 * MIB,
    unit: 'bytes',
    ...page(SEND_DOCUMENT, 'Bots can currently send files of any type of up to 50 MB in size'),
  },
  photo: {
    what: 'a picture that is sent as one',
    value: 10 * MIB,
    unit: 'bytes',
    ...page(
      'https://kiwix.lema.org/stackoverflow.com_en_all_2023-11/questions/55470047/how-to-send-file-via-telegram-bot',
      '10 MB max size for photos, 50 MB for other files',
    ),
  },
  download: {
    what: 'a file that a bot fetches',
    value: 20 * MIB,
    unit: 'bytes',
    ...page(CONSTANTS, 'MAX_FILESIZE_DOWNLOAD: In bytes (20MB)'),
  },
  chatRate: {
    what: 'messages and edits in one chat, with short bursts',
    value: 1,
    unit: 'in 1 s',
    ...page(FLOODS, 'avoid sending more than one message per second. We may allow short bursts that go over this limit'),
  },
  groupRate: {
    what: 'messages and edits in one group',
    value: 20,
    unit: 'in 60 s',
    ...page(FLOODS, 'your bot will not be able to send more than 20 messages per minute to the same group'),
  },
  accountRate: {
    what: 'messages and edits of one bot',
    value: 30,
    unit: 'in 1 s',
    ...page(FLOODS, 'the API will not allow more than 30 messages per second or so'),
  },
  buttonData: {
    what: 'what a button sends back',
    value: 64,
    unit: 'bytes',
    ...page(
      'https://core.telegram.org/bots/api#inlinekeyboardbutton',
      'Data to be sent in a callback query to the bot when the button is pressed, 1-64 bytes',
    ),
  },
  commandName: {
    what: 'the name of a command in the menu',
    value: 32,
    unit: 'characters',
    ...later(
      COMMAND,
      'Text of the command; 1-32 characters. Can contain only lowercase English letters, digits and underscores.',
    ),
  },
  commandDescription: {
    what: 'the description of a command in the menu',
    value: 256,
    unit: 'characters',
    ...later(COMMAND, 'Description of the command; 1-256 characters.'),
  },
  deletable: {
    what: 'age of a message that a bot may delete',
    value: 48 * 3_600_000,
    unit: 'ms',
    ...page(
      'https://docs.rs/teloxide-core/0.8.0/teloxide_core/payloads/struct.DeleteMessage.html',
      'A message can only be deleted if it was sent less than 48 hours ago',
    ),
  },
} as const satisfies PlatformLimits;
