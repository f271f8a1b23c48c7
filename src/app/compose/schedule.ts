// jobs and waits of the journal, HEARTBEAT.md -> one ticker
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Authority } from '../../core/authority.ts';
import { NOT_LINKED } from '../../core/channel.ts';
import { senderOf } from '../../core/ids.ts';
import { type JobAddress, type JobBook, LOCAL_OPERATOR } from '../../core/job.ts';
import type { Address } from '../../core/message.ts';
import type { PairingStore } from '../../core/pairing.ts';
import { dueWaits } from '../../runs/due-waits.ts';
import { Book } from '../../schedule/book.ts';
import { type Bar, DueJobs } from '../../schedule/due-jobs.ts';
import { HEARTBEAT_PRINCIPAL, Heartbeat } from '../../schedule/heartbeat.ts';
import { Ticker, type TickerSource } from '../../schedule/ticker.ts';
import type { ChannelSet } from '../channels.ts';
import { onOwnBehalf } from '../origin.ts';
import type { Operator } from './operator.ts';
import { type Base, timezoneOf } from './options.ts';

const MINUTE_MS = 60_000;

/** What begins work by the clock. Started by the caller, once there is what work needs. */
export function composeTicker(base: Base, operator: Operator, pairing: PairingStore, erasing: TickerSource): Ticker {
  const { options, journal, channels, events, live } = base;
  const { clock, logger, config } = options;
  const address = (to: JobAddress): Address | undefined => {
    const account = accountOn(channels, to.channel);
    // What is said in a chat of another account would be paid for and told to no person.
    return account === undefined || (to.account ?? account) !== account ? undefined : { ...to, account };
  };
  const jobs = new DueJobs({
    ...{ journal, address, clock, emit: events.emit },
    keepDays: () => live().tasks.keep_days,
    // Half of what may wait stays for people.
    reserve: Math.floor(config.gateway.high_water / 2),
    barred: (authority) => barred(base, operator, pairing, authority),
    isHeld: base.isChanging,
  });
  const heartbeat = new Heartbeat({
    ...{ journal, address, clock, logger, isHeld: base.isChanging },
    file: join(options.dataDir, 'HEARTBEAT.md'),
    settings: () => ({ everyMs: live().heartbeat.every_minutes * MINUTE_MS, mostADay: live().heartbeat.max_a_day }),
    to: () => live().gateway.owner.map(({ channel, chat_id: chatId }) => ({ channel, chatId }))[0],
  });
  const sources = [jobs, heartbeat, dueWaits(journal, operator.questions), erasing];
  const ticker = new Ticker({ sources, clock, logger });
  journal.wakeup.listen((what) => onOwnBehalf(() => (what === 'job' || what === 'wait') && ticker.wake()));
  journal.onOutsideChange(() => ticker.wake());
  return ticker;
}

export function jobBook({ journal, options }: Pick<Base, 'journal' | 'options'>): JobBook {
  const { clock } = options;
  return new Book({
    ...{ journal, clock, newId: () => randomBytes(4).toString('hex') },
    get timezone() {
      return timezoneOf(options);
    },
  });
}

/** What stands against a run on the account of the person who made a job; undefined = nothing does. */
async function barred(
  { channels }: Base,
  { owner }: Operator,
  pairing: PairingStore,
  { principal, role, home }: Authority,
): Promise<Bar | undefined> {
  // HEARTBEAT.md is the operator's, and so is what its runs ask for.
  if (principal === LOCAL_OPERATOR || (principal === HEARTBEAT_PRINCIPAL && role === 'owner')) return undefined;
  if (role === 'guest') return notLetIn('guests have no jobs');
  // No name of a channel has a colon.
  const [channel = ''] = principal.split(':', 1);
  const senderId = principal.slice(channel.length + 1);
  const absent: Bar = { kind: 'absent', channel };
  if (await pairing.isBlocked({ channel, senderId })) return notLetIn('its creator is blocked');
  const rules = channels.rules(channel);
  if (!rules) return absent;
  if (channels.isLocal(channel) || owner.isOwnersId({ channel, senderId })) return undefined;
  if (role !== 'owner' && rules.allowed_senders.includes(senderId)) return undefined;
  // One that could not be created yet does not say whether it is local, nor with which account people are
  // paired.
  const account = accountOn(channels, channel);
  if (account === undefined) return absent;
  if (role === 'owner') return notLetIn('its creator is no owner any more');
  const decided = await pairing.decided({ channel, account, senderId });
  if (decided === 'approved') return undefined;
  // What the account that made the job says of them is not known now. A no of this one counts.
  const made = home === undefined ? undefined : senderOf(home);
  if (decided === undefined && made?.channel === channel && made.account !== account) return { ...absent, account: made.account };
  return notLetIn('its creator is not let in any more');
}

/** The account that works there now. Undefined = there is no such channel, or it has no login yet. */
function accountOn({ channels }: Pick<ChannelSet, 'channels'>, name: string): string | undefined {
  const account = channels.get(name)?.account;
  return account === NOT_LINKED ? undefined : account;
}

function notLetIn(reason: string): Bar {
  return { kind: 'not-let-in', reason };
}
