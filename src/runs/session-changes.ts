// change of the operator -> session's mutex -> its lines moved into the file -> file
import { errorText, GatehouseError, isGatehouseError } from '../core/errors.ts';
import type { RunRow } from '../core/run.ts';
import { changeOf, type SessionChange } from '../core/session-change.ts';
import type { End } from './ended.ts';
import type { Transcripts } from './transcripts.ts';

/**
 * Does what the operator asked for and says in words what was done. Done again, it changes nothing more.
 * Rejects with GH1003 where there is no such session, GH1005 where the new one exists, and as the session
 * store does.
 */
export async function changeSession(change: SessionChange, transcripts: Transcripts): Promise<string> {
  return await transcripts.sessions.runExclusive(change.session, async () => {
    if (change.kind === 'delete') {
      await transcripts.remove(change.session);
      return 'deleted';
    }
    const { session, to, keep } = change;
    return await transcripts.sessions.runExclusive(to, async () => {
      const there = await transcripts.load(to);
      const source = new Set((await transcripts.load(session)).map(({ id }) => id));
      // An attempt before this one made it.
      if (there.length > 0 && there.every(({ id }) => source.has(id))) return copied(there.length);
      if (there.length > 0)
        throw new GatehouseError('GH1005', `there is a session ${to} already`, { hint: 'choose another name' });
      return copied(await transcripts.fork(session, to, keep));
    });
  });
}

function copied(messages: number): string {
  return `${messages} ${messages === 1 ? 'message' : 'messages'} copied`;
}

/** For `RunnerOptions.instead`: a run that is such a change. */
export async function sessionChange(row: RunRow, ready: Promise<unknown>, transcripts: Transcripts): Promise<End | undefined> {
  const change = changeOf(row);
  if (!change) return undefined;
  await ready;
  try {
    return { state: 'DONE', outcome: 'answered', text: await changeSession(change, transcripts) };
  } catch (error) {
    const code = isGatehouseError(error) ? error.code : 'GH2003';
    return { state: 'DONE', outcome: `failed:${code}`, text: errorText(error) };
  }
}
