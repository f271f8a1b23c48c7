/** The platform names emoji in English words; everybody else writes them as characters. */
import { emojiNames } from '../../kit/emoji-names.ts';

/** The platform reports the older name for some it also knows by a newer one. */
const ALIASES = { thumbsup: '+1', thumbsdown: '-1' };
const EMOJI = emojiNames(
  {
    '👍': '+1',
    '👎': '-1',
    '❤️': 'heart',
    '👀': 'eyes',
    '✅': 'white_check_mark',
    '✔️': 'heavy_check_mark',
    '❌': 'x',
    '⚠️': 'warning',
    '🎉': 'tada',
    '🔥': 'fire',
    '🙏': 'pray',
    '👏': 'clap',
    '👋': 'wave',
    '👌': 'ok_hand',
    '🙌': 'raised_hands',
    '🚀': 'rocket',
    '💡': 'bulb',
    '🤔': 'thinking_face',
    '😄': 'smile',
    '😂': 'joy',
    '😢': 'cry',
    '😡': 'rage',
    '😮': 'open_mouth',
    '❓': 'question',
    '❗': 'exclamation',
    '⌛': 'hourglass',
    '⏳': 'hourglass_flowing_sand',
    '⛔': 'no_entry',
    '🛑': 'stop_sign',
    '⚡': 'zap',
    '⭐': 'star',
    '💯': '100',
    '🐛': 'bug',
    '📝': 'memo',
    '🔄': 'arrows_counterclockwise',
    '💬': 'speech_balloon',
  },
  ALIASES,
);
const NAME = /^[a-z0-9_+'-]{1,100}$/;

/**
 * `thumbsup` -> 👍. A name that is not in the table, often a workspace's own, stays `:name:`. A skin tone is
 * left out.
 */
export function emojiFromName(name: string): string {
  return EMOJI.emojiOf(name.split('::', 1)[0] ?? '');
}

/** 👍 -> `+1`, `:party:` -> `party`. Undefined for a character without a name here. */
export function nameFromEmoji(emoji: string): string | undefined {
  const word = emoji.replace(/^:|:$/g, '');
  return EMOJI.nameOf(emoji) ?? (NAME.test(word) ? word : undefined);
}
