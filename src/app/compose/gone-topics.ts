import { errorText, isGatehouseError } from '../../core/errors.ts';
import { removeWorkspace } from '../../runs/workspace.ts';
import type { Base } from './options.ts';

type Parts = Pick<Base, 'journal' | 'options'>;

/**
 * Removes the directories of deleted topics in which nothing works any more. Called wherever a run may
 * have been the last one there, and again with the housekeeping. Never rejects: what cannot be removed
 * is tried again.
 */
export async function removeGoneTopics(base: Parts): Promise<void> {
  const { goneTopics } = base.journal;
  const unused = await goneTopics.unused().catch((error) => warn(base, error));
  for (const session of unused ?? []) {
    // Nothing is awaited between this and the directory's new name: the topic may begin anew.
    if (await goneTopics.isGone(session).catch(() => false)) await removeGoneTopic(base, session);
  }
}

/** Of one that is deleted now, before anything can begin it anew. Never rejects. */
export async function removeGoneTopic(base: Parts, session: string): Promise<void> {
  try {
    await removeWorkspace(base.options.dataDir, session);
    await base.journal.goneTopics.removed(session);
  } catch (error) {
    warn(base, error, session);
  }
}

function warn({ options }: Parts, error: unknown, session?: string): undefined {
  // The journal is closed or its disk is full: that is told where it matters.
  if (isGatehouseError(error) && error.code === 'GH1301') return;
  options.logger.warn('session.files-left', { ...(session === undefined ? {} : { session }), detail: errorText(error) });
}
