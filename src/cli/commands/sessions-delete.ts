import { bytesOf } from '../../../sessions/read-only.ts';
import type { SessionInfo } from '../../core/session.ts';
import type { Unfinished, Waits } from '../../core/wait.ts';
import { counted } from '../../lib/counted.ts';
import { printable } from '../../lib/printable.ts';
import { type Changed, changeSessions } from '../change-sessions.ts';
import { type Command, type CommandContext, dataDirOf } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { daysOf, findSessions, sessionNamed } from '../find-sessions.ts';
import { confirmed } from '../questions.ts';
import { withJournal } from '../read-journal.ts';
import { sizeText } from './sessions.ts';

const NOTHING: Unfinished = { NEW: 0, RUNNING: 0, PARKED: 0 };

export interface DeleteOptions {
  readonly session: string;
  readonly yes?: boolean;
}

/** Removes one with its archive. What waits in it goes on, and begins it anew. */
export const sessionsDelete: Command<DeleteOptions> = async (context, { session: words, yes = false }) => {
  const { out } = context;
  const info = await sessionNamed(context, words);
  const waits = (await withJournal(context, ({ journal }) => journal.waits.unfinished(info.key))) ?? NOTHING;
  out.say(`${printable(info.key)}: ${contentText(context, [info])}`);
  for (const line of waitingText(waits)) out.say(`${out.mark('warn', 'stderr')} ${line}`);
  if (!(yes || (await confirmed(context, 'delete it with its archive?')))) return EXIT.failed;
  const [done] = await changeSessions(context, [{ kind: 'delete', session: info.key }]);
  return tell(context, [info], done ? [done] : [], { waiting: waits });
};

export interface PruneOptions {
  readonly olderThan: string;
  readonly channel?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** Removes those in which nothing was said for so many days, and in which nothing waits. */
export const sessionsPrune: Command<PruneOptions> = async (context, { olderThan, channel, dryRun = false, yes = false }) => {
  const { out } = context;
  const older = daysOf(olderThan, '--older-than');
  const found = await findSessions(context, { older, ...(channel === undefined ? {} : { channel }) });
  const waiting = (await withJournal(context, ({ journal }) => unfinishedIn(found, journal.waits))) ?? new Set();
  const sessions = found.filter(({ key }) => !waiting.has(key));
  if (waiting.size > 0)
    out.say(`${out.mark('warn', 'stderr')} ${counted(waiting.size, 'session')} stay: something waits in them`);
  for (const { key, updatedAt, title = '' } of sessions) out.data(printable(`${key}  ${updatedAt.slice(0, 10)}  ${title}`));
  if (dryRun || sessions.length === 0) {
    out.document({ sessions: sessions.map(({ key }) => key), dryRun });
    out.say(
      sessions.length === 0
        ? 'nothing to delete'
        : `→ ${counted(sessions.length, 'session')} would be deleted: ${contentText(context, sessions)}`,
    );
    return EXIT.ok;
  }
  if (!(yes || (await confirmed(context, `delete ${counted(sessions.length, 'session')} (${contentText(context, sessions)})?`))))
    return EXIT.failed;
  const done = await changeSessions(
    context,
    sessions.map(({ key }) => ({ kind: 'delete', session: key }) as const),
  );
  return tell(context, sessions, done, { dryRun });
};

function tell(
  { out }: CommandContext,
  sessions: readonly SessionInfo[],
  done: readonly Changed[],
  more: Readonly<Record<string, unknown>>,
): number {
  const states = sessions.map(({ key }, n) => ({ key, ...(done[n] ?? { ok: true as const }) }));
  const failed = states.filter(({ ok }) => !ok);
  for (const { key, ok, text } of states)
    if (ok) out.data(`${out.mark('ok')} ${printable(key)} ${text === undefined ? 'is deleted once its turn is over' : text}`);
  const deleted = states.filter(({ ok }) => ok).map(({ key }) => key);
  if (failed.length === 0) {
    out.document({ sessions: deleted, ...more });
    return EXIT.ok;
  }
  const message = failed.map(({ key, text = '' }) => `${key}: ${text}`).join('; ');
  out.fail(
    { code: 'GH1401', message, hint: 'nothing of these was removed; see `gatehouse logs --level warn`' },
    { sessions: deleted },
  );
  return EXIT.failed;
}

async function unfinishedIn(sessions: readonly SessionInfo[], waits: Pick<Waits, 'unfinished'>): Promise<ReadonlySet<string>> {
  const busy = new Set<string>();
  for (const { key } of sessions) {
    const { NEW, RUNNING, PARKED } = await waits.unfinished(key);
    if (NEW + RUNNING + PARKED > 0) busy.add(key);
  }
  return busy;
}

function waitingText({ NEW, RUNNING, PARKED }: Unfinished): readonly string[] {
  const lines = [
    ...(RUNNING > 0 ? ['an answer is being worked on: the session is deleted once it is given'] : []),
    ...(NEW > 0
      ? [`${NEW} ${NEW === 1 ? 'message waits' : 'messages wait'} for an answer, and will begin the session anew`]
      : []),
    ...(PARKED > 0
      ? [`${PARKED} ${PARKED === 1 ? 'request waits' : 'requests wait'} for an answer, and will go on without this history`]
      : []),
  ];
  return lines;
}

function contentText(context: CommandContext, sessions: readonly SessionInfo[]): string {
  const dir = dataDirOf(context);
  const messages = sessions.reduce((sum, info) => sum + info.messages, 0);
  const bytes = sessions.reduce((sum, { key }) => sum + bytesOf(dir, key), 0);
  return `${counted(messages, 'message')}, ${sizeText(bytes)} with archives; files in workspaces stay`;
}
