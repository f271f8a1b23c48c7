/** Whether the words of a link name the address that it opens, or another. */

/**
 * Words that people read as an address: with a scheme, with `www.`, or a host of a common ending. `Node.js`
 * and `main.py` are names.
 */
const ADDRESS =
  /(?:[a-z][a-z\d+.-]{1,20}:\/\/|www\.)[^\s<>()]+|(?<![\p{L}\p{N}.@/-])(?:[\p{L}\p{N}-]{1,63}\.){1,8}(?:com|org|net|gov|edu|mil|info|biz|eu|uk|de|fr|nl|ch|ru|cn|jp|kr|br|au|ca|us|app|bank|shop|online|site)(?![\p{L}\p{N}-])/giu;

/**
 * `label` is what people see, without marks. An address below the host it names, or above it, is the same
 * place.
 */
export function misleads(label: string, url: string): boolean {
  if (!/[.:]/.test(label)) return false;
  const target = hostOf(url);
  return [...label.slice(0, 2_000).matchAll(ADDRESS)].some(([address]) => {
    const shown = hostOf(address);
    if (shown === undefined) return false;
    return target === undefined || !(target === shown || target.endsWith(`.${shown}`) || shown === `www.${target}`);
  });
}

/** Whether the words are the address itself, with or without its scheme: `e.org` of `https://e.org/`. */
export function isAddressOf(label: string, url: string): boolean {
  const bare = (text: string): string => text.replace(/^(?:https?:\/\/|mailto:)/i, '').replace(/\/$/, '');
  return bare(label) === bare(url);
}

/** Undefined where there is none. */
function hostOf(address: string): string | undefined {
  const mail = /^mailto:[^?]*@([^?]+)/i.exec(address)?.[1];
  const whole = mail ?? address;
  const url = URL.parse(/^[a-z][a-z\d+.-]*:/i.test(whole) ? whole : `http://${whole.replace(/^\/\//, '')}`);
  return url?.hostname === '' ? undefined : url?.hostname.toLowerCase().replace(/\.$/, '');
}
