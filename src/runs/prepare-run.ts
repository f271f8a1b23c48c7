/**
 * What the agent of a run is asked: the message with its files fetched, or the prompt of what no message
 * began.
 */
import { errorText, isGatehouseError } from '../core/errors.ts';
import { channelOf, type RunRow } from '../core/run.ts';
import { callContext } from './ended.ts';
import { FETCH_MS, type Prepared, prepare } from './prepare.ts';
import { tellFailed } from './run-events.ts';
import type { RunnerOptions } from './runner-options.ts';
import { messageOf, promptedWords } from './task-run.ts';

export async function prepareRun(
  row: RunRow,
  workspace: string,
  options: Pick<RunnerOptions, 'transcriber' | 'channel' | 'uploads' | 'clock' | 'emit'>,
  signal: AbortSignal,
): Promise<Prepared> {
  const { transcriber, channel, uploads } = options;
  const message = messageOf(row);
  if (!message) return promptedWords(row);
  return await prepare(message, {
    channel: (limit) => channel(channelOf(row), limit),
    ...{ workspace, uploads },
    timeoutMs: FETCH_MS,
    ...(transcriber ? { transcriber: transcriber(callContext(row)) } : {}),
    signal,
    onMediaError: (media, error) => {
      const code = isGatehouseError(error) ? error.code : 'GH1505';
      tellFailed(row, { code, detail: `${media.kind}: ${errorText(error)}` }, options);
    },
  });
}
