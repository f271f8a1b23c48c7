// gateway.channels before and after -> added, removed, replaced, other rules -> the set of channels, 0 lost
import { isDeepStrictEqual } from 'node:util';
import { DeadlineError, withDeadline } from '../../channels/kit/deadline.ts';
import { errorText, GatehouseError, isGatehouseError } from '../core/errors.ts';
import type { Clock } from '../core/ports.ts';
import type { Candidate, KeyChange, Reloadable } from '../core/reload.ts';
import type { Delivery } from '../delivery/deliver.ts';
import type { ChannelEntry, ChannelRules, ChannelSet } from './channels.ts';
import type { Config } from './compose/options.ts';
import type { ConfiguredChannel } from './configured-channel.ts';
import { changedKeys } from './reload.ts';

const KEY = 'gateway.channels';
/**
 * For sends that are under way, as at the end of the process. A blind channel cannot know of one that is cut
 * off.
 */
const SENDS_MS = 10_000;
/** One that has not answered by then is started, and goes on trying by itself. */
const START_MS = 15_000;

export interface ChannelsPartOptions {
  readonly channels: ChannelSet;
  readonly delivery: Pick<Delivery, 'quiet' | 'sending'>;
  readonly clock: Clock;
}

interface Difference {
  readonly added: readonly ChannelEntry[];
  /** As they are to be. */
  readonly replaced: readonly ChannelEntry[];
  /** As they were. */
  readonly removed: readonly ChannelEntry[];
  readonly ruled: readonly ChannelEntry[];
}

/**
 * Channels that come, go and change while the others work. One whose type or settings change is replaced: its
 * sends finish, its intake ends, the next one starts, and what waits for it in the journal goes on there.
 */
export function channelsPart(options: ChannelsPartOptions): Reloadable<Config> {
  return {
    name: 'channels',
    keys: [KEY],
    plan: (before, after) => planOf(differenceOf(before, after), entriesOf(before)),
    prepare: async (before, after, signal) => {
      const difference = differenceOf(before, after);
      if (after.gateway.channels.length === 0)
        throw new GatehouseError('GH1101', `${KEY} is empty, so there would be nothing to do`, { hint: 'keep one channel' });
      const { channels } = options;
      channels.refuseShared(entriesOf(after).values());
      const made = await Promise.all([...difference.added, ...difference.replaced].map((entry) => channels.make(entry)));
      const change = new ChannelChange(options, { difference, before: entriesOf(before), made, signal });
      const refused = made.find(({ refusal }) => refusal);
      if (refused) {
        await change.end(false);
        throw refusedBy(refused);
      }
      return change;
    },
  };
}

interface Change {
  readonly difference: Difference;
  readonly before: ReadonlyMap<string, ChannelEntry>;
  readonly made: readonly ConfiguredChannel[];
  /** Aborts when the daemon ends: the change is left where it stands, and the next start takes it. */
  readonly signal: AbortSignal;
}

class ChannelChange implements Candidate {
  readonly #options: ChannelsPartOptions;
  readonly #difference: Difference;
  readonly #before: ReadonlyMap<string, ChannelEntry>;
  readonly #made: readonly ConfiguredChannel[];
  readonly #adopted = new Set<ConfiguredChannel>();
  readonly #signal: AbortSignal;
  #isUsed = false;

  constructor(options: ChannelsPartOptions, { difference, before, made, signal }: Change) {
    this.#options = options;
    this.#difference = difference;
    this.#before = before;
    this.#made = made;
    this.#signal = signal;
  }

