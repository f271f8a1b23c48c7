// texts of others that name a person who is erased, as the agent writes their names -> `[erased]`
import { ERASED, type Erasure } from '../core/erasure.ts';
import { principalOf } from '../core/ids.ts';

/** The text as a pattern, also with the flag `u`, under which `\-` is none. */
function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

/** With what an id goes on. A stop goes on with it where more stands behind: it may end a sentence. */
const BEFORE = '(?<![\\p{L}\\p{N}_.-])';
const BEHIND = '(?![\\p{L}\\p{N}_@%|^[-]|[.+][\\p{L}\\p{N}])';

/** An id or a key, not within a longer one: `telegram:4` is no part of `telegram:42` or `telegram:4_`. */
export function wholeId(id: string, flags: 'u' | 'gu'): RegExp {
  return new RegExp(`${BEFORE}${escaped(id)}${BEHIND}`, flags);
}

/** Takes out their ids, with the name before them (`behalf.ts` writes both). */
export function withoutNames({ ids, names }: Pick<Erasure, 'ids' | 'names'>): (text: string) => string {
  const known = ids.map(({ channel, senderId }) => {
    const principal = principalOf({ channel, senderId });
    const named = names.flatMap((name) => [`${name} (${principal})`, `${name} (${channel}, ${senderId})`]);
    return { principal, named, id: wholeId(principal, 'gu') };
  });
  return (text) => {
    let left = text;
    for (const { principal, named, id } of known) {
      for (const one of named) left = left.replaceAll(one, ERASED);
      if (left.includes(principal)) left = left.replace(id, ERASED);
    }
    return left;
  };
}
