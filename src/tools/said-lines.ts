import type { Clock, Logger } from '../core/ports.ts';

/** Longest piece in one line of the log. UTF-16 units. */
const MAX_SAID = 1_000;
/** Lines in one minute. */
const MAX_LINES = 60;
const MINUTE_MS = 60_000;

export interface SaidOptions {
  readonly event: string;
  readonly about: Readonly<Record<string, string>>;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Standard error of a foreign program, for who looks for a fault: at debug, and bounded. */
export function saidLines({ event, about, logger, clock }: SaidOptions): (text: string) => void {
  let since = Number.NEGATIVE_INFINITY;
  let lines = 0;
  return (text) => {
    if (logger.isDebugEnabled?.() === false) return;
    const now = clock.monotonic();
    if (now - since > MINUTE_MS) [since, lines] = [now, 0];
    lines += 1;
    if (lines <= MAX_LINES) logger.debug(event, { ...about, text: text.trimEnd().slice(0, MAX_SAID) });
    else if (lines === MAX_LINES + 1) logger.debug(event, { ...about, text: '(more of it is not logged within this minute)' });
  };
}
