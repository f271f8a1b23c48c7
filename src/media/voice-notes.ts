// a fetched recording -> its transcript, kept beside it -> the lines the agent reads
import { GatehouseError } from '../core/errors.ts';
import type { Transcriber } from '../core/media-models.ts';
import { writeFileAtomic } from '../lib/atomic-file.ts';
import { inMark, mark } from '../lib/marks.ts';
import { settledOrAborted } from '../lib/time-limit.ts';
import { WorkspaceDirectory } from '../workspace/path.ts';

/** Longest transcript put before the agent (UTF-16 units), some eight minutes. Its file has the rest. */
const TRANSCRIPT_LIMIT = 8_000;
/** A file of ours is never longer: one that is was put there by another. */
const MAX_TRANSCRIPT_BYTES = 1_000_000;

export interface Recording {
  /** Folder of the workspace, and the file's name in it. */
  readonly folder: string;
  readonly name: string;
  readonly mime: string;
  readonly bytes: number;
  /** By its bytes. */
  readonly isRecording: boolean;
}

/**
 * The words of a recording. They are written beside it before they are used, so that an attempt after a
 * crash, or a second run of a dead letter, does not pay for them again. A failure of that write is told to
 * `onUnstored` only. Rejects with GH2114 for a file that is no recording, as the transcriber does, with the
 * system's error, or with `signal.reason`.
 */
export async function transcribe(
  recording: Recording,
  workspace: string,
  transcriber: Transcriber,
  options: { readonly signal: AbortSignal; readonly onUnstored: (error: unknown) => void },
): Promise<string> {
  // Not what a stranger says it is: other bytes reach no server and no program that reads sound.
  if (!recording.isRecording) throw new GatehouseError('GH2114', 'the bytes are of no recording');
  await using folder = await WorkspaceDirectory.open(workspace, [recording.folder]);
  const stored = `${recording.name}.txt`;
  const known = await readStored(folder, stored);
  if (known !== undefined) return known;
  const { mime, bytes } = recording;
  const spoken = transcriber.transcribe({ path: folder.child(recording.name), mime, bytes }, options.signal);
  // A stopped turn must not wait for a transcriber that heeds no abort: its chat would be dead.
  const text = await settledOrAborted(spoken, options.signal);
  const kept = Buffer.from(text.toWellFormed()).subarray(0, MAX_TRANSCRIPT_BYTES).toString('utf8');
  await writeFileAtomic(folder.child(stored), kept, { mode: 0o600 }).catch(options.onUnstored);
  return kept;
}

/** Undefined when there is none. Anything but a plain file of ours is replaced, not followed (A21). */
async function readStored(folder: WorkspaceDirectory, name: string): Promise<string | undefined> {
  try {
    await using file = await folder.openFile(name);
    const { size } = await file.stat();
    return size > MAX_TRANSCRIPT_BYTES ? undefined : await file.readFile('utf8');
  } catch {
    return undefined; // not there, or not readable: then it is made
  }
}

/** One marked line (spec I3): words that are spoken can neither end it nor begin another one (A30, A46). */
export function transcriptLine(text: string, path: string): string {
  const spoken = inMark(text, TRANSCRIPT_LIMIT);
  if (spoken === '') return mark('Voice transcription: (no words were understood)');
  const rest = text.length > TRANSCRIPT_LIMIT ? `\n${mark(`the whole transcription: ${path}.txt`)}` : '';
  return `${mark(`Voice transcription: ${spoken}`, Infinity)}${rest}`;
}

/** What is reported when all recordings of one message together take too long. */
export function transcriptionTimedOut(cause: unknown): GatehouseError {
  return new GatehouseError('GH2114', 'the recordings of this message took too long to transcribe', { cause });
}