  async use(): Promise<readonly KeyChange[]> {
    const { channels } = this.#options;
    const { replaced, removed, ruled } = this.#difference;
    // First: the others of the change may take half a minute.
    for (const entry of ruled) channels.setRules(entry);
    const cut = await this.#retire([...replaced, ...removed], this.#made);
    this.#isUsed = true;
    const refused = this.#made.find(({ refusal }) => refusal);
    if (refused) throw refusedBy(refused);
    for (const one of this.#made) one.accepted();
    for (const { name } of removed) channels.remove(name);
    return planOf(this.#difference, this.#before).map((change) =>
      change.cost === 'restart-part' ? { ...change, lost: cut.get(change.key) ?? 0 } : change,
    );
  }

  async end(stands: boolean): Promise<void> {
    if (stands) return;
    const { channels } = this.#options;
    const { added, replaced, removed, ruled } = this.#difference;
    if (!this.#isUsed || this.#signal.aborted) {
      // Those in use go on until the daemon ends them with the others.
      await Promise.all(this.#made.filter((one) => !this.#adopted.has(one)).map((one) => one.stop()));
      return;
    }
    const old = [...replaced, ...removed, ...ruled].flatMap(({ name }) => this.#before.get(name) ?? []);
    const isRuled = (entry: ChannelEntry): boolean => ruled.some(({ name }) => name === entry.name);
    for (const entry of old) if (isRuled(entry)) channels.setRules(entry);
    const again = await Promise.all(old.filter((entry) => !isRuled(entry)).map((entry) => channels.make(entry)));
    await this.#retire([...added, ...replaced], again);
    for (const { name } of added) channels.remove(name, { wasRefused: true });
    for (const one of again) one.accepted();
  }

  /** Sends finish, intake ends, and the next ones begin. By key, how many sends were cut off. */
  async #retire(out: readonly ChannelEntry[], next: readonly ConfiguredChannel[]): Promise<ReadonlyMap<string, number>> {
    const { channels, delivery } = this.#options;
    const cut = new Map<string, number>();
    await Promise.all(
      out.map(async ({ name }) => {
        using _held = channels.hold(name);
        await this.#withinLimit(SENDS_MS, () => delivery.quiet(name));
        cut.set(`${KEY}.${name}`, delivery.sending(name));
        using _calls = channels.holdWebhook(name);
        await channels.retire(name);
        await this.#start(next.filter(({ entry }) => entry.name === name));
      }),
    );
    const isNew = ({ entry }: ConfiguredChannel): boolean => out.every(({ name }) => name !== entry.name);
    await this.#start(next.filter(isNew));
    return cut;
  }

  async #start(next: readonly ConfiguredChannel[]): Promise<void> {
    await Promise.all(
      next.map((one) =>
        this.#withinLimit(START_MS, () => {
          this.#adopted.add(one);
          return this.#options.channels.adopt(one);
        }),
      ),
    );
  }

  /** Rejects with the reason of the signal at once, and does not begin then. */
  async #withinLimit(ms: number, work: () => Promise<void>): Promise<void> {
    const { clock } = this.#options;
    await withDeadline({ clock, ms, signal: this.#signal }, work).catch((error: unknown) => {
      if (!(error instanceof DeadlineError)) throw error;
    });
  }
}

export function entriesOf(config: Config): ReadonlyMap<string, ChannelEntry> {
  return new Map(
    config.gateway.channels.map((rules) => {
      const { name = rules.type, type, settings } = rules;
      return [name, { name, type, settings, rules }];
    }),
  );
}

function differenceOf(before: Config, after: Config): Difference {
  const [old, next] = [entriesOf(before), entriesOf(after)];
  const both = [...next.values()].flatMap((entry) => {
    const was = old.get(entry.name);
    return was ? [{ was, entry }] : [];
  });
  const isReplaced = ({ was, entry }: (typeof both)[number]): boolean =>
    was.type !== entry.type || !isDeepStrictEqual(was.settings, entry.settings);
  return {
    added: [...next.values()].filter(({ name }) => !old.has(name)),
    removed: [...old.values()].filter(({ name }) => !next.has(name)),
    replaced: both.filter(isReplaced).map(({ entry }) => entry),
    ruled: both.filter((one) => !isReplaced(one) && !isDeepStrictEqual(one.was.rules, one.entry.rules)).map(({ entry }) => entry),
  };
}

function planOf(
  { added, removed, replaced, ruled }: Difference,
  before: ReadonlyMap<string, ChannelEntry>,
): readonly KeyChange[] {
  return [
    ...added.map(({ name }): KeyChange => ({ key: `${KEY}.${name}`, cost: 'live', detail: 'added' })),
    ...removed.map(({ name }): KeyChange => ({ key: `${KEY}.${name}`, cost: 'live', detail: 'removed' })),
    ...replaced.map(({ name }): KeyChange => ({ key: `${KEY}.${name}`, cost: 'restart-part' })),
    ...ruled.flatMap(({ name, rules }) =>
      rulesChanged(before.get(name)?.rules, rules).map((key): KeyChange => ({ key: `${KEY}.${name}.${key}`, cost: 'live' })),
    ),
  ];
}

function rulesChanged(before: ChannelRules | undefined, after: ChannelRules | undefined): readonly string[] {
  return changedKeys(before, after, Object.keys({ ...before, ...after }));
}

function refusedBy({ entry, refusal }: ConfiguredChannel): GatehouseError {
  const where = `channel ${entry.name}`;
  if (isGatehouseError(refusal)) return new GatehouseError(refusal.code, `${where}: ${refusal.message}`, { hint: refusal.hint });
  // In the words of the adapter, which begin with a code where there is one.
  return new GatehouseError('GH1101', `${where}: ${errorText(refusal)}`, { hint: 'mend what is named, and save the file again' });
}
