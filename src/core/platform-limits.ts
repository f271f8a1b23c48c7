/**
 * What platforms take, each fact with the page that says so: a channel's `platform-limits.ts`, and all of
 * them in docs/limits.md.
 */

/** One fact. Adapter and simulator read the value from here, so that it stands in one place. */
export interface PlatformLimit {
  /** What is limited; a clause without a full stop. */
  readonly what: string;
  readonly value: number;
  /** What is counted: bytes, code points, messages in 5 s … */
  readonly unit: string;
  /** Where it was read. Absent: no page could be read, and the fact is unverified. */
  readonly page?: PageRead;
}

export interface PageRead {
  readonly address: string;
  /** Quoted, in the language of the page. */
  readonly words: string;
  /** Day on which it was read, YYYY-MM-DD. */
  readonly read: string;
}

export type PlatformLimits = Readonly<Record<string, PlatformLimit>>;

/** For pages that were read on one day. */
export function pagesReadOn(read: string): (address: string, words: string) => { readonly page: PageRead } {
  return (address, words) => ({ page: { address, words, read } });
}
