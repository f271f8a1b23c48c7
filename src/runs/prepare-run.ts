/**
 * What the agent of a run is asked: the message with its files fetched, or the prompt of what no message
 * began.
 */
import { decodeInput, type StoredInput } from '../agent/stored-steps.ts';
import { errorText, isGatehouseError } from '../core/errors.ts';
import { channelOf, type RunRow } from '../core/run.ts';
import { callContext, type End } from './ended.ts';
import { askWhatWasHeard } from './message-hooks.ts';
import { FETCH_MS, type Prepared, prepare, removeFiles } from './prepare.ts';
import { tellFailed } from './run-events.ts';
import type { RunnerOptions } from './runner-options.ts';
import { messageOf, promptedWords } from './task-run.ts';

/** Or how the run ends where a hook refuses what was spoken: nothing of that stays with the agent. */
export async function prepareRun(
  row: RunRow,
  workspace: string,
  options: Pick<RunnerOptions, 'transcriber' | 'channel' | 'uploads' | 'clock' | 'emit' | 'journal' | 'hooks'>,
  signal: AbortSignal,
): Promise<Prepared | { readonly refused: End }> {
  const { transcriber, channel, uploads } = options;
  const message = messageOf(row);
  if (!message) return promptedWords(row);
  const read = await inputOf(row, options.journal);
  if (read) return { text: read.content, media: read.media, notice: read.notice ?? '' };
  const onMediaError = (what: string, error: unknown): void => {
    const code = isGatehouseError(error) ? error.code : 'GH1505';
    tellFailed(row, { code, detail: `${what}: ${errorText(error)}` }, options);
  };
  const prepared = await prepare(message, {
    channel: (limit) => channel(channelOf(row), limit),
    ...{ workspace, uploads },
    timeoutMs: FETCH_MS,
    ...(transcriber ? { transcriber: transcriber(callContext(row)) } : {}),
    signal,
    onMediaError: (media, error) => onMediaError(media.kind, error),
  });
  const refused = await askWhatWasHeard(row, options, prepared.heard ?? new Map(), signal);
  if (!refused) return prepared;
  await removeFiles(message, workspace).catch((error) => onMediaError('a refused message', error));
  return { refused };
}

/**
 * What the model has been asked. Files are not fetched again then: that would undo what tools made of them,
 * and void each yes to a program, which covers every file of the workspace.
 */
async function inputOf({ seq, generation }: RunRow, journal: RunnerOptions['journal']): Promise<StoredInput | undefined> {
  if (generation === 1) return undefined;
  const answers = (await journal.steps(seq)).filter(({ kind }) => kind === 'model');
  return answers.map(({ value }) => decodeInput(value)).find((input) => input !== undefined);
}
