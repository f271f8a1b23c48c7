/** The platform names emoji in English words; everybody else writes them as characters. */
const NAMES: Readonly<Record<string, string>> = {
  '+1': '👍',
  '-1': '👎',
  heart: '❤️',
  eyes: '👀',
  white_check_mark: '✅',
  heavy_check_mark: '✔️',
  x: '❌',
  warning: '⚠️',
  tada: '🎉',
  fire: '🔥',
  pray: '🙏',
  clap: '👏',
  wave: '👋',
  ok_hand: '👌',
  raised_hands: '🙌',
  rocket: '🚀',
  bulb: '💡',
  thinking_face: '🤔',
  smile: '😄',
  joy: '😂',
  cry: '😢',
  rage: '😡',
  open_mouth: '😮',
  question: '❓',
  exclamation: '❗',
  hourglass: '⌛',
  hourglass_flowing_sand: '⏳',
  no_entry: '⛔',
  stop_sign: '🛑',
  zap: '⚡',
  star: '⭐',
  100: '💯',
  bug: '🐛',
  memo: '📝',
  arrows_counterclockwise: '🔄',
  speech_balloon: '💬',
};
/** The platform reports the older name for some it also knows by a newer one. */
const ALIASES: Readonly<Record<string, string>> = { thumbsup: '+1', thumbsdown: '-1' };
const BY_CHARACTER = new Map(Object.entries(NAMES).map(([name, character]) => [bare(character), name]));
const NAME = /^[a-z0-9_+'-]{1,100}$/;

/** `thumbsup` -> 👍; a name that is not in the table, a workspace's own emoji above all, stays `:name:`. A skin tone is left out. */
export function emojiFromName(name: string): string {
  const plain = name.split('::', 1)[0] ?? '';
  return NAMES[ALIASES[plain] ?? plain] ?? `:${plain}:`;
}

/** 👍 -> `+1`, `:party:` -> `party`. Undefined for a character without a name here. */
export function nameFromEmoji(emoji: string): string | undefined {
  const known = BY_CHARACTER.get(bare(emoji));
  if (known !== undefined) return known;
  const word = emoji.replace(/^:|:$/g, '');
  return NAME.test(word) ? word : undefined;
}

/** Without variation selectors and skin tones. */
function bare(emoji: string): string {
  return emoji.replace(/[\u{FE0F}\u{1F3FB}-\u{1F3FF}]/gu, '');
}
