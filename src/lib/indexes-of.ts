/** Characters, or lines. */
type Sequence = string | readonly string[];

/** A text is sought by so many of its first characters, which costs at most so many looks at each place. */
const HEAD_CHARS = 16;

/**
 * Each place of `all` where `part` begins, those that overlap too, by Knuth, Morris and Pratt: in time that
 * grows with the length of both and no faster. `String.indexOf` starts anew at each place, which takes
 * minutes where a text begins alike everywhere. An empty part stands nowhere.
 */
export function* indexesOf<Text extends Sequence>(all: Text, part: Text): Generator<number, void, undefined> {
  const { length } = part;
  if (length === 0 || length > all.length) return;
  const head = typeof part === 'string' ? part.slice(0, HEAD_CHARS) : (part[0] ?? '');
  const headLength = typeof part === 'string' ? head.length : 1;
  const shorter = shorterMatches(part);
  let matched = 0;
  let at = 0;
  while (at < all.length) {
    if (matched === 0) {
      at = all.indexOf(head, at);
      if (at === -1) return;
      matched = headLength;
      at += headLength;
    } else {
      while (matched > 0 && part[matched] !== all[at]) matched = shorter[matched - 1] ?? 0;
      // Where nothing matched, the head may still begin here.
      if (matched === 0) continue;
      matched += 1;
      at += 1;
    }
    if (matched < length) continue;
    yield at - length;
    matched = shorter[matched - 1] ?? 0;
  }
}

/** For each beginning of the part: the length of the longest shorter one that it ends with. */
function shorterMatches(part: Sequence): Uint32Array {
  const lengths = new Uint32Array(part.length);
  let matched = 0;
  for (let at = 1; at < part.length; at += 1) {
    while (matched > 0 && part[matched] !== part[at]) matched = lengths[matched - 1] ?? 0;
    if (part[matched] === part[at]) matched += 1;
    lengths[at] = matched;
  }
  return lengths;
}
