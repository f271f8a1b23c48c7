import type { Write } from '../core/commit.ts';
import type { Journal } from '../core/journal.ts';

/** What changes jobs from the command line: each change is noted as a decision, in its own commit. */
export function auditedJobs(journal: Pick<Journal, 'commit' | 'jobs'>): Pick<Journal, 'commit' | 'jobs'> {
  return { jobs: journal.jobs, commit: (writes) => journal.commit([...writes, ...writes.flatMap(decisionOf)]) };
}

function decisionOf(write: Write): readonly Write[] {
  if (write.kind !== 'job') return [];
  const { job, was } = write;
  if ('gone' in job) return [audit('job.removed', job.gone, {})];
  const { deliver } = job.payload;
  const to = deliver ? { to: `${deliver.channel}:${deliver.chatId}` } : {};
  return [audit(was ? 'job.changed' : 'job.added', job.id, { for: job.authority.principal, enabled: job.enabled, ...to })];
}

function audit(kind: string, subject: string, data: Readonly<Record<string, string | boolean>>): Write {
  return { kind: 'audit', entry: { kind, subject, by: 'cli', data } };
}
