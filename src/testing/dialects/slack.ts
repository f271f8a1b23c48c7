/**
 * Slack, mrkdwn: https://docs.slack.dev/messaging/formatting-message-text, and blocks:
 * https://docs.slack.dev/reference/block-kit/blocks.
 */

import { PLATFORM_LIMITS } from '../../../channels/slack/platform-limits.ts';
import { readBlocks } from '../../simulator/slack/limits.ts';
import { tableRows } from '../../simulator/slack/tables.ts';
import { decodeEntities, tooLong, type Verdict } from './verdict.ts';

const TEXT = PLATFORM_LIMITS.updateText.value;
/** A mark at the edge of a word on both sides; an invisible sign behind it keeps it from being one. */
const MARK = /(?<![\p{L}\p{N}*_~])([*_~])(?=[^\s\p{Cf}])([^\n]*?[^\s\p{Cf}])\1(?![\p{L}\p{N}])/gu;

/** `mrkdwn` off shows every mark; the entities and `<...>` are read in any case. */
export function judgeSlack(text: string, mrkdwn: boolean): Verdict {
  const violations: string[] = [...tooLong(text.length, TEXT, 'characters')];
  if (/&(?!(?:amp|lt|gt);)/.test(text)) violations.push('an ampersand that is not escaped');
  if (mrkdwn && (text.split('```').length - 1) % 2 === 1) violations.push('a code block is not closed');
  // Addresses in angle brackets come first: a bracket that is left is one that was not escaped.
  const shown = text.replace(/<([^<>|\n]*)\|([^<>\n]*)>/g, (whole, target: string, label: string) => {
    if (!/^(?:https?|mailto|tel):/i.test(target)) violations.push(`a link to ${whole}`);
    return label;
  });
  const unquoted = mrkdwn ? shown.replace(/^> ?/gm, '') : shown;
  if (/[<>]/.test(unquoted)) violations.push(`a bracket that is not escaped: ${/.{0,20}[<>].{0,20}/.exec(unquoted)?.[0]}`);
  return { violations, visible: decodeEntities(mrkdwn ? shownOf(unquoted) : unquoted, ['amp', 'lt', 'gt']) };
}

type Json = Readonly<Record<string, unknown>>;

/** What people see of a message with blocks: them in place of its text. */
export function judgeSlackBlocks(blocks: readonly Json[]): Verdict {
  try {
    readBlocks(JSON.stringify(blocks));
  } catch (error) {
    return { violations: [String(error)], visible: '' };
  }
  const verdicts = blocks.map((block): Verdict => {
    if (block['type'] === 'table') {
      const rows = tableRows(block).map((row) => row.join(' | '));
      return { violations: [], visible: rows.join('\n') };
    }
    const { type, text } = (block['text'] ?? { text: '' }) as { type?: string; text: string };
    return type === 'plain_text' ? { violations: [], visible: text } : judgeSlack(text, true);
  });
  return {
    violations: verdicts.flatMap(({ violations }) => violations),
    visible: verdicts.map(({ visible }) => visible).join('\n'),
  };
}

function shownOf(text: string): string {
  return text
    .split(/```\n?([\s\S]*?)```/)
    .map((piece, at) => (at % 2 === 1 ? piece : withoutMarks(piece)))
    .join('');
}

function withoutMarks(text: string): string {
  return text
    .split(/`(?!\p{Cf})([^`\n]+)`/u)
    .map((piece, at) => {
      if (at % 2 === 1) return piece;
      let rest = piece;
      for (let before = ''; before !== rest; ) {
        before = rest;
        rest = rest.replace(MARK, '$2');
      }
      return rest;
    })
    .join('');
}
