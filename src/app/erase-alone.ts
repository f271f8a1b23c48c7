import { openJsonlStore } from '../../sessions/jsonl-store.ts';
import type { Erasures } from '../core/erasure.ts';
import { isGatehouseError } from '../core/errors.ts';
import type { Clock } from '../core/ports.ts';
import { lockDataDir } from '../journal/lock.ts';
import { givingToOwner } from '../lib/give-to-owner.ts';
import { type ErasureOptions, finishErasure } from '../runs/erasure.ts';

export interface EraseAloneOptions {
  readonly erasures: Erasures;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** As of `ErasureOptions`. It is called for each erasure that leaves files. */
  readonly onLeft: ErasureOptions['onLeft'];
  readonly onSearch?: ErasureOptions['onSearch'];
}

/**
 * Finishes every erasure that was begun, where no daemon works on the data directory. False = one does, and
 * it finishes them itself.
 */
export async function eraseAlone(dataDir: string, options: EraseAloneOptions): Promise<boolean> {
  const { erasures, clock, signal, onLeft, onSearch } = options;
  const lock = await lockDataDir(dataDir, clock).catch((error: unknown) => {
    if (isGatehouseError(error) && error.code === 'GH1201') return undefined;
    throw error;
  });
  if (!lock) return false;
  await using _alone = lock;
  await using _given = givingToOwner(dataDir, 'users', 'upload-days');
  const store = openJsonlStore({ dir: dataDir, clock, onDamage: () => undefined });
  for (const erasure of await erasures.open()) {
    await finishErasure(erasure, {
      ...{ erasures, store, dataDir, clock, signal, onLeft, isAlone: true },
      ...(onSearch ? { onSearch } : {}),
      apart: (_session, work) => work(),
      forget: async () => undefined,
    });
  }
  return true;
}
