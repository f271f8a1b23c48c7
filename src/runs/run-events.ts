/** Events of a run that its runner tells of, beside its beginning and its end. */
import { guardText } from '../agent/guard.ts';
import { channelOf, type RunRow } from '../core/run.ts';
import type { RunnerOptions } from './runner-options.ts';

type Options = Pick<RunnerOptions, 'clock' | 'emit'>;

export function tellFailed(
  row: RunRow,
  failure: { readonly code: string; readonly detail: string },
  { clock, emit }: Options,
): void {
  const { key: messageId, session } = row;
  emit({ type: 'failed', at: clock.now(), messageId, session, channel: channelOf(row), ...failure });
}

/** What is asked for stays as it is (spec G5): it is only told that it speaks as an operator would. */
export function watchInput(row: RunRow, text: string, { clock, emit }: Options): void {
  const { labels } = guardText(text);
  if (labels.length === 0) return;
  const { key: messageId, session } = row;
  emit({ type: 'guard.found', at: clock.now(), messageId, session, channel: channelOf(row), from: 'input', labels });
}
