/** The owner's answer to `/forget me`: what follows from it is in the transaction of the answer. */
import { FORGET } from '../core/erasure.ts';
import type { NewPart } from '../core/outbox.ts';
import type { PersonRef } from '../core/people.ts';
import type { Settled } from '../core/wait.ts';
import type { Change } from './commit-queue.ts';
import { beginErasure } from './erase-begin.ts';
import { addParts } from './outbox.ts';
import { findWait } from './read-waits.ts';
import type { Store } from './store.ts';

/** As `src/runs/forgetting.ts` keeps it with the question. */
interface About {
  readonly who: PersonRef;
  readonly stoppedMark: string;
  readonly allow: readonly NewPart[];
  readonly deny: readonly NewPart[];
}

/** Call once the question is settled. What is withdrawn or was never asked is no answer. */
export function endForget(store: Store, { wait: id, value, by }: Settled, change: Change): void {
  if (!id.startsWith(FORGET) || !value.ok) return;
  const wait = findWait(store, id);
  const about = wait?.question?.about as About | undefined;
  if (!wait || !about) return;
  const { who, stoppedMark, allow, deny } = about;
  const isAllowed = value.output === 'allow';
  // They were made with the question. Their life begins with its answer, which may come days later.
  const passed = Math.max(0, store.clock.now() - wait.createdAt);
  const parts = (isAllowed ? allow : deny).map((part) => ({ ...part, expiresAt: part.expiresAt + passed }));
  if (isAllowed) beginErasure(store, { kind: 'erase', who, by, stoppedMark, parts }, change);
  else addParts(store, parts);
  for (const { lane } of parts) change.told.add(lane);
}
