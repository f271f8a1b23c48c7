import { errorText, isGatehouseError } from '../../core/errors.ts';
import type { JournalCounts } from '../../core/journal.ts';
import type { ConfigStatus, ModelHealth, StatusDocument, WebhookStatus } from '../../core/status.ts';
import { printable } from '../../lib/printable.ts';
import { type Command, type CommandContext, dataDirOf } from '../context.ts';
import { askDaemon, type DaemonStatus, notRunning } from '../daemon-status.ts';
import { EXIT } from '../exit-codes.ts';
import { channelDocument } from '../format-channel.ts';
import { formatJournal, formatStatus } from '../format-status.ts';
import { isoOrNull, isoTime } from '../format-time.ts';
import { withJournal } from '../read-journal.ts';
import { troublesOf } from '../troubles.ts';

export interface StatusOptions {
  /** One line and an exit code for monitors: 0 well, 1 trouble, 3 not running. */
  readonly check?: boolean;
}

/** The state of the running daemon; when it is down, what the disk tells, and exit code 3. */
export const status: Command<StatusOptions> = async (context, { check = false }) => {
  const { deps, out } = context;
  const dataDir = dataDirOf(context);
  const daemon = await askDaemon(dataDir);
  if (check) return checked(context, daemon);
  const view = { out, now: deps.clock.now(), dataDir };
  if (daemon.kind === 'up') {
    const parked = daemon.status.journal.inbox.PARKED;
    const { questions = 0 } = parked > 0 && !out.json ? await fromDisk(context) : {};
    out.screen(formatStatus(daemon.status, { ...view, questions }), 12);
    out.document({ running: true, dataDir, status: statusToJson(daemon.status) });
    return EXIT.ok;
  }
  const { counts, questions = 0, problem } = await fromDisk(context);
  if (counts) out.data(['on disk:', ...formatJournal(counts, { ...view, questions })].join('\n'));
  if (problem) {
    out.say(`${out.mark('warn', 'stderr')} the journal could not be read: ${problem.message}`);
    if (problem.hint !== '') out.say(`  → ${problem.hint}`);
  }
  const journal = counts ? countsToJson(counts) : null;
  out.fail(notRunning(daemon), { running: false, dataDir, journal, ...(problem ? { journalProblem: problem } : {}) });
  return EXIT.notRunning;
};

/** The gravest trouble stands in the line; `--json` has all. */
function checked({ deps, out }: CommandContext, daemon: DaemonStatus): number {
  if (daemon.kind === 'down') {
    out.fail(notRunning(daemon), { running: false });
    return EXIT.notRunning;
  }
  const troubles = troublesOf(daemon.status, deps.clock.now());
  const [first] = troubles;
  if (!first) {
    out.data('ok');
    out.document({ running: true, troubles: [] });
    return EXIT.ok;
  }
  const more = troubles.length === 1 ? '' : ` (and ${troubles.length - 1} more: gatehouse status)`;
  out.told(`trouble: ${printable(first.text)} → ${printable(first.fix)}${more}`);
  if (out.json) out.fail({ code: 'GH1009', message: first.text, hint: first.fix }, { running: true, troubles });
  return EXIT.failed;
}

interface OnDisk {
  readonly counts?: JournalCounts;
  /** How many questions wait for the answer of a person. */
  readonly questions?: number;
  /** Why nothing could be read. */
  readonly problem?: { readonly code: string; readonly message: string; readonly hint: string };
}

/** A damaged journal must not hide how the daemon is. */
async function fromDisk(context: CommandContext): Promise<OnDisk> {
  try {
    const read = await withJournal(context, async ({ journal }) => {
      const [counts, questions] = [await journal.counts(), await journal.waits.questions()];
      return { counts, questions: questions.length };
    });
    return read ?? {};
  } catch (error) {
    if (!isGatehouseError(error)) return { problem: { code: 'GH1004', message: errorText(error), hint: '' } };
    const { code, message, hint } = error;
    return { problem: { code, message, hint } };
  }
}

function statusToJson(status: StatusDocument): Record<string, unknown> {
  return {
    ...status,
    startedAt: isoTime(status.startedAt),
    channels: status.channels.map(channelDocument),
    journal: countsToJson(status.journal),
    jobs: status.jobs ? { ...status.jobs, nextDue: isoOrNull(status.jobs.nextDue) } : null,
    ...(status.config ? { config: configToJson(status.config) } : {}),
    ...(status.modelHealth ? { modelHealth: healthToJson(status.modelHealth) } : {}),
    ...(status.holds ? { holds: status.holds.map(({ until, ...hold }) => ({ ...hold, until: isoTime(until) })) } : {}),
    ...(status.webhooks ? { webhooks: status.webhooks.map(webhookToJson) } : {}),
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

function healthToJson({ since, lastAnswerAt, ...health }: ModelHealth): Record<string, unknown> {
  return { ...health, since: isoOrNull(since), lastAnswerAt: isoOrNull(lastAnswerAt) };
}

function webhookToJson({ refusedAt, takenAt, ...webhook }: WebhookStatus): Record<string, unknown> {
  return { ...webhook, refusedAt: isoTime(refusedAt), takenAt: isoOrNull(takenAt) };
}

function countsToJson({ oldestNewAt, ...counts }: JournalCounts): Record<string, unknown> {
  return { ...counts, oldestNewAt: isoOrNull(oldestNewAt) };
}
