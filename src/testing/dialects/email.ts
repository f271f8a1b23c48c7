/**
 * The HTML of a mail: what mail programs are known to show, and nothing that loads or runs. RFC 5322 2.1.1
 * for lines is the mailer's.
 */
import { decodeEntities, type Verdict } from './verdict.ts';

const VOID = ['br', 'hr'];
const ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries('p br hr strong em s code h1 h2 h3 h4 h5 h6 ol ul tr'.split(' ').map((tag) => [tag, []])),
  div: ['style'],
  pre: ['style'],
  blockquote: ['style'],
  table: ['style'],
  td: ['style'],
  th: ['style'],
  a: ['href'],
  li: ['value'],
};
/** HTML: what may stand in a paragraph is words and marks of words. */
const BLOCKS = 'p div pre blockquote table ol ul h1 h2 h3 h4 h5 h6 hr'.split(' ');

export function judgeHtmlMail(html: string): Verdict {
  const violations: string[] = [];
  const open: string[] = [];
  const words = html.replace(/<(\/?)([^\s<>]*)([^<>]*)>/g, (tag, slash: string, name: string, rest: string) => {
    const allowed = ATTRIBUTES[name];
    if (!allowed) violations.push(`a tag ${tag}`);
    else if (slash !== '') {
      const last = open.pop();
      if (last !== name) violations.push(`${tag} ends ${last}`);
    } else {
      for (const [, attribute = '', value = ''] of rest.matchAll(/\s([\w-]+)="([^"]*)"/g)) {
        if (!allowed.includes(attribute)) violations.push(`${attribute} of ${tag}`);
        if (attribute === 'href' && !/^(?:https?:\/\/|mailto:)/i.test(decodeEntities(value)))
          violations.push(`a link to ${value}`);
      }
      const parent = open.at(-1);
      if (parent === 'p' && BLOCKS.includes(name)) violations.push(`${name} within p`);
      if (name === 'li' && parent !== 'ol' && parent !== 'ul') violations.push(`li within ${parent}`);
      if (name === 'a' && open.includes('a')) violations.push('a link within a link');
      if (!VOID.includes(name)) open.push(name);
    }
    return /^(?:br|hr|p|div|li|t[dhr]|h\d|pre|blockquote)$/.test(name) ? '\n' : '';
  });
  if (open.length > 0) violations.push(`never closed: ${open.join(' ')}`);
  if (/[<>]/.test(words)) violations.push('a bracket that is not escaped');
  if (/&(?!#\d+;)/.test(words)) violations.push('an ampersand that is not escaped');
  return { violations, visible: decodeEntities(words) };
}
