/**
 * What a platform makes of one message, by its documentation. Written without a look at how the adapters
 * write theirs.
 */
export interface Verdict {
  /**
   * What the platform would refuse, cut off or read as something else; empty when it takes the message as it
   * was meant.
   */
  readonly violations: readonly string[];
  /** What a reader sees: no marks, escapes decoded. */
  readonly visible: string;
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'", nbsp: '\u00a0' };

/** Numbered entities and those of `names`, once. */
export function decodeEntities(text: string, names: readonly string[] = Object.keys(ENTITIES)): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,4}));/gi, (whole, decimal: string, hex: string, name: string) => {
    if (name !== undefined) return names.includes(name) ? (ENTITIES[name] ?? whole) : whole;
    return String.fromCodePoint(decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal));
  });
}

/** `text` longer than a platform takes, as a violation. */
export function tooLong(length: number, most: number, unit: string): readonly string[] {
  return length > most ? [`${length} ${unit}, and at most ${most} are taken`] : [];
}
