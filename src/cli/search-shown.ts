import type { Clock } from '../core/ports.ts';
import { counted } from '../lib/counted.ts';
import type { Searched } from '../runs/search-files.ts';
import type { Output } from './output.ts';

const SHOWN_MS = 1_000;

/** Says each second how far a search of files is; nothing of one that takes less than a second. */
export function searchShown(out: Pick<Output, 'say'>, clock: Pick<Clock, 'monotonic'>): (read: Searched) => void {
  let next = clock.monotonic() + SHOWN_MS;
  return ({ files, bytes }) => {
    if (clock.monotonic() < next) return;
    next = clock.monotonic() + SHOWN_MS;
    out.say(`searching files: ${counted(files, 'file')}, ${Math.round(bytes / 1_000_000)} MB so far`);
  };
}
