/** What the owner wants tools to take where a call leaves an argument out. */
import type { Json } from './message.ts';

/** Values by tool, then by argument. */
export type ToolDefaults = Readonly<Record<string, Readonly<Record<string, Json>>>>;

export interface ToolSettings {
  /** What holds now. */
  readonly current: ToolDefaults;
  /**
   * Why the file is not in use, a sentence; then nothing is set and nothing can be. Absent = it is in use.
   */
  readonly problem?: string;
  /**
   * Makes of what holds what will hold, and writes it; on disk when it resolves. Changes come one after the
   * other. Rejects as `edit` or the file system does; then nothing has changed.
   */
  change(edit: (current: ToolDefaults) => ToolDefaults): Promise<void>;
}
