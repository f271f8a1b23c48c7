/**
 * What files are named by that a call of a tool leaves in a workspace, so that an erasure finds them again.
 */
import { shortHash } from './ids.ts';
import type { SessionMessage } from './session.ts';

const SEARCH_CHARS = 8;
const PICTURE_CHARS = 12;

/** `ToolContext.idempotencyKey`; also the key of the run of a sub-agent that the call began. */
export function callKey(run: string, callId: string): string {
  return `${run}#${callId}`;
}

/** The key of the run that made the call. */
export function runOfCall(call: string): string {
  return call.slice(0, call.lastIndexOf('#'));
}

/**
 * The end of the name of the file that holds an output which is too long to be shown. `call`: its `callKey`.
 */
export function outputEnding(call: string): string {
  return `-${shortHash(call)}.txt`;
}

/** The end of the name of the directory that holds the pages of a search. */
export function searchEnding(call: string): string {
  return `-${shortHash(call, SEARCH_CHARS)}`;
}

/** The name of the picture that a call of the browser took. */
export function pictureName(call: string): string {
  return `${shortHash(call, PICTURE_CHARS)}.png`;
}

/** `callKey`s of all calls that a stored line speaks of. Its id begins with the key of its run. */
export function callsOf({ id, tool_calls: calls = [], tool_call_id: result }: SessionMessage): readonly string[] {
  const called = [...calls.map((call) => call.id), ...(result === undefined ? [] : [result])];
  const runs = [...id.matchAll(/#/g)].map(({ index }) => id.slice(0, index));
  return called.flatMap((callId) => runs.map((run) => callKey(run, callId)));
}
