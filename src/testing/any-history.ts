import fc from 'fast-check';
import type { SessionMessage } from '../core/session.ts';

const time = '2026-01-01T00:00:00.000Z';
/** Few ids, so that they collide, repeat and dangle. */
const callId = fc.constantFrom('call_1', 'call_2', '0', '', 'functions.echo:0', `call_${'x'.repeat(60)}`);
const anyContent = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.nat(3_000).map((length) => 'word '.repeat(length / 5)),
  fc.nat(1_200).map((length) => '長😀'.repeat(length / 2)),
);
const toolCall = fc.record({
  id: callId,
  name: fc.constantFrom('echo', 'read_file'),
  arguments: fc.constantFrom('{}', '{"a":1}', '{"cut', '', '[]', 'null'),
});

function messageOf(content: fc.Arbitrary<string>): fc.Arbitrary<Omit<SessionMessage, 'id'>> {
  return fc.oneof(
    { weight: 1, arbitrary: fc.record({ role: fc.constant('system' as const), content, timestamp: fc.constant(time) }) },
    { weight: 3, arbitrary: fc.record({ role: fc.constant('user' as const), content, timestamp: fc.constant(time) }) },
    {
      weight: 4,
      arbitrary: fc.record(
        {
          role: fc.constant('assistant' as const),
          content,
          tool_calls: fc.array(toolCall, { maxLength: 4 }),
          timestamp: fc.constant(time),
        },
        { requiredKeys: ['role', 'content', 'timestamp'] },
      ),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        role: fc.constant('tool' as const),
        content,
        tool_call_id: callId,
        timestamp: fc.constant(time),
      }),
    },
  );
}

/** Session lines in any order a crash, a fork or an older version may have left them in. */
export const anyHistory: fc.Arbitrary<readonly SessionMessage[]> = linesOf(fc.array(messageOf(anyContent), { maxLength: 40 }));

/** As `anyHistory`, of so many lines, whose words are short but for a few. */
export function historyOf(minLength: number, maxLength: number): fc.Arbitrary<readonly SessionMessage[]> {
  const short = fc.constantFrom('', ' ', 'yes', 'two words', '長😀', 'word '.repeat(200));
  return linesOf(fc.array(messageOf(short), { minLength, maxLength, size: 'max' }));
}

function linesOf(messages: fc.Arbitrary<Omit<SessionMessage, 'id'>[]>): fc.Arbitrary<readonly SessionMessage[]> {
  return messages.map((lines) => lines.map((line, n) => ({ ...line, id: `m${n}` })));
}

/** What every provider demands; throws with the place that breaks it. */
export function expectSound(messages: readonly SessionMessage[]): void {
  const seen = new Set<string>();
  let waiting: string[] = [];
  for (const [i, item] of messages.entries()) {
    if (item.role === 'system' && i > 0) throw new Error(`message ${i}: a system message that is not the first`);
    if (item.role === 'tool') {
      if (item.tool_call_id !== waiting[0]) throw new Error(`message ${i}: a result that does not follow its call`);
      waiting = waiting.slice(1);
      continue;
    }
    if (waiting.length > 0) throw new Error(`message ${i}: calls without results before it`);
    waiting = (item.tool_calls ?? []).map(({ id }) => id);
    for (const id of waiting) {
      if (seen.has(id) || !id.startsWith('call_')) throw new Error(`message ${i}: call id ${id}`);
      seen.add(id);
    }
  }
  if (waiting.length > 0) throw new Error('calls without results at the end');
}
