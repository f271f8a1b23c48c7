// a message that begins a run, and the answer to it -> the hooks of the operator
import type { HookFacts, Hooks } from '../core/hooks.ts';
import { channelOf, type RunRow } from '../core/run.ts';
import type { End, Ended } from './ended.ts';
import type { RunnerOptions } from './runner-options.ts';

/**
 * Asks about a message before the agent reads it, and not again once the agent has. Undefined = it may. Rejects
 * as `signal` says.
 */
export async function askMessageIn(
  row: RunRow,
  { hooks, journal }: Pick<RunnerOptions, 'hooks' | 'journal'>,
  signal: AbortSignal,
): Promise<End | undefined> {
  const { message } = row;
  if (!message || !hooks.has('message_in') || (await isRead(row, journal))) return undefined;
  const { chatId, senderId, senderName, text, media = [], isGroup } = message;
  const said = { sender_id: senderId, sender_name: senderName, chat_id: chatId, is_group: isGroup === true, text };
  const answer = await hooks.ask({ ...factsOf(row), event: 'message_in', ...said, media_count: media.length }, signal);
  if (answer.kind !== 'deny') return undefined;
  const refusal = `⚠️ A rule of the operator keeps me from answering this: ${answer.reason}`;
  return { state: 'DONE', outcome: 'refused:hook', text: refusal };
}

/** An answer of the model is on disk. A refusal now would lose what was done since, and what was approved. */
async function isRead({ seq, generation }: RunRow, journal: RunnerOptions['journal']): Promise<boolean> {
  return generation > 1 && (await journal.steps(seq)).some(({ kind }) => kind === 'model');
}

/** Tells what the chat will be told, once that is on disk. */
export function tellMessageOut(row: RunRow, { outcome, parts }: Ended, hooks: Hooks): void {
  if (parts.length === 0 || !hooks.has('message_out')) return;
  const text = parts.map(({ part }) => part.text).join('');
  const files = parts.flatMap(({ part }) => (part.file ? [part.file.name] : []));
  hooks.tell({ ...factsOf(row), event: 'message_out', outcome, text, files });
}

function factsOf(row: RunRow): Omit<HookFacts, 'event'> {
  const { key, session, authority } = row;
  return { run_id: key, session_id: session, channel: channelOf(row), principal: authority.principal };
}
