import type { Channel } from '../core/channel.ts';
import type { OutboxRow } from '../core/outbox.ts';

/**
 * Class `idem` on a platform that forgets keys (reliability.md 1.2): whether sending again could be seen
 * twice. Within the window the same key is sent again, and beyond it that cannot be known. `now`: epoch ms.
 */
export function isTooOld({ doubtSince }: OutboxRow, { sendClass, idemWindowMs }: Channel, now: number): boolean {
  return sendClass === 'idem' && idemWindowMs !== undefined && doubtSince !== undefined && now - doubtSince > idemWindowMs;
}
