/** A command that the gateway understands in every chat. */
export interface CommandEntry {
  /** Without the slash; lower-case letters. */
  readonly name: string;
  /** What may stand behind it, as help shows it. */
  readonly args?: string;
  /** What it does, in a few words. */
  readonly summary: string;
  /**
   * Its answer changes nothing and is of use to its sender alone; with `args`, as long as none stand behind
   * it. In a group only they are shown it, where the platform can do that.
   */
  readonly isPrivate?: true;
}
