import { domainToASCII } from 'node:url';
import { ToolFailure } from './define.ts';

/** Each of them gets the mail or none does, and a person has to read them all. */
const MOST = 10;
/** What people use: no quotes, comments or route, nothing that a header could read as the next address. */
const LOCAL = /^(?!\.)(?!.*\.\.)[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}(?<!\.)$/;
/** Labels of letters, digits and hyphens, at least two, the last no number (RFC 5321, RFC 3696). */
const DOMAIN = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Bare addresses in the form of the wire: the domain in ASCII, so that no letter of another script passes for
 * a familiar one where a person reads it. An address that comes twice is kept where it came first. Throws
 * `ToolFailure` for what is no bare address, and for more than ten.
 */
export function mailAddresses(lists: { readonly to: readonly string[]; readonly cc: readonly string[] }): {
  readonly to: readonly string[];
  readonly cc: readonly string[];
} {
  const seen = new Set<string>();
  const unseen = (list: readonly string[]): readonly string[] =>
    list.map(mailAddress).filter((address) => {
      const isNew = !seen.has(address.toLowerCase());
      seen.add(address.toLowerCase());
      return isNew;
    });
  const to = unseen(lists.to);
  const cc = unseen(lists.cc);
  if (seen.size > MOST) throw new ToolFailure(`a mail goes to at most ${MOST} people`);
  return { to, cc };
}

function mailAddress(given: string): string {
  const at = given.lastIndexOf('@');
  const [local, name] = [given.slice(0, Math.max(0, at)), given.slice(at + 1)];
  const domain = /^[\p{L}\p{M}\p{N}.-]+$/u.test(name) ? domainToASCII(name) : '';
  if (!LOCAL.test(local) || !DOMAIN.test(domain))
    throw new ToolFailure(`${JSON.stringify(given)} is not a bare mail address such as ada@example.org`);
  return `${local}@${domain}`;
}
