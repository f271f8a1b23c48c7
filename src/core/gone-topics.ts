/** Topics that were deleted and whose directory is still there. */
export interface GoneTopics {
  /** Sessions of those in whose directory no unfinished run works any more. */
  unused(): Promise<readonly string[]>;
  /** False once it is begun anew. Does not wait for the disk. */
  isGone(session: string): Promise<boolean>;
  /** The directory of this one is removed. */
  removed(session: string): Promise<void>;
}
