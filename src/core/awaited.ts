import type { RunRow } from './run.ts';

/** Whether a person waits for the answer and is shown that there is work on it. */
export function isAwaited({ source, profile }: RunRow): boolean {
  return source.kind !== 'job' && profile !== 'task';
}

/** Whether it is work in the background, which leaves half of the permits to conversations. */
export function isBackground({ profile }: Pick<RunRow, 'profile'>): boolean {
  return profile === 'task' || profile === 'subagent';
}
