/**
 * WeCom: https://developer.work.weixin.qq.com/document/path/90236, text and markdown messages of an
 * application.
 */

import { PLATFORM_LIMITS } from '../../../channels/wecom/platform-limits.ts';
import { tooLong, type Verdict } from './verdict.ts';

/** "最长不超过2048个字节", of both; text is cut off beyond it. */
const BYTES = PLATFORM_LIMITS.text.value;
/** In the place of code, while marks are looked for. */
const CODE = '\uF8FF';

export function judgeWecom(payload: Readonly<Record<string, unknown>>): Verdict {
  const type = String(payload['msgtype']);
  const { content } = payload[type] as { content: string };
  const violations = [...tooLong(Buffer.byteLength(content), BYTES, 'bytes')];
  if (content.trim() === '') violations.push('the message is empty');
  if (/(?![\n\t])\p{Cc}/u.test(content)) violations.push('a control character');
  if (type === 'text') {
    // The one mark of a text message.
    if (/<a\s/i.test(content)) violations.push('a link in a text message');
    return { violations, visible: content };
  }
  return {
    violations,
    visible: content
      .split('\n')
      .map((line) => lineOf(line, violations))
      .join('\n'),
  };
}

/** Headings, bold, links, code within a line, one level of quotes; no escape exists. */
function lineOf(line: string, violations: string[]): string {
  if (/<(?:font|@)/.test(line)) violations.push('a colour or a mention');
  const code: string[] = [];
  const words = line.replace(/^(?:> )?(?:#{1,6} )?/, '').replace(/`([^`]+)`/g, (_span, inner: string) => {
    code.push(inner);
    return CODE;
  });
  const shown = words.replace(/\[([^[\]]*)\]\((https?:[^()\s]+)\)/g, '$1');
  if (/\]\(/.test(shown)) violations.push('a link that none is');
  if ((shown.split('**').length - 1) % 2 === 1) violations.push('bold is not closed in its line');
  return shown.replaceAll('**', '').replaceAll(CODE, () => code.shift() ?? '');
}
