/** The rows of one commit, in the transaction that the queue opened. */
import type { Claim, Woken, Write } from '../core/commit.ts';
import type { EraseWrite, LinkWrite } from '../core/erasure.ts';
import type { NewPart } from '../core/outbox.ts';
import type { ShutOut } from '../core/people.ts';
import type { PinWrite } from '../core/pin.ts';
import { auditAnswer, writeAudit } from './audit.ts';
import { removeBlock } from './blocks.ts';
import { changeSettings } from './chats.ts';
import type { Change } from './commit-queue.ts';
import { resumeRun } from './dead-letters.ts';
import { endClaim } from './end-claim.ts';
import { cancelRunOf } from './ended-runs.ts';
import { beginErasure } from './erase-begin.ts';
import { endForget } from './forget.ts';
import { endGrants } from './grants.ts';
import { jobStands, writeJob } from './jobs.ts';
import { writeLink } from './links.ts';
import { addParts } from './outbox.ts';
import { writePin } from './pins.ts';
import { writeProcess } from './processes.ts';
import { addOwnCall } from './prompted-runs.ts';
import { writeEvent } from './record.ts';
import { addRun } from './runs.ts';
import { addLines } from './session-lines.ts';
import { shutOut } from './shut-out.ts';
import type { Store } from './store.ts';
import { addUsage } from './usage.ts';
import { addQuestion, moveQuestion, remind, setBack, settle } from './waits.ts';

/** `false` = the claim no longer stands, a job is not as it was or one too many, and nothing was written. */
export function commitAll(store: Store, writes: readonly Write[], claim: Claim | undefined, change: Change): boolean {
  // Before anything is written: what returns false must have changed nothing.
  if (!writes.every((write) => write.kind !== 'job' || jobStands(store, write))) return false;
  if (claim) return commitClaim(store, writes, claim, change) !== undefined;
  for (const write of writes) apply(store, write, { owner: undefined, session: undefined }, change);
  return true;
}

/**
 * As `commitAll`, of writes without a job. Returns the session of the claimed run; undefined = nothing was
 * written.
 */
export function commitClaim(store: Store, writes: readonly Write[], claim: Claim, change: Change): string | undefined {
  const session = endClaim(store, claim, change);
  if (session === undefined) return undefined;
  for (const write of writes) apply(store, write, { owner: `in${claim.seq}.${claim.generation}`, session }, change);
  return session;
}

/** What is written with an admission. */
export function applyAll(store: Store, writes: readonly Write[], change: Change): void {
  for (const write of writes) applyWrite(store, write, change);
}

interface Writer {
  readonly owner: string | undefined;
  readonly session: string | undefined;
}

/** One row, inside the transaction of whatever it comes with. */
function applyWrite(store: Store, write: Write, change: Change): void {
  apply(store, write, { owner: undefined, session: undefined }, change);
  if (write.kind === 'run') change.woken.add(write.run.lane);
}

function apply(store: Store, write: Write, { owner, session }: Writer, change: Change): void {
  switch (write.kind) {
    case 'run':
    case 'cancel':
    case 'resume':
    case 'own-call':
      applyToRun(store, write, change);
      return;
    case 'part':
      addParts(store, [write.part], owner);
      return;
    case 'line': {
      const of = write.session ?? session;
      if (of === undefined) throw new Error('a line without a session, and no run that writes it');
      addLines(store, of, [write.line]);
      return;
    }
    case 'event':
      writeEvent(store, write.event);
      return;
    case 'usage':
      addUsage(store, write.entry);
      return;
    case 'end-grants':
      endGrants(store, write.session);
      return;
    case 'chat':
      changeSettings(store, write.chat, write.settings);
      return;
    case 'job':
      writeJob(store, write);
      return;
    case 'process':
      writeProcess(store, write);
      return;
    default:
      applyDecision(store, write, change);
  }
}

type Decision = Extract<Write, ShutOut | LinkWrite | EraseWrite | PinWrite | { readonly kind: 'unblock' | 'audit' }> | OfWaits;

/** What a person answers for later. */
function applyDecision(store: Store, write: Decision, change: Change): void {
  switch (write.kind) {
    case 'shut-out':
      shutOut(store, write, change);
      return;
    case 'erase':
      beginErasure(store, write, change);
      return;
    case 'unblock':
      removeBlock(store, write.who, write.by);
      return;
    case 'pin':
      writePin(store, write);
      return;
    case 'audit':
      writeAudit(store, write.entry);
      return;
    case 'link':
    case 'unlink':
    case 'link-code':
    case 'link-miss':
      writeLink(store, write);
      return;
    default:
      applyToWaits(store, write, change);
  }
}

type OfWaits = Extract<Write, { readonly kind: 'settle' | 'ask' | 'set-back' | 'remind' | 'asked-in' }>;

function applyToWaits(store: Store, write: OfWaits, change: Change): void {
  switch (write.kind) {
    case 'settle':
      // Of all ends that are written here, only those of the command line are a person's decision.
      if (!settle(store, write.settled, change)) return;
      if (write.settled.by === 'cli') auditAnswer(store, write.settled);
      endForget(store, write.settled, change);
      return;
    case 'ask':
      addQuestion(store, write);
      return;
    case 'set-back':
      setBack(store);
      return;
    case 'remind':
      remind(store, write);
      return;
    case 'asked-in':
      moveQuestion(store, write.id, write.chat);
  }
}

type RunWrite = Extract<Write, { readonly kind: 'run' | 'cancel' | 'resume' | 'own-call' }>;

function applyToRun(store: Store, write: RunWrite, change: Change): void {
  switch (write.kind) {
    case 'run':
      addRun(store, write.run, change);
      return;
    case 'cancel':
      cancelRunOf(store, write.run, change);
      return;
    case 'resume':
      resumeRun(store, write.run, change);
      return;
    case 'own-call':
      addOwnCall(store, write.call, change);
  }
}

export interface Wake {
  readonly what: Woken;
  readonly lane: string;
}

function partsOf(write: Write): readonly NewPart[] {
  if (write.kind === 'part') return [write.part];
  if (write.kind === 'remind') return write.parts;
  return write.kind === 'ask' ? write.asked.parts : [];
}

/** Whom the commit concerns, each once; beside the runs that it brought back to work. */
export function wokenBy(writes: readonly Write[], claim: Claim | undefined): readonly Wake[] {
  const waits = claim?.end?.state === 'PARKED' ? claim.end.waits : [];
  const runs = [
    ...writes.flatMap((write) => (write.kind === 'run' ? [write.run.lane] : [])),
    ...waits.flatMap((wait) => (wait.kind === 'run' ? [wait.about.lane] : [])),
  ];
  const parts = [...writes.flatMap(partsOf), ...waits.flatMap(({ asked }) => asked?.parts ?? [])];
  const jobs = writes.flatMap((write) => (write.kind === 'job' ? ['gone' in write.job ? write.job.gone : write.job.id] : []));
  const hasDate = writes.some(({ kind }) => kind === 'ask') || waits.some(({ due }) => due !== undefined);
  return [
    ...[...new Set(runs)].map((lane) => ({ what: 'run', lane }) as const),
    ...[...new Set(parts.map(({ lane }) => lane))].map((lane) => ({ what: 'part', lane }) as const),
    ...(hasDate ? [{ what: 'wait', lane: '' } as const] : []),
    ...[...new Set(jobs)].map((lane) => ({ what: 'job', lane }) as const),
  ];
}
