/**
 * What became of messages after Twilio had taken them:
 * https://www.twilio.com/docs/messaging/guides/track-outbound-message-status
 */
import type { Clock, Logger } from '../../../src/core/ports.ts';
import type { HealthSum } from '../../kit/health-sum.ts';
import { RecentMap } from '../../kit/recent.ts';
import type { Fields } from '../in/request.ts';
import { UNDELIVERED } from '../wire/failure.ts';

/** Callbacks come in any order and more than once; a message never goes back. */
const RANK: Readonly<Record<string, number>> = {
  accepted: 0,
  scheduled: 0,
  queued: 1,
  sending: 2,
  sent: 3,
  delivered: 4,
  undelivered: 4,
  failed: 4,
  canceled: 4,
  read: 5,
};
/** Callbacks of one message come within minutes, at most within the four hours a message may wait. */
const MAX_KEPT = 2_000;
/** So long messages that did not arrive are shown. */
const SHOWN_MS = 24 * 3_600_000;

/** True for a status callback, which comes to the same address as messages do. */
export function isStatus(fields: Fields): boolean {
  const status = fields.get('MessageStatus') ?? fields.get('SmsStatus') ?? 'received';
  return status !== 'received' && status !== 'receiving';
}

export class Statuses {
  readonly #logger: Logger;
  readonly #health: Pick<HealthSum<'number' | 'undelivered'>, 'set'>;
  readonly #clock: Clock;
  readonly #ranks = new RecentMap<number>(MAX_KEPT);
  /** SID of what did not arrive -> when we were told, epoch ms. */
  readonly #lost = new RecentMap<number>(MAX_KEPT);
  #lastMeaning = '';

  constructor(logger: Logger, clock: Clock, health: Pick<HealthSum<'number' | 'undelivered'>, 'set'>) {
    this.#logger = logger;
    this.#clock = clock;
    this.#health = health;
  }

  /**
   * Says in the channel's health how many messages did not arrive within a day. Called now and then, it ends,
   * too.
   */
  show(): void {
    const young = [...this.#lost].filter(([, at]) => this.#clock.now() - at < SHOWN_MS).length;
    const detail = `${young} message${young === 1 ? '' : 's'} did not arrive in the last 24 h; of the last: ${this.#lastMeaning}`;
    if (young === 0) this.#health.set('undelivered', 'healthy');
    else this.#health.set('undelivered', 'degraded', detail);
  }

  note(fields: Fields): void {
    const sid = fields.get('MessageSid') ?? fields.get('SmsSid') ?? '';
    const status = (fields.get('MessageStatus') ?? fields.get('SmsStatus') ?? '').toLowerCase();
    const rank = RANK[status];
    if (rank === undefined || sid === '') {
      this.#logger.debug('twilio.status-unknown', { status });
      return;
    }
    if (rank <= (this.#ranks.get(sid) ?? -1)) return;
    this.#ranks.set(sid, rank);
    if (status === 'failed' || status === 'undelivered')
      this.#undelivered(sid, status, Number(fields.get('ErrorCode')) || undefined);
    else if (status === 'delivered') this.#health.set('number', 'healthy');
  }

  #undelivered(sid: string, status: string, code: number | undefined): void {
    const known = code === undefined ? undefined : UNDELIVERED.get(code);
    const meaning = known?.meaning ?? 'see https://www.twilio.com/docs/api/errors for the number';
    this.#logger.warn('twilio.undelivered', { sid, status, ...(code !== undefined && { code }), meaning });
    this.#lost.set(sid, this.#clock.now());
    this.#lastMeaning = `${meaning}${code === undefined ? '' : ` (Twilio error ${code})`}`;
    this.show();
    if (known?.everybody) {
      this.#health.set('number', 'degraded', `messages do not arrive: ${meaning} (Twilio error ${code})`);
    }
  }
}
