// Messages and edits of one sender over their share; the journal's sums are as the test says.
import { expect, test } from 'vitest';
import type { Admission } from '../core/run.ts';
import { FakeClock, inbound } from '../testing/fakes.ts';
import { admit } from '../testing/journal-rows.ts';
import { Floods } from './floods.ts';

test('a sender who was told in a batch that could not be committed is told again, also by an edit', () => {
  const journal = { room: () => 100, load: () => ({ messages: 20, bytes: 0 }) };
  const floods = new Floods({ journal, highWater: 100, clock: new FakeClock(), answer: () => [] });
  const edit = admit(inbound({ kind: 'edit', targetId: 'old' }));
  const ownRow = (judged: Admission) => (judged.kind === 'admit' ? judged.ifOwnRow?.().kind : undefined);
  const [first, second] = [floods.judge(edit), floods.judge(edit)];
  // Only the journal knows which of them change what waits: the first that does not is told.
  expect([ownRow(second), ownRow(first)]).toEqual(['answer', 'refuse']);
  floods.entered([first, second], false);
  expect([ownRow(floods.judge(edit)), floods.judge(admit(inbound())).kind]).toEqual(['answer', 'refuse']);
});
