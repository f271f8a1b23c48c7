/** What of a server was approved, and what of it is another now. */
import type { Commits, Write } from '../../core/commit.ts';
import type { Pins } from '../../core/pin.ts';
import type { ServerTool } from './offered.ts';

/** new: never approved. changed: the server says something else of it than what was approved. */
export type Standing = 'approved' | 'new' | 'changed';

/** Digests that were approved, by the server's own name of the tool. */
export type Approved = ReadonlyMap<string, string>;

export async function approvedOf(server: string, pins: Pins): Promise<Approved> {
  const prefix = `${server}/`;
  const all = await pins.of('mcp');
  return new Map(
    all.flatMap(({ name, digest }) => (name.startsWith(prefix) ? [[name.slice(prefix.length), digest] as const] : [])),
  );
}

export function standingOf({ name, digest }: Pick<ServerTool, 'name' | 'digest'>, approved: Approved): Standing {
  const known = approved.get(name);
  if (known === undefined) return 'new';
  return known === digest ? 'approved' : 'changed';
}

/** Approves these tools as they are now; who did it is recorded in the same commit. */
export async function approve(journal: Commits, server: string, tools: readonly ServerTool[], by: string): Promise<void> {
  const pins = tools.map(
    ({ name, digest }): Write => ({ kind: 'pin', pin: { kind: 'mcp', name: `${server}/${name}`, digest, by } }),
  );
  const digests = Object.fromEntries(tools.map(({ id, digest }) => [id, digest]));
  await journal.commit([
    ...pins,
    { kind: 'audit', entry: { kind: 'mcp.approved', subject: `mcp:${server}`, by, data: digests } },
  ]);
}

/** Takes back every approval of a server. */
export async function forget(journal: Commits, server: string, approved: Approved, by: string): Promise<void> {
  const pins = [...approved.keys()].map((name): Write => ({ kind: 'pin', gone: { kind: 'mcp', name: `${server}/${name}` } }));
  const data = { tools: approved.size };
  await journal.commit([...pins, { kind: 'audit', entry: { kind: 'mcp.forgotten', subject: `mcp:${server}`, by, data } }]);
}
