/** Which words of a text are addresses: they become links whose text is the address as it was written. */
import type MarkdownIt from 'markdown-it';

/** GFM 6.9, behind `www.`: a bare address ends before what a sentence ends with. */
const WWW = /^[^\s<]*[^\s<?!.,:*_~'")\]]/u;
/** No longer address is looked for behind `www.`. */
const MAX_ADDRESS = 2_000;

/**
 * Addresses stay as they are written and none is refused: dialects decide what their platform opens. A host
 * alone (`e.org`) is a word.
 */
export function readAddresses(parser: MarkdownIt): void {
  Object.assign(parser, { normalizeLink: asIs, normalizeLinkText: asIs, validateLink: () => true });
  readMailBehindSigns(parser);
  parser.linkify
    .set({ fuzzyLink: false })
    .add('//', null)
    .add('ftp:', null)
    .add('www.', {
      validate: (text: string, at: number) => WWW.exec(text.slice(at, at + MAX_ADDRESS))?.[0].length ?? 0,
      normalize: (match: { url: string }) => {
        match.url = `http://${match.url}`;
      },
    });
}

/** GFM 6.9: an address of mail begins where its characters do, also behind a sign that is none of them. */
function readMailBehindSigns({ linkify }: MarkdownIt): void {
  // Called at each change of what is read, before expressions are made of these sources.
  linkify.onCompile = function readMail(): void {
    const sources: Record<string, unknown> = this.re;
    const before = `(^|[$+=^|\`~]|${sources['src_ZPCc']}|`;
    sources['tpl_email_fuzzy'] = String(sources['tpl_email_fuzzy']).replace('(^|', before);
  };
}

function asIs(url: string): string {
  return url;
}
