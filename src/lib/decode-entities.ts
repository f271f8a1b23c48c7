const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };
const MAX_CODE_POINT = 0x10_ffff;

/**
 * Replaces the character references that generated HTML has: the numeric ones and the six of `NAMED`. Others
 * stay as they are.
 *
 * @example decodeEntities('Q&amp;A &#x27;26') // "Q&A '26"
 */
export function decodeEntities(html: string): string {
  return html.replaceAll(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-z]{2,4}));/g, (whole, decimal, hex, name) => {
    if (name !== undefined) return Object.hasOwn(NAMED, name) ? (NAMED[name] ?? whole) : whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0 && code <= MAX_CODE_POINT ? String.fromCodePoint(code) : whole;
  });
}
