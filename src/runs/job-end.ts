// how the run of a job ended -> what people are told of it
import type { RunRow } from '../core/run.ts';
import type { End } from './ended.ts';
import { asTaskEnd } from './task-run.ts';

/** A model that has nothing to tell answers one of these. */
const SILENT_MARKS = ['[SILENT]', '[NO_CHANGE]', 'HEARTBEAT_OK'];
/** An empty answer, in the words of the agent. */
const EMPTY = 'failed:GH2108';

/** The end of a run as it is kept and told. Whether the failure of a job is told is decided last. */
export function endOf(row: RunRow, end: End): End {
  return asReport(row, asJob(row, asTaskEnd(row, end)));
}

/**
 * No person waits for the answer of a job: an empty one and a mark alone deliver nothing (`silent`), a mark
 * before text is taken off. A failure is told once, until the job works again. Files that were attached are
 * delivered with an answer that is empty, or withheld. Other runs end as they did.
 */
export function asJob(row: RunRow, end: End): End {
  if (row.message || row.source.kind !== 'job') return end;
  const { text: _text, choices: _choices, ...untold } = end;
  const hasFiles = (end.files ?? []).length > 0;
  // Without a text nothing is delivered, files neither.
  const filesAlone = hasFiles ? { ...untold, text: '' } : untold;
  if (end.outcome === EMPTY) return { ...filesAlone, state: 'DONE', outcome: hasFiles ? 'answered' : 'silent' };
  if (end.state === 'DEAD' || end.outcome.startsWith('failed:')) {
    if (!row.prompt.failsQuietly) return { ...end, text: asJobFailure(row, end.text ?? '') };
    return end.state === 'DEAD' ? untold : filesAlone;
  }
  if (end.outcome !== 'answered') return end;
  const { text, isMarked } = withoutMarks(end.text ?? '');
  if (text !== '') return { ...end, text };
  const { files: _files, ...silent } = untold;
  if (isMarked || !hasFiles) return { ...silent, outcome: 'silent' };
  return end;
}

/** Without a question before it, a failure must say what failed: the id is that of `gatehouse cron list`. */
function asJobFailure({ source }: RunRow, text: string): string {
  const what = source.kind === 'job' ? `The scheduled job ${source.job}` : 'A scheduled job';
  return `${what} failed.\n${text}`;
}

function withoutMarks(answer: string): { readonly text: string; readonly isMarked: boolean } {
  let text = answer.trim();
  let isMarked = false;
  for (let mark = markOf(text); mark; mark = markOf(text)) {
    text = text.slice(mark.length).trim();
    isMarked = true;
  }
  return { text, isMarked };
}

function markOf(text: string): string | undefined {
  return SILENT_MARKS.find((mark) => text.slice(0, mark.length).toUpperCase() === mark);
}

/** A run that was to tell people of a result, and could not: they get its beginning all the same. */
function asReport(row: RunRow, end: End): End {
  const excerpt = row.message ? undefined : row.prompt.tells?.excerpt;
  if (excerpt === undefined || !end.outcome.startsWith('failed:')) return end;
  return { ...end, text: [excerpt, ...(end.text === undefined ? [] : [end.text])].join('\n\n') };
}
