// what people say to a run, and the answer to it -> the hooks of the operator
import type { HookFacts, Hooks } from '../core/hooks.ts';
import { principalOf } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import { channelOf, type RunRow } from '../core/run.ts';
import type { End, Ended } from './ended.ts';
import type { Prepared } from './prepare.ts';
import type { RunnerOptions } from './runner-options.ts';

/** Of tasks that people begin by `/task`: what a program asked for is no message. */
const TASK_OF_CHAT = 'task.chat';

type Asking = Pick<RunnerOptions, 'hooks' | 'journal'>;

export type Heard = NonNullable<Prepared['heard']>;

const NOTHING: Heard = new Map();

/**
 * Asks about what is written in each message before the agent reads it, and not again once the agent has.
 * Undefined: nothing was refused. A refusal ends the run. Rejects as `signal` says.
 */
export async function askMessageIn(row: RunRow, options: Asking, signal: AbortSignal): Promise<End | undefined> {
  const said = saidIn(row, NOTHING);
  return await ask(row, options, { asked: said, of: said.length }, signal);
}

/** The same once more about each message in whose recordings words were heard, with these words. */
export async function askWhatWasHeard(row: RunRow, options: Asking, heard: Heard, signal: AbortSignal): Promise<End | undefined> {
  const written = saidIn(row, NOTHING);
  const asked = saidIn(row, heard).filter((one, nth) => one['text'] !== written[nth]?.['text']);
  return await ask(row, options, { asked, of: written.length }, signal);
}

/** `of`: messages that are answered together, of which some are asked about. */
async function ask(
  row: RunRow,
  { hooks, journal }: Asking,
  { asked, of }: { readonly asked: readonly Said[]; readonly of: number },
  signal: AbortSignal,
): Promise<End | undefined> {
  if (!hooks.has('message_in')) return undefined;
  if (asked.length === 0 || (await isRead(row, journal))) return undefined;
  const what = of === 1 ? 'this' : `these ${of} messages together`;
  for (const one of asked) {
    const answer = await hooks.ask({ ...factsOf(row), event: 'message_in', ...one }, signal);
    if (answer.kind !== 'deny') continue;
    const refusal = `⚠️ A rule of the operator keeps me from answering ${what}: ${answer.reason}`;
    return { state: 'DONE', outcome: 'refused:hook', text: refusal };
  }
  return undefined;
}

type Said = Omit<HookFacts, 'event'>;

/**
 * The message that began the run with those that are answered with it, or what a task of the chat was asked.
 */
function saidIn(row: RunRow, heard: Heard): readonly Said[] {
  if (row.message) {
    // Each by who wrote it: what was joined to a message that was taken back is another person's.
    return [row.message, ...(row.message.queued ?? [])].map((one) => ({ ...saidBy(one, heard), principal: principalOf(one) }));
  }
  const { source, prompt, replyTo, authority } = row;
  if (source.kind !== 'api' || source.client !== TASK_OF_CHAT) return [];
  if (prompt.from) return [saidBy(prompt.from, heard)];
  const sender = authority.principal.slice(authority.principal.indexOf(':') + 1);
  const place = { chat_id: replyTo?.chatId, is_group: replyTo?.isGroup === true };
  return [{ sender_id: sender, ...place, text: prompt.text, media_count: 0 }];
}

function saidBy({ chatId, senderId, senderName, text: written, media, isGroup }: InboundMessage, heard: Heard): Said {
  const text = [written, ...media.map((ref) => heard.get(ref) ?? '')].filter((words) => words !== '').join('\n');
  const who = { sender_id: senderId, sender_name: senderName, chat_id: chatId, is_group: isGroup };
  return { ...who, text, media_count: media.length };
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

function factsOf(row: RunRow): Said {
  const { key, session, authority } = row;
  return { run_id: key, session_id: session, channel: channelOf(row), principal: authority.principal };
}
