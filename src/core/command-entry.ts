/** A command that the gateway understands in every chat. */
export interface CommandEntry {
  /** Without the slash; lower-case letters. */
  readonly name: string;
  /** What may stand behind it, as help shows it. */
  readonly args?: string;
  /** What it does, in a few words. */
  readonly summary: string;
}
