import type { Channel } from '../core/channel.ts';

/**
 * Class `idem` on a platform that forgets keys (reliability.md 1.2): whether sending again could be seen
 * twice. Within the window the same key is sent again, and beyond it that cannot be known. `doubtMs`: see
 * `RowTimes`.
 */
export function isTooOld({ sendClass, idemWindowMs }: Channel, doubtMs: number | undefined): boolean {
  return sendClass === 'idem' && idemWindowMs !== undefined && doubtMs !== undefined && doubtMs > idemWindowMs;
}
