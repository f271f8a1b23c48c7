/** Emoji <-> the platform's own names of reactions (https://open.feishu.cn/document/server-docs/im-v1/message-reaction/emojis-introduce). */
const NAMES: Readonly<Record<string, string>> = {
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

const EMOJI = new Map(Object.entries(NAMES).map(([emoji, name]) => [name.toUpperCase(), emoji]));

/** Undefined for an emoji the platform has no reaction for. Colours of skin and hearts are not told apart. */
export function toReactionName(emoji: string): string | undefined {
  return NAMES[emoji.replace(/\uFE0F|[\u{1F3FB}-\u{1F3FF}]/gu, '')];
}

/** A name without an emoji of its own comes as `:NAME:`. */
export function toEmoji(name: string): string {
  return EMOJI.get(name.toUpperCase()) ?? (name === '' ? '' : `:${name}:`);
}
