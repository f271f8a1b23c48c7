/**
 * Emoji <-> the platform's own names of reactions.
 * https://open.feishu.cn/document/server-docs/im-v1/message-reaction/emojis-introduce
 */
import { emojiNames } from '../../kit/emoji-names.ts';

const NAMES = {
  '👍': 'THUMBSUP',
  '👎': 'ThumbsDown',
  '👌': 'OK',
  '👏': 'APPLAUSE',
  '🙏': 'THANKS',
  '💪': 'MUSCLE',
  '🤝': 'SHAKE',
  '❤': 'HEART',
  '💔': 'HEARTBROKEN',
  '🔥': 'Fire',
  '🎉': 'PARTY',
  '🎂': 'CAKE',
  '🎁': 'GIFT',
  '🌹': 'ROSE',
  '🍺': 'BEER',
  '💯': 'Hundred',
  '💣': 'BOMB',
  '✅': 'DONE',
  '❌': 'CrossMark',
  '✔': 'CheckMark',
  '❗': 'Alarm',
  '📌': 'Pin',
  '🏆': 'Trophy',
  '🎵': 'Music',
  '👀': 'GLANCE',
  '🤔': 'THINKING',
  '😊': 'SMILE',
  '😂': 'LOL',
  '😉': 'WINK',
  '😍': 'LOVE',
  '😘': 'KISS',
  '😭': 'SOB',
  '😢': 'CRY',
  '😡': 'ANGRY',
  '😱': 'TERROR',
  '😴': 'SLEEP',
  '😷': 'SICK',
  '😳': 'BLUSH',
  '😎': 'SMART',
  '🤣': 'LAUGH',
  '🤦': 'FACEPALM',
  '⏳': 'Typing',
};

/** `nameOf` is undefined where the platform has no reaction; colours of hearts are not told apart. */
export const { nameOf: toReactionName, emojiOf: toEmoji } = emojiNames(NAMES);
