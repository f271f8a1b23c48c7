import { errorText } from '../../core/errors.ts';
import type { JournalCounts } from '../../core/journal.ts';
import type { ConfigStatus, StatusDocument } from '../../core/status.ts';
import { type Command, dataDirOf } from '../context.ts';
import { askDaemon, notRunning } from '../daemon-status.ts';
import { EXIT } from '../exit-codes.ts';
import { channelDocument } from '../format-channel.ts';
import { formatJournal, formatStatus } from '../format-status.ts';
import { isoTime } from '../format-time.ts';
import { withJournal } from '../read-journal.ts';

/** The state of the running daemon; when it is down, what the disk tells, and exit code 3. */
export const status: Command<unknown> = async (context) => {
  const { deps, out } = context;
  const dataDir = dataDirOf(context);
  const daemon = await askDaemon(dataDir);
  if (daemon.kind === 'up') {
    out.data(formatStatus(daemon.status, { out, now: deps.clock.now(), dataDir }));
    out.document({ running: true, dataDir, status: statusToJson(daemon.status) });
    return EXIT.ok;
  }
  const { counts, problem } = await offlineCounts(context);
  if (counts) out.data(['on disk:', ...formatJournal(counts, { out, now: deps.clock.now(), dataDir })].join('\n'));
  if (problem !== undefined) out.say(`${out.mark('warn', 'stderr')} the journal could not be read: ${problem}`);
  out.fail(notRunning(daemon), { running: false, dataDir, journal: counts ? countsToJson(counts) : null });
  return EXIT.notRunning;
};

/** A damaged journal must not hide that the daemon is down. */
async function offlineCounts(
  context: Parameters<Command<unknown>>[0],
): Promise<{ readonly counts?: JournalCounts; readonly problem?: string }> {
  try {
    const counts = await withJournal(context, ({ journal }) => journal.counts());
    return counts ? { counts } : {};
  } catch (error) {
    return { problem: errorText(error) };
  }
}

function statusToJson(status: StatusDocument): Record<string, unknown> {
  return {
    ...status,
    startedAt: isoTime(status.startedAt),
    channels: status.channels.map(channelDocument),
    journal: countsToJson(status.journal),
    jobs: status.jobs
      ? { ...status.jobs, nextDue: status.jobs.nextDue === undefined ? null : isoTime(status.jobs.nextDue) }
      : null,
    ...(status.config ? { config: configToJson(status.config) } : {}),
    lastErrors: status.lastErrors.map(({ at, ...error }) => ({ at: isoTime(at), ...error })),
  };
}

function configToJson({ applied, problem, ...config }: ConfigStatus): Record<string, unknown> {
  return {
    ...config,
    applied: applied ? { ...applied, at: isoTime(applied.at) } : null,
    problem: problem ? { ...problem, at: isoTime(problem.at) } : null,
  };
}

function countsToJson({ oldestNewAt, ...counts }: JournalCounts): Record<string, unknown> {
  return { ...counts, oldestNewAt: oldestNewAt === undefined ? null : isoTime(oldestNewAt) };
}
