import { messagesOf, wholeHistory } from '../../../sessions/read-only.ts';
import { GatehouseError } from '../../core/errors.ts';
import type { SessionInfo, SessionMessage } from '../../core/session.ts';
import { printable, printableBlock } from '../../lib/printable.ts';
import { changeSessions } from '../change-sessions.ts';
import { type Command, type CommandContext, dataDirOf } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { daysOf, findSessions, sessionNamed } from '../find-sessions.ts';
import { formatRelative } from '../format-time.ts';
import { formatTable } from '../output.ts';
import { withJournal } from '../read-journal.ts';

/** Messages that `show` prints by default, and that `fork` copies. */
const SHOWN = 20;
const COPIED = 10;
const MOST = 100_000;
/** Of a name that a person gives a new session. */
const MOST_NAME_CHARS = 300;

export interface ListOptions {
  readonly channel?: string;
  readonly newerThan?: string;
  readonly olderThan?: string;
}

/** Conversations with their titles, the newest first. */
export const sessionsList: Command<ListOptions> = async (context, { channel, newerThan, olderThan }) => {
  const { deps, out } = context;
  const sessions = await findSessions(context, {
    ...(channel === undefined ? {} : { channel }),
    ...(newerThan === undefined ? {} : { newer: daysOf(newerThan, '--newer-than') }),
    ...(olderThan === undefined ? {} : { older: daysOf(olderThan, '--older-than') }),
  });
  out.document({ sessions: sessions.map(infoDocument) });
  if (sessions.length === 0) {
    out.data('no sessions');
    return EXIT.ok;
  }
  const now = deps.clock.now();
  const rows = sessions.map(({ key, messages, updatedAt, bytes, title = '' }) =>
    [key, formatRelative(Date.parse(updatedAt), now), String(messages), sizeText(bytes), title].map(printable),
  );
  out.data(formatTable([['SESSION', 'LAST', 'MESSAGES', 'SIZE', 'TITLE'], ...rows]));
  return EXIT.ok;
};

export interface ShowOptions {
  readonly session: string;
  readonly last?: string;
  readonly all?: boolean;
}

/** Its newest messages; with `all`, everything that its archive has too. */
export const sessionsShow: Command<ShowOptions> = async (context, { session: words, last, all = false }) => {
  const { out } = context;
  const { key } = await sessionNamed(context, words);
  const count = last === undefined ? (all ? MOST : SHOWN) : numberOf(last, '--last');
  const { messages, total } = await readMessages(context, key, { all, newest: count });
  out.document({ session: key, total, messages });
  if (total > messages.length)
    out.say(`→ the newest ${messages.length} of ${total}; \`--last N\` shows more, \`--all\` the archive too`);
  for (const message of messages) out.data(messageText(message));
  return EXIT.ok;
};

export interface ForkOptions {
  readonly session: string;
  readonly to: string;
  readonly keep?: string;
}

/** A new session with the newest messages of another. */
export const sessionsFork: Command<ForkOptions> = async (context, { session: words, to, keep }) => {
  const { out } = context;
  const { key } = await sessionNamed(context, words);
  if (to.trim() === '' || to.length > MOST_NAME_CHARS || printable(to) !== to)
    throw new GatehouseError('GH1001', 'this is no name for a session', {
      hint: `name a key such as ${printable(key.split('#', 1)[0] ?? key)}#copy`,
    });
  const change = { kind: 'fork', session: key, to, keep: keep === undefined ? COPIED : numberOf(keep, '--keep') } as const;
  const [done] = await changeSessions(context, [change]);
  if (done && !done.ok) {
    out.fail({ code: 'GH1005', message: done.text, hint: 'choose a name that `gatehouse sessions list` does not show' });
    return EXIT.refused;
  }
  out.document({ session: key, to, isDone: done?.text !== undefined });
  out.data(`${out.mark('ok')} ${printable(to)}: ${done?.text ?? 'made once the turn of the session is over'}`);
  return EXIT.ok;
};

/** The newest messages and how many there are, with those that are still on their way into the file. */
export async function readMessages(
  context: CommandContext,
  key: string,
  { all, newest }: { readonly all: boolean; readonly newest: number },
): Promise<{ readonly messages: readonly SessionMessage[]; readonly total: number }> {
  const dir = dataDirOf(context);
  // Before the file: a line that is moved meanwhile is then in the one or in the other.
  const waiting = (await withJournal(context, async ({ journal }) => await journal.unflushed(MOST))) ?? [];
  const pending = waiting.filter(({ session }) => session === key).flatMap(({ lines }) => lines.map(({ line }) => line));
  const isPending = new Set(pending.map(({ id }) => id));
  let kept: SessionMessage[] = [];
  let total = 0;
  const add = (message: SessionMessage): void => {
    total += 1;
    kept.push(message);
    if (kept.length > 2 * newest) kept = kept.slice(-newest);
  };
  for await (const message of all ? wholeHistory(dir, key) : messagesOf(dir, key)) {
    isPending.delete(message.id);
    add(message);
  }
  for (const message of pending) if (isPending.has(message.id)) add(message);
  return { messages: newest === 0 ? [] : kept.slice(-newest), total };
}

/** One message as people read it. */
export function messageText({ role, content, timestamp, tool_calls: calls = [], media = [] }: SessionMessage): string {
  const head = printable(`── ${timestamp.slice(0, 16).replace('T', ' ')} ${role}`);
  const more = [
    ...media.map((path) => `[file ${path}]`),
    ...calls.map(({ name, arguments: args }) => `[calls ${name} ${args}]`),
  ].map(printable);
  return [head, ...(content === '' ? [] : [printableBlock(content)]), ...more, ''].join('\n');
}

export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

function infoDocument({ key, messages, updatedAt, bytes, title = null }: Omit<SessionInfo, 'title'> & { title?: string | null }) {
  return { session: key, title, messages, updatedAt, bytes };
}

function numberOf(text: string, option: string): number {
  const number = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (!(number >= 0 && number <= MOST))
    throw new GatehouseError('GH1001', `${option} ${JSON.stringify(text)} is not a number of messages`, {
      hint: `write a number from 0 to ${MOST}`,
    });
  return number;
}
