import type { Journal } from '../core/journal.ts';
import type { Clock } from '../core/ports.ts';
import type { RecordedEvent } from '../core/record.ts';
import { type FollowHow, OPEN_STATUSES, type Task } from '../core/task.ts';

const PAGE = 500;
const LOOK_MS = 300;

export interface FollowOptions extends FollowHow {
  readonly journal: Pick<Journal, 'tasks' | 'record'>;
  readonly clock: Clock;
}

/**
 * What is recorded of a task and of all that it began, in the order of the commits, until it is over. Reads
 * the record alone, so it works beside the daemon too. Rejects with the reason of the signal.
 */
export async function* follow({ key, number, createdAt }: Task, options: FollowOptions): AsyncGenerator<RecordedEvent> {
  const { journal, clock, waits = true, signal } = options;
  let seq = 0;
  for (;;) {
    signal.throwIfAborted();
    // Before the page: what is written after this look is read by the next.
    const task = await journal.tasks.get(number);
    const isOver = !task || !OPEN_STATUSES.includes(task.status);
    for (;;) {
      const page = await journal.record.after(seq, { limit: PAGE, since: createdAt });
      seq = page.at(-1)?.seq ?? seq;
      for (const entry of page) if (isOf(key, entry)) yield entry;
      if (page.length < PAGE) break;
    }
    if (isOver || !waits) return;
    await clock.sleep(LOOK_MS, signal);
  }
}

/** The keys of what it began are its own and `#`. */
function isOf(key: string, { event }: RecordedEvent): boolean {
  return event.messageId === key || event.messageId?.startsWith(`${key}#`) === true;
}
