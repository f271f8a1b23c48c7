import { expect, test } from 'vitest';
import type { OutboundPart } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { LANE, message, part, SESSION } from '../testing/journal-rows.ts';
import { openJournal } from './open.ts';

const FILE = { path: '/x/a.pdf', name: 'a.pdf', mime: 'application/pdf', kind: 'document', bytes: 1 } as const;
const REMARK = '\n\n(More came)';

/** A chat outside its topic `work`, in which `count` answers come; `fiftieth` is what one of them is. */
async function held(count: number, fiftieth: Partial<OutboundPart>) {
  const dir = await tempDir();
  const opened = await openJournal({ dir: dir.path, clock: new FakeClock() });
  const { journal } = opened;
  const say = async (n: number, to: string) => {
    const answer = { kind: 'answer', lane: LANE, session: SESSION, outcome: 'topic', parts: [] } as const;
    await journal.accept([{ ...answer, message: message(n), topic: { to } }]);
  };
  await say(1, 'work');
  await say(2, '');
  const made = (key: string, more: Partial<OutboundPart>): NewPart => {
    const whole = part(key);
    return { ...whole, part: { ...whole.part, ...more } };
  };
  const topic = { name: 'work', notice: made('notice#held', { text: 'ready' }), full: REMARK };
  for (let n = 1; n <= count; n += 1)
    await journal.enqueue([{ ...made(`k${n}#0`, n === 50 ? fiftieth : { text: `n${n}` }), topic }]);
  const states = await Promise.all([51, 52].map(async (n) => (await journal.part(`k${n}#0`))?.state));
  await say(3, 'work');
  const [, ...sent] = await journal.pending(LANE, 99);
  return {
    ...{ states, shown: sent.slice(49).map(({ part: { file, text } }) => [file?.name, text]) },
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('where the fiftieth that is held is a file, a message of its own behind it says once that more came', async () => {
  await using at = await held(52, { text: '', file: FILE });
  expect(at.shown).toEqual([
    ['a.pdf', ''],
    [undefined, '(More came)'],
  ]);
  expect(at.states).toEqual(['EXPIRED', 'EXPIRED']);
});

test('a long text that gives up its end for what says that more came keeps no half of a character', async () => {
  await using at = await held(52, { text: '😀'.repeat(200) });
  const [[, text = ''] = []] = at.shown;
  expect([text.isWellFormed(), text.endsWith(`😀${REMARK}`)]).toEqual([true, true]);
});
