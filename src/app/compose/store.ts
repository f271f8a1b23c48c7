import { cached } from '../../../sessions/cache.ts';
import { openJsonlStore } from '../../../sessions/jsonl-store.ts';
import { errorText } from '../../core/errors.ts';
import type { Emit } from '../../core/events.ts';
import type { Journal } from '../../core/journal.ts';
import type { RemainsOf } from '../../core/run.ts';
import type { SessionStore } from '../../core/session.ts';
import { isCommandText } from '../../gateway/commands/index.ts';
import { type OpenedJournal, openJournal } from '../../journal/open.ts';
import { LinkedIds } from '../../operator/linked-ids.ts';
import { remainsOf } from '../../runs/remains.ts';
import { Transcripts } from '../../runs/transcripts.ts';
import { moveWorkspaces } from '../../workspace/move-workspaces.ts';
import type { DaemonOptions } from './options.ts';

export interface Stores {
  readonly opened: OpenedJournal;
  readonly journal: Journal;
  readonly transcripts: Transcripts;
  /** For what works beside the transcripts: see `Transcripts.apart`. */
  readonly sessions: SessionStore;
  readonly linked: LinkedIds;
}

/** The journal and the sessions of the data directory. Rejects as `openJournal` does. */
export async function composeStores(options: DaemonOptions, emit: Emit): Promise<Stores> {
  const { config, dataDir, clock, logger } = options;
  const opened = await openJournal({
    dir: dataDir,
    clock,
    remains: remainsFor(options),
    highWater: config.gateway.high_water,
    onFatal: options.onFatal,
    onUpgrade: (about) => logger.warn('journal.upgrade', { ...about, hint: 'the copy is the way back to the version before' }),
    onProgress: (progress) => logger.warn('journal.upgrading', { ...progress }),
    onChecked: (state) => {
      if (state.kind === 'failed')
        logger.warn('journal.check-failed', { detail: state.detail, hint: 'the next start tries again' });
      else logger.info('journal.checked', { state: state.kind });
    },
    onWritable: (failure) =>
      emit({
        type: 'journal',
        at: clock.now(),
        state: failure ? 'failing' : 'ok',
        ...(failure ? { code: failure.code } : {}),
      }),
  });
  const moved = await moveWorkspaces(dataDir);
  if (moved > 0) logger.info('workspaces.moved', { count: moved, to: 'workspaces' });
  const journal = options.wrapJournal?.(opened.journal) ?? opened.journal;
  const files = openJsonlStore({
    dir: dataDir,
    clock,
    onDamage: ({ key, lines, quarantine }) =>
      emit({ type: 'session.damaged', at: clock.now(), session: key, lines: lines.length, quarantine }),
  });
  const sessions = cached(files, { maxSessions: config.gateway.max_sessions });
  const transcripts = new Transcripts({
    journal,
    clock,
    store: sessions,
    onError: (error) => logger.warn('session.flush-failed', { detail: errorText(error) }),
  });
  const linked = new LinkedIds(opened.people);
  await linked.refresh();
  return { opened, journal, transcripts, sessions, linked };
}

/** What turns leave that end without their agent. */
export function remainsFor({ clock }: Pick<DaemonOptions, 'clock'>): RemainsOf {
  return remainsOf({ clock, isCommand: (text) => isCommandText(text) });
}
