/** HTML's names for characters: those of HTML 4.01 (section 24), which are what mail programs write. */

const LATIN_1 =
  `nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para
  middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml
  Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave
  aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde
  ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml`.split(/\s+/);
const GREEK =
  `Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho _ Sigma Tau Upsilon Phi Chi Psi
  Omega`.split(/\s+/);
const OTHERS = `amp& lt< gt> quot" apos' OElig\u0152 oelig\u0153 Scaron\u0160 scaron\u0161 Yuml\u0178 fnof\u0192 circ\u02c6 tilde\u02dc
  ensp\u2002 emsp\u2003 thinsp\u2009 ndash\u2013 mdash\u2014 lsquo\u2018 rsquo\u2019 sbquo\u201a ldquo\u201c rdquo\u201d bdquo\u201e
  dagger\u2020 Dagger\u2021 bull\u2022 hellip\u2026 permil\u2030 prime\u2032 Prime\u2033 lsaquo\u2039 rsaquo\u203a euro\u20ac trade\u2122
  larr\u2190 uarr\u2191 rarr\u2192 darr\u2193 harr\u2194 rArr\u21d2 minus\u2212 radic\u221a infin\u221e asymp\u2248 ne\u2260 le\u2264
  ge\u2265 sum\u2211 sdot\u22c5 check\u2713 starf\u2605 star\u2606 hearts\u2665`;

const NAMED = new Map<string, string>([
  ...LATIN_1.map((name, index) => [name, String.fromCharCode(0xa0 + index)] as const),
  ...GREEK.flatMap((name, index) => [
    [name, String.fromCharCode(0x391 + index)] as const,
    [name.toLowerCase(), String.fromCharCode(0x3b1 + index)] as const,
  ]),
  ['sigmaf', '\u03c2'],
  ...[...OTHERS.matchAll(/([A-Za-z]+)([^A-Za-z])(?:\s|$)/g)].map(([, name = '', char = '']) => [name, char] as const),
  // They hold places, and are no text.
  ...['zwnj', 'zwj', 'shy', 'lrm', 'rlm'].map((name) => [name, ''] as const),
]);

const WINDOWS_1252 = new TextDecoder('windows-1252');

/** An unknown name stays as it stands there. */
export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{2,8}[1-4]{0,2});?/gi, (whole, name: string) => {
    if (!name.startsWith('#')) return (whole.endsWith(';') ? NAMED.get(name) : undefined) ?? whole;
    const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number.parseInt(name.slice(1), 10);
    // HTML (named character reference state): what pages call C1 controls are letters of windows-1252.
    if (code >= 0x80 && code <= 0x9f) return WINDOWS_1252.decode(Uint8Array.of(code));
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : '\ufffd';
  });
}
