/** What one platform can carry, and how often: what answers are cut and paced by. */
export interface ChannelLimits {
  /** Longest text of one part, in `unit`s: of its Markdown, and of what `sentLength` makes of it. */
  readonly text: number;
  /** What the platform counts: UTF-16 code units, code points, or UTF-8 bytes. */
  readonly unit: 'utf16' | 'codepoint' | 'byte';
  /**
   * How long a Markdown text is as the platform gets it, in `unit`s: rendered in its dialect and escaped.
   * Answers and drafts are cut so that no piece is longer than `text` by this either. Asked several times for
   * each piece: pure, and some milliseconds at most. Never throws. Absent: rendering makes no text longer
   * than the room that `text` leaves for it.
   */
  readonly sentLength?: (markdown: string) => number;
  /** Longest text next to a file; 0 = a file carries no text. */
  readonly caption: number;
  /**
   * Most parts of one text; one more then says how much was left out. Where each is paid for. Absent = 50.
   */
  readonly parts?: number;
  readonly uploadBytes: number;
  readonly downloadBytes: number;
  /** How often the platform lets one message be changed; absent = as often as one likes. */
  readonly edits?: number;
  /**
   * For how long after it was made a message may be changed, ms. An answer that comes later is a message of
   * its own. Absent = for ever, or the platform refuses a later edit, so that nothing is lost.
   */
  readonly editMs?: number;
  /**
   * With buttons: what one message with them may hold, where that is less than 51 choices under any text.
   * Text in UTF-16 units.
   */
  readonly buttons?: { readonly choices: number; readonly text: number };
  /**
   * Longest time the adapter's own limits give one `send`, and one `find`; each is broken off a little later.
   * ms. Absent: 60 s, 30 s.
   */
  readonly sendMs?: number;
  readonly findMs?: number;
  /**
   * Sends allowed per chat, per group and per account; absent = unlimited. `edits`: of drafts, per account,
   * where the platform counts edits by themselves; every edit counts as a send, too.
   */
  readonly rate?: { readonly perChat?: Rate; readonly perGroup?: Rate; readonly perAccount?: Rate; readonly edits?: Rate };
}

/** A token bucket: `burst` at once, refilled at `perSecond`. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}
