// A session file that another program wrote into: what is no state or id is left out, and the chat goes on.
import { expect, test } from 'vitest';
import type { Session } from '../src/core/session.ts';
import { formatFile, newHeader, parseFile } from './session-file.ts';

const AT = '2026-01-01T00:00:00.000Z';

function read(line: object): Pick<Session, 'messages'> & { readonly bad: readonly unknown[] } {
  const whole = { id: 'a', role: 'assistant', content: 'so', timestamp: AT, ...line } as Session['messages'][number];
  const parsed = parseFile(Buffer.from(formatFile(newHeader('k', 0), [whole])), 'k', 0);
  if (parsed.kind !== 'session') throw new Error(parsed.kind);
  return parsed;
}

test('a state nested beyond what can be written again is left out, its line stays', () => {
  const line = JSON.stringify({ id: 'a', role: 'assistant', content: 'so', timestamp: AT });
  const deep = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;
  const poisoned = line.replace(/}$/, `,"provider_state":{"provider":"p","model":"m","data":{"items":${deep}}}}`);
  const parsed = parseFile(Buffer.from(`${formatFile(newHeader('k', 0), [])}${poisoned}\n`), 'k', 0);
  expect(parsed).toMatchObject({ kind: 'session', messages: [JSON.parse(line)], bad: [] });
  expect(() => JSON.stringify(parsed)).not.toThrow();
});

test('ids of calls that are no list of texts are no line of a session', () => {
  const call = { id: 'c', name: 'f', arguments: '{}' };
  expect(read({ tool_calls: [{ ...call, provider_ids: ['x'] }] }).bad).toEqual([]);
  for (const provider_ids of [5, null, 'c', [null], { length: 1 }]) {
    expect(read({ tool_calls: [{ ...call, provider_ids }] })).toMatchObject({ messages: [], bad: [{}] });
  }
});
