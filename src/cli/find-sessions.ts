/** Sessions as the operator names them. */
import { listSessions, titleFrom } from '../../sessions/list-sessions.ts';
import { GatehouseError } from '../core/errors.ts';
import type { SessionInfo } from '../core/session.ts';
import { type CommandContext, dataDirOf } from './context.ts';
import { isoTime } from './format-time.ts';
import { withJournal } from './read-journal.ts';

const DAY_MS = 86_400_000;
/** Keys that an error names. */
const MOST_NAMED = 5;
const MOST_LINES = 100_000;

export interface SessionFilter {
  readonly channel?: string;
  /** Of how many days ago or less the newest message is; `older`: or more. Days. */
  readonly newer?: number;
  readonly older?: number;
}

/** The newest first. */
export async function findSessions(
  context: CommandContext,
  { channel, newer, older }: SessionFilter,
): Promise<readonly SessionInfo[]> {
  const now = context.deps.clock.now();
  const sessions = await allSessions(context);
  return sessions.filter(({ key, updatedAt }) => {
    const days = (now - Date.parse(updatedAt)) / DAY_MS;
    return (channel === undefined || channelOfSession(key) === channel) && days <= (newer ?? days) && days >= (older ?? days);
  });
}

/**
 * The session of this key, or the only one whose key ends with this id of a chat, or the only one whose key
 * contains these words: topics and sub-agents do not hide the chat that they belong to. Rejects with GH1003
 * where there is none, or more than one.
 */
export async function sessionNamed(context: CommandContext, words: string): Promise<SessionInfo> {
  const sessions = await allSessions(context);
  const chats = sessions.filter(({ key }) => key.endsWith(`:${words}`) && !key.includes('#'));
  const exact = sessions.find(({ key }) => key === words) ?? (chats.length === 1 ? chats[0] : undefined);
  const fitting = exact ? [exact] : sessions.filter(({ key }) => key.includes(words));
  const [found, ...others] = fitting;
  if (!found || words === '')
    throw new GatehouseError('GH1003', `no session ${words}`, { hint: 'see `gatehouse sessions list`' });
  if (others.length === 0) return found;
  const named = fitting.slice(0, MOST_NAMED).map(({ key }) => key);
  throw new GatehouseError(
    'GH1003',
    `“${words}” fits ${fitting.length} sessions: ${named.join(', ')}${others.length < MOST_NAMED ? '' : ', …'}`,
    {
      hint: 'name the whole key',
    },
  );
}

/** Those in files, and those whose first lines are still on their way from the journal. */
async function allSessions(context: CommandContext): Promise<readonly SessionInfo[]> {
  // Before the files: what is moved meanwhile is then in the one or in the other.
  const unflushed = (await withJournal(context, async ({ journal }) => await journal.unflushed(MOST_LINES))) ?? [];
  const sessions = await listSessions(dataDirOf(context));
  const known = new Set(sessions.map(({ key }) => key));
  const begun = unflushed
    .filter(({ session }) => !known.has(session))
    .map(({ session, lines }): SessionInfo => {
      const title = titleFrom(lines.find(({ line }) => line.role === 'user')?.line.content ?? '');
      const updatedAt = lines.at(-1)?.line.timestamp ?? isoTime(context.deps.clock.now());
      return { key: session, messages: lines.length, updatedAt, bytes: 0, ...(title === '' ? {} : { title }) };
    });
  return [...begun, ...sessions].toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : a.updatedAt > b.updatedAt ? -1 : 0));
}

/** A number of days such as `30d` or `30`. Throws GH1001 for anything else. */
export function daysOf(text: string, option: string): number {
  const days = /^(\d{1,5})d?$/.exec(text)?.[1];
  if (days === undefined)
    throw new GatehouseError('GH1001', `${option} ${JSON.stringify(text)} is not a number of days`, {
      hint: 'write it like 30d',
    });
  return Number(days);
}

/** Of `_main:channel:chat`, or of `_main:channel/account:chat`. */
function channelOfSession(key: string): string {
  const [name = ''] = (key.split(':')[1] ?? '').split('/');
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // no key of this version
  }
}
