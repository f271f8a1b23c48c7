import type { ChannelHealth } from '../../../src/core/channel.ts';
import type { Ended } from './failure.ts';

/** What the end of a connection means: what the operator is told, and what comes next. */
export interface Ending {
  readonly health: ChannelHealth;
  readonly detail: string;
  /**
   * `retry` with back-off and at least `waitMs`, `now` without any, `stop` for good: only the operator can
   * mend it.
   */
  readonly next: 'retry' | 'now' | 'stop';
  readonly waitMs: number;
}

const TOO_OLD_WAIT_MS = 300_000;
/**
 * The wait at a ban without an end is long, as the ban was given for trying. No wait is longer than the
 * platform keeps a device that stays away.
 */
const BANNED_WAIT_MS = 6 * 3_600_000;
const LONGEST_WAIT_MS = 14 * 24 * 3_600_000;

/**
 * Status codes of WhatsApp Web, from `<failure reason>`, `<stream:error code>` or the SDK, for what it sees
 * itself.
 */
export function describeEnding(ended: Ended, name: string): Ending {
  const again = `link it again with \`gatehouse channels login ${name}\`, then restart the daemon`;
  const stop = (detail: string): Ending => ({ health: 'down', detail, next: 'stop', waitMs: 0 });
  switch (ended.status) {
    // Sent once after linking, and whenever the server moves the connection.
    case 515:
      return { health: 'degraded', detail: 'the platform asked to connect again', next: 'now', waitMs: 0 };
    case 401:
      return stop(`GH1501: the phone removed this device (401); ${again}`);
    case 402: {
      const waitMs = Math.min(ended.waitMs ?? BANNED_WAIT_MS, LONGEST_WAIT_MS);
      const hours = Math.ceil(waitMs / 3_600_000);
      return {
        health: 'down',
        detail: `GH1502: the platform banned this account for a time (402); trying again in ${hours} h, look at WhatsApp on the phone`,
        next: 'retry',
        waitMs,
      };
    }
    case 406:
      return stop(`GH1501: the platform banned this account (406); look at WhatsApp on the phone, then ${again}`);
    case 403:
      return stop(`GH1501: the platform locked this account (403); look at WhatsApp on the phone, then ${again}`);
    case 411:
      return stop(`GH1501: the account does not allow linked devices (411); update WhatsApp on the phone, then ${again}`);
    // Each connection of one login ends the other: going on would take turns for ever.
    case 440:
      return stop('GH1503: another program connected with this login (440); stop it, then restart the daemon');
    case 405:
      return {
        health: 'down',
        detail: 'GH1502: the platform refuses this version of the client (405); upgrade gatehouse, or set client_version',
        next: 'retry',
        waitMs: TOO_OLD_WAIT_MS,
      };
    case undefined:
      return { health: 'down', detail: ended.message, next: 'retry', waitMs: 0 };
    default:
      return { health: 'degraded', detail: `GH1502: ${ended.message} (${ended.status})`, next: 'retry', waitMs: 0 };
  }
}
