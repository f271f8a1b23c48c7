/** How many sends may be under way at once, per channel: a platform that hangs holds up only itself. */
export interface Slots {
  /** Resolves with the function that gives the slot back. Rejects with `signal.reason`. */
  acquire(name: string, signal: AbortSignal): Promise<() => void>;
  /** Slots taken, of one name or over all. */
  taken(name?: string): number;
  /** Resolves when none of this name is taken. */
  quiet(name: string): Promise<void>;
}

export function createSlots(perName: number): Slots {
  const used = new Map<string, { count: number; waiting: (() => void)[] }>();
  const quieted = new Map<string, (() => void)[]>();
  const taken = (name?: string): number =>
    name === undefined ? [...used.values()].reduce((sum, one) => sum + one.count, 0) : (used.get(name)?.count ?? 0);
  return {
    acquire,
    taken,
    quiet: async (name) => {
      if (taken(name) > 0) await new Promise<void>((resolve) => quieted.set(name, [...(quieted.get(name) ?? []), resolve]));
    },
  };

  async function acquire(name: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const slot = used.get(name) ?? { count: 0, waiting: [] };
    used.set(name, slot);
    if (slot.count < perName) slot.count += 1;
    else await handedOver(slot.waiting, signal);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const next = slot.waiting.shift();
      if (next) next();
      else slot.count -= 1;
      if (slot.count > 0) return;
      for (const resolve of quieted.get(name) ?? []) resolve();
      quieted.delete(name);
    };
  }
}

/** The slot goes straight to the send that waited longest, so `count` does not change. */
function handedOver(waiting: (() => void)[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const give = () => {
      signal.removeEventListener('abort', abort);
      resolve();
    };
    const abort = () => {
      waiting.splice(waiting.indexOf(give), 1);
      reject(signal.reason);
    };
    waiting.push(give);
    signal.addEventListener('abort', abort, { once: true });
  });
}
