/** What a run may do, on whose account (runs.md M4). Written when the run is made; it only ever narrows. */

export type Role = 'owner' | 'member' | 'guest';

/** What a run may do without a question; each allows what the one before it does. */
export type Mode = 'read-only' | 'guarded' | 'workspace' | 'full';

/** From the least that may be done to the most. */
export const MODES: readonly Mode[] = ['read-only', 'guarded', 'workspace', 'full'];

export function lowerMode(one: Mode, other: Mode): Mode {
  return MODES[Math.min(MODES.indexOf(one), MODES.indexOf(other))] ?? 'read-only';
}

export interface Authority {
  /** `telegram:123`, `job:ab12cd34`, `api:web`: who caused this, through however many runs. */
  readonly principal: string;
  readonly role: Role;
  readonly mode: Mode;
  /** Every one must allow: config, channel, sender, skill, parent. Deny wins in each. */
  readonly policies: readonly {
    readonly allow: readonly string[];
    readonly deny: readonly string[];
    /** Why, behind "it is not allowed: ". Absent = the run that began this one may not use it. */
    readonly because?: string;
  }[];
  /** `chatKey` of the only chat that may be written to without a question. */
  readonly home?: string;
}

/** Taint, bits of what a run has read. Words or files that none of the people on the lists wrote. */
export const UNTRUSTED = 1;
/** What must not leave: uploads, mail, other sessions, memory, and whatever a credential opened. */
export const PRIVATE = 2;
