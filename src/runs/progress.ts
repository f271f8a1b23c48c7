// sub-agents of one answer -> one line in the chat of their root, which is edited as they end
import { childFactsOf } from '../core/child.ts';
import { errorText, isGatehouseError } from '../core/errors.ts';
import { partKey, progressId, sessionOfParent, topicOf } from '../core/ids.ts';
import type { Journal } from '../core/journal.ts';
import type { Address } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import { channelOf, type RunRow } from '../core/run.ts';
import type { NewWait } from '../core/wait.ts';
import { nameInMark } from '../lib/marks.ts';
import { plainName } from '../lib/plain-name.ts';
import { homeOf } from './child-run.ts';
import type { RunnerOptions } from './runner-options.ts';
import { answerOf } from './sub-agents.ts';
import { topicHolding } from './topic-output.ts';

export type ProgressOptions = Pick<RunnerOptions, 'parts' | 'onParts' | 'edits' | 'clock' | 'emit'> & {
  readonly journal: Pick<Journal, 'waits' | 'prompted' | 'enqueue'>;
};

const LABEL_CHARS = 40;
/** Platforms put the first piece of an answer where they said that there is work. */
const BEHIND_FIRST = { ordinal: 1, count: 2 } as const;

interface Line {
  readonly run: string;
  readonly answer: string;
  readonly to: Address;
  /** Of the root; see `topicHolding`. */
  readonly topic: string | undefined;
}

interface Child {
  readonly label: string;
  readonly mark: '…' | '✓' | '✗';
}

/** For the commit that parks the run. Where the channel changes no messages, it is the only one. */
export function progressAtPark(row: RunRow, waits: readonly NewWait[] = [], options: ProgressOptions): readonly NewPart[] {
  const children = waits.flatMap((wait) => {
    const { label = '' } = (wait.kind === 'run' && wait.about.prompt.child) || {};
    return label === '' ? [] : [{ label, mark: '…', callId: wait.callId } as const];
  });
  const [first] = children;
  const to = homeOf(row);
  if (!first || !to) return [];
  return lineOf({ run: row.key, answer: answerOf(first.callId), to, topic: topicHolding(row) }, children, options);
}

/**
 * Once the end of a sub-agent is on disk. The line may stay as it was where the process ends in between: the
 * answer of the root does not depend on it. Never rejects.
 */
export async function progressAtEnd(row: RunRow, options: ProgressOptions): Promise<void> {
  try {
    await tellEnd(row, options);
  } catch (error) {
    const { clock, emit } = options;
    const code = isGatehouseError(error) ? error.code : 'GH2003';
    const about = { at: clock.now(), messageId: row.key, session: row.session, channel: channelOf(row) };
    emit({ ...about, type: 'failed', code, detail: `no progress is shown: ${errorText(error)}` });
  }
}

async function tellEnd(row: RunRow, options: ProgressOptions): Promise<void> {
  const { source } = row;
  const { label = '', chat: to } = childFactsOf(row) ?? {};
  if (source.kind !== 'run' || label === '' || !to || !options.edits(to.channel)) return;
  const { waits, prompted } = options.journal;
  const own = await waits.find(row.key);
  if (!own) return;
  const answer = answerOf(own.callId);
  const siblings = (await waits.of(own.run)).filter(({ kind, callId }) => kind === 'run' && answerOf(callId) === answer);
  const children: Child[] = [];
  for (const { about = '', isOpen, value } of siblings) {
    const label = (await prompted.of(about))?.label ?? '';
    children.push({ label, mark: isOpen ? '…' : value?.ok ? '✓' : '✗' });
  }
  const topic = to.threadId === undefined ? topicOf(sessionOfParent(row.session)) : undefined;
  const parts = lineOf({ run: source.parent, answer, to, topic }, children, options);
  if (parts.length === 0) return;
  await options.journal.enqueue(parts);
  options.onParts(parts);
}

/** The first of its lines has no end in it; each later one changes that message, and is made once. */
function lineOf({ run, answer, to, topic }: Line, children: readonly Child[], { parts }: ProgressOptions): readonly NewPart[] {
  const done = children.filter(({ mark }) => mark !== '…').length;
  const noun = children.length === 1 ? 'sub-agent' : 'sub-agents';
  const names = children.map(({ label, mark }) => `${nameInMark(label, { limit: LABEL_CHARS })} ${mark}`);
  // Shown whatever topic is active, as questions are.
  const where = topic ? `In topic “${plainName(topic)}”: ` : '';
  const text = `${where}${done} of ${children.length} ${noun} done: ${names.join(', ')}`;
  const id = progressId(run, answer);
  const [planned] = parts({ id: done === 0 ? id : `${id}/${done}`, ...to }, asPlainText(text), []);
  if (!planned) return [];
  const changes = done === 0 ? {} : { edits: partKey(id, 0), editOnly: true };
  return [{ ...planned, part: { ...planned.part, messageId: run, ...BEHIND_FIRST, ...changes } }];
}

/** Labels are what a model wrote; answers are Markdown. */
function asPlainText(text: string): string {
  return text.replace(/[\\`*_[\]<>~|#]/g, '\\$&');
}
