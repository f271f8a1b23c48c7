/** The page of results that DuckDuckGo makes for browsers without scripts (html.duckduckgo.com/html). */
import { decodeEntities } from '../lib/decode-entities.ts';

export interface PageHit {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

/** A page has ten to thirty. */
const MAX_BLOCKS = 100;

/**
 * Advertisements are left out, and each address is that of the page found, not of the redirect to it.
 * Undefined = this is no page of results, as when DuckDuckGo asks whether a person searches.
 */
export function readDuckDuckGo(html: string): readonly PageHit[] | undefined {
  const [, ...blocks] = html.split('<div class="result ', MAX_BLOCKS);
  if (blocks.length === 0) return html.includes('class="no-results"') ? [] : undefined;
  return blocks.flatMap((block) => {
    const title = linkOf(block, 'result__a');
    const url = title && pageOf(title.href);
    // The page says that it found nothing in a block of its own, which has no link.
    if (!url || block.slice(0, block.indexOf('"')).includes('result--ad')) return [];
    return [{ title: title.text, url, snippet: linkOf(block, 'result__snippet')?.text ?? '' }];
  });
}

interface Link {
  readonly href: string;
  readonly text: string;
}

function linkOf(block: string, name: string): Link | undefined {
  const at = block.indexOf(`class="${name}"`);
  const open = block.lastIndexOf('<a ', at);
  const close = block.indexOf('>', at);
  const end = block.indexOf('</a>', close);
  if (at < 0 || open < 0 || close < 0 || end < 0) return undefined;
  const href = /href="([^"]*)"/.exec(block.slice(open, close))?.[1] ?? '';
  return { href: decodeEntities(href), text: decodeEntities(block.slice(close + 1, end).replaceAll(/<[^<>]*>/g, '')) };
}

/** `//duckduckgo.com/l/?uddg=ADDRESS` -> the address; a link to DuckDuckGo itself is an advertisement. */
function pageOf(href: string): string | undefined {
  const link = URL.parse(href, 'https://duckduckgo.com');
  const target = link?.pathname === '/l/' ? link.searchParams.get('uddg') : href;
  const page = target === null ? null : URL.parse(target, 'https://duckduckgo.com');
  if (!page || !/^https?:$/.test(page.protocol) || /(?:^|\.)duckduckgo\.com$/.test(page.hostname)) return undefined;
  return page.href;
}
