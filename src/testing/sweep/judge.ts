import type { RunRecord } from './run.ts';

export interface Verdict {
  runs: number;
  kills: number;
  messages: number;
  /** Messages handed over for the last time that no journal got: class C, and only a kill excuses it. */
  notOffered: number;
  /** Messages with missing parts that no UNKNOWN accounts for. */
  lost: number;
  /** Messages of which some part arrived more than once, or out of order. */
  twice: number;
  /** Tool calls that ran more than once. */
  toolsTwice: number;
  /** Parts the daemon declared UNKNOWN, by whether the platform has them. */
  unknownArrived: number;
  unknownMissing: number;
  unknownTools: number;
  modelRepeats: number;
  /** Model calls that were on disk and were made again. Only looked for where runs wait. */
  paidTwice: number;
  /** Runs whose last start did not bring everything to its end. */
  unfinished: number;
  /** Error notices and other texts that no question asked for. */
  notices: number;
}

export function emptyVerdict(): Verdict {
  return {
    runs: 0,
    kills: 0,
    messages: 0,
    notOffered: 0,
    lost: 0,
    twice: 0,
    toolsTwice: 0,
    unknownArrived: 0,
    unknownMissing: 0,
    unknownTools: 0,
    modelRepeats: 0,
    paidTwice: 0,
    unfinished: 0,
    notices: 0,
  };
}

/**
 * Holds one run against the undisturbed one. `expected` holds the parts of every answer, `modelCalls` the
 * calls it took. Returns what was wrong with this run in words; empty = as promised.
 */
export function judge(
  record: RunRecord,
  expected: readonly (readonly string[])[],
  modelCalls: number,
  total: Verdict,
): readonly string[] {
  const faults: string[] = [];
  const gone = neverGot(record, expected);
  let missing = 0;
  let incomplete = 0;
  for (const [index, parts] of expected.entries()) {
    if (gone.has(index)) continue;
    const got = record.answers[index] ?? [];
    const strange = got.filter((text) => !parts.includes(text));
    const known = got.filter((text) => parts.includes(text));
    total.notices += strange.length;
    if (strange.length > 0) faults.push(`question ${index}: unexpected “${strange[0]?.slice(0, 80)}”`);
    const inOrder = [...known].sort((a, b) => parts.indexOf(a) - parts.indexOf(b));
    if (new Set(known).size < known.length || inOrder.some((text, at) => text !== known[at])) {
      total.twice += 1;
      faults.push(`question ${index}: a part arrived twice or out of order (${known.length} of ${parts.length})`);
    }
    const absent = parts.filter((text) => !known.includes(text)).length;
    missing += absent;
    if (absent > 0) incomplete += 1;
  }
  // A part that is missing is excused only by an UNKNOWN of its own.
  const excused = Math.min(missing, record.unknownParts);
  if (missing > excused) {
    total.lost += Math.max(1, incomplete - excused);
    faults.push(`${missing} parts missing, ${record.unknownParts} unknown`);
  }
  if (record.paidTwice?.length) {
    total.paidTwice += record.paidTwice.length;
    faults.push(`model calls made again that were on disk: ${record.paidTwice.join(', ')}`);
  }
  if (!record.finished) {
    total.unfinished += 1;
    faults.push('the last start did not bring everything to its end');
  }
  if (record.leftRunning.length > 0) {
    total.toolsTwice += 1;
    faults.push(`${record.leftRunning.length} processes are left running: ${record.leftRunning.join('; ').slice(0, 500)}`);
  }
  for (const [argument, runs] of record.toolRuns) {
    if (runs > 1) {
      total.toolsTwice += 1;
      faults.push(`tool call ${argument} ran ${runs} times`);
    }
  }
  total.runs += 1;
  total.kills += record.killed;
  total.messages += expected.length;
  total.notOffered += gone.size;
  total.unknownMissing += excused;
  total.unknownArrived += record.unknownParts - excused;
  total.unknownTools += record.unknownTools;
  total.modelRepeats += Math.max(0, record.modelCalls - modelCalls);
  return faults;
}

/**
 * Questions that were handed over for the last time before the journal had them. Whatever it has must be
 * answered, so it bounds their number.
 */
function neverGot(record: RunRecord, expected: readonly unknown[]): ReadonlySet<number> {
  const unanswered = record.notOffered.filter((index) => (record.answers[index] ?? []).length === 0);
  return new Set(unanswered.slice(0, Math.max(0, expected.length - record.stored)));
}

/** Adds what further runs counted. */
export function add(total: Verdict, more: Verdict): void {
  for (const key of Object.keys(total) as (keyof Verdict)[]) total[key] += more[key];
}

/**
 * Whether anything was lost or done twice. A known-bad design must show so: to take too long proves nothing.
 */
export const hasLostOrRepeated = ({ lost, twice, toolsTwice, notices, paidTwice }: Verdict) =>
  lost + twice + toolsTwice + notices + paidTwice > 0;

/** Whether a sweep fails: every fault that `judge` names counts. */
export const failed = (verdict: Verdict) => hasLostOrRepeated(verdict) || verdict.unfinished > 0;
