/** Delivery over a real adapter and a journal that it can die on: what a daemon is to one chat. */
import type { Channel, SendResult } from '../core/channel.ts';
import type { OutboundPart } from '../core/message.ts';
import { createDelivery } from '../delivery/deliver.ts';
import type { FakeClock } from './fakes.ts';
import type { MemoryJournal } from './memory-journal.ts';

export interface SendCall {
  readonly call: 'send' | 'edit';
  readonly text: string;
  /** Epoch ms at which it began. */
  readonly at: number;
  readonly result: SendResult;
}

interface ProcessOptions {
  readonly channel: Channel;
  readonly clock: FakeClock;
  readonly journal: MemoryJournal;
  /** Where its calls are noted. */
  readonly calls: SendCall[];
  /** Real ms before each. */
  readonly callGapMs: number;
  /** Whether a status line says what goes on before the answer begins. */
  readonly hasStatus: boolean;
}

/** Delivery over the journal that an earlier process may have left. */
export function startProcess({ channel: real, clock, journal, calls, callGapMs, hasStatus }: ProcessOptions) {
  const under = { way: 0, isDead: false };
  const channel = watched(real, callGapMs, clock, calls, under);
  const channels = new Map([[channel.name, channel]]);
  const statusLine = (): boolean => hasStatus;
  const delivery = createDelivery({
    journal,
    channels,
    clock,
    random: () => 0,
    emit: () => undefined,
    maxAttempts: 8,
    statusLine,
  });
  const kill = (): MemoryJournal => {
    under.isDead = true;
    return journal.crash();
  };
  return { channel, delivery, journal, under, kill };
}

/** The same adapter; its calls are noted, and counted while they are under way. A dead process makes none. */
function watched(
  real: Channel,
  callGapMs: number,
  clock: FakeClock,
  calls: SendCall[],
  under: { way: number; readonly isDead: boolean },
): Channel {
  return new Proxy(real, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (name !== 'send' && name !== 'edit' && name !== 'withdraw') return value.bind(target);
      return async (...args: unknown[]) => {
        if (under.isDead) return await new Promise(() => undefined);
        const at = clock.now();
        under.way += 1;
        try {
          if (callGapMs > 0) await new Promise((resolve) => setTimeout(resolve, callGapMs));
          const result: SendResult = await value.apply(target, args);
          if (name !== 'withdraw')
            calls.push({ call: name, text: (args[name === 'send' ? 0 : 1] as OutboundPart).text, at, result });
          return result;
        } finally {
          under.way -= 1;
        }
      };
    },
  });
}
