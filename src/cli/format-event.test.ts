import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { RunEvent } from '../core/events.ts';
import { EventLines } from './format-event.ts';
import { Output } from './output.ts';

const at = new Date(2026, 0, 1, 4, 1, 22).getTime();
const of = (run: string) => ({ at, channel: 'telegram', messageId: `telegram/99/${run}` });

function lines(events: readonly RunEvent[], columns = 80): readonly string[] {
  const stdio = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const printed = new EventLines(new Output({ stdio, env: {}, json: false, color: 'never', nameCommands: (text) => text }));
  return events.map((event) => printed.line(event, columns));
}

test('each event is one line with a short number of its run, whole milliseconds, and a word beside each mark', () => {
  const failed = { model: 'openai/x', code: 'GH2101', kind: 'auth', detail: 'refused', ms: 3.7 };
  expect(
    lines([
      { type: 'received', ...of('7:1') },
      { type: 'finished', ...of('7:1'), outcome: 'answered', ms: 14.2 },
      { type: 'model.failed', ...of('8:1'), ...failed },
      { type: 'part.retry', ...of('8:1'), key: 'k', reason: '429', waitMs: 48_000 },
      { type: 'channel', at, channel: 'mail', state: 'down', detail: 'GH1501: refused' },
      { type: 'finished', ...of('7:1'), outcome: 'failed:GH2101', ms: 0 },
    ]),
  ).toEqual([
    '04:01:22 telegram #1 - received',
    '04:01:22 telegram #1 ✓ answered 14 ms',
    '04:01:22 telegram #2 ✗ openai/x failed: GH2101 refused',
    '04:01:22 telegram #2 ! sending again in 48 s: 429',
    '04:01:22 mail ✗ channel down: GH1501: refused',
    '04:01:22 telegram #1 ✗ failed:GH2101',
  ]);
});

test('hostile: a line is never wider than the terminal, and no control sequence is in it', () => {
  const [line = ''] = lines([{ type: 'dropped', ...of('7:1'), reason: `\u001b[2J${'x'.repeat(300)}` }], 60);
  expect(line.length).toBeLessThanOrEqual(60);
  expect(line).toMatch(/dropped: \\u001b\[2Jx+…$/);
});
