import { describe, expect, test } from 'vitest';
import type { SendClass } from '../core/channel.ts';
import { draftKey, laneKey, partKey } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import { cpuMs } from '../testing/cpu-time.ts';
import { answered, busy, setup as deliverySetup, HOUR, refused, restart, runOf } from '../testing/delivery-setup.ts';
import { FakeClock, inbound, outbound } from '../testing/fakes.ts';
import { ScriptedChannel } from '../testing/scripted-channel.ts';
import type { AnswerPlace } from './answer-place.ts';

const MESSAGE = inbound();
const DRAFT = draftKey(MESSAGE.id);

function setup(options: { sendClass?: SendClass; limits?: ConstructorParameters<typeof ScriptedChannel>[1] } = {}) {
  const clock = new FakeClock();
  const channel = new ScriptedChannel(clock, {
    edits: true,
    ...(options.sendClass && { sendClass: options.sendClass }),
    ...options.limits,
  });
  return deliverySetup({ clock, channel });
}

type Rig = ReturnType<typeof setup>;

async function begin({ delivery }: Rig, message: InboundMessage = MESSAGE, isResumed = false): Promise<AnswerPlace> {
  const place = delivery.answer(runOf(message, isResumed ? 2 : 1));
  await place.open();
  return place;
}

const text = (draft: AnswerPlace, more: string) => draft.observe({ type: 'model.text', at: 0, text: more });
const nextCall = (draft: AnswerPlace) => draft.observe({ type: 'model.started', at: 0, model: 'm', iteration: 2 });

/** The model writes a word every 100 ms for that long. */
async function write(rig: Rig, draft: AnswerPlace, ms: number, from = 0): Promise<void> {
  for (let n = from; n < from + ms / 100; n += 1) {
    text(draft, `w${n} `);
    await rig.clock.advance(100);
  }
}

/** The parts of the turn's answer. */
function answer(texts: readonly string[], message: InboundMessage = MESSAGE): NewPart[] {
  return texts.map((words, ordinal) => {
    const part = outbound({ ...place(message), messageId: message.id, text: words, ordinal, count: texts.length });
    return { part: { ...part, key: partKey(message.id, ordinal) }, lane: laneKey(part), expiresAt: Date.UTC(2026, 0, 2) };
  });
}

function place({ channel, account, chatId, threadId, isGroup, replyContext }: InboundMessage) {
  const thread = threadId === undefined ? {} : { threadId };
  return { channel, account, chatId, ...thread, ...(isGroup && { isGroup }), ...(replyContext && { replyContext }) };
}

/** Commits these parts as the answer. */
async function post(rig: Rig, draft: AnswerPlace, parts: readonly NewPart[]): Promise<void> {
  await rig.post((await draft.of(answered(parts))).parts);
}

async function finish(rig: Rig, draft: AnswerPlace, ...texts: string[]): Promise<void> {
  draft.end();
  await post(rig, draft, answer(texts));
}

const screen = ({ channel }: Rig) => channel.shown.map((one) => one.text);

describe('a draft', () => {
  test('is not begun for an answer that is complete within a second', async () => {
    const rig = setup();
    const draft = await begin(rig);
    await write(rig, draft, 900);
    await finish(rig, draft, 'whole');
    await rig.clock.advance(HOUR);
    expect([screen(rig), rig.channel.edits, rig.states()]).toEqual([['whole'], [], ['SENT']]);
    expect(rig.journal.row(partKey(MESSAGE.id, 0))?.part).not.toHaveProperty('edits');
  });

  test('is on disk before it is sent, grows by edits at most once a second, and becomes the answer', async () => {
    const rig = setup();
    const draft = await begin(rig);
    const start = rig.clock.monotonic();
    await write(rig, draft, 4_500);
    expect(rig.channel.calls.map((call) => [call.key, call.at - start])).toEqual([[DRAFT, 1_000]]);
    expect(rig.channel.edits.map((edit) => edit.at - start)).toEqual([2_000, 3_000, 4_000]);
    expect(rig.channel.calls[0]?.text).toBe('w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 …');
    expect(screen(rig)[0]).toMatch(/^w0 .*w39 …$/);
    await finish(rig, draft, 'whole');
    await rig.clock.advance(HOUR);
    expect([screen(rig), rig.channel.edits.length, rig.states()]).toEqual([['whole'], 4, ['SENT', 'SENT']]);
    expect(rig.types()).toEqual(['part.sent', 'part.sent']);
  });

  test('does not edit while there is nothing new, and shows no reasoning', async () => {
    const rig = setup();
    const draft = await begin(rig);
    await write(rig, draft, 1_200);
    await rig.clock.advance(10_000);
    expect(rig.channel.edits.map((edit) => edit.text)).toEqual([expect.stringMatching(/w11 …$/)]);
  });

  test('what was said before a tool ran stays until the next text begins, which takes its place', async () => {
    const rig = setup();
    const draft = await begin(rig);
    text(draft, 'Let me look.');
    await rig.clock.advance(1_500);
    expect(screen(rig)).toEqual(['Let me look. …']);
    nextCall(draft);
    await rig.clock.advance(5_000);
    expect(screen(rig)).toEqual(['Let me look. …']);
    text(draft, 'It is');
    await rig.clock.advance(1_000);
    expect(screen(rig)).toEqual(['It is …']);
    draft.observe({ type: 'model.restart', at: 0, reason: 'other model' });
    text(draft, 'Now it');
    await rig.clock.advance(1_000);
    expect(screen(rig)).toEqual(['Now it …']);
    draft.end();
  });

  test('a fence that is still open is closed in what is shown', async () => {
    const rig = setup();
    const draft = await begin(rig);
    text(draft, 'See:\n```ts\nconst a = 1;');
    await rig.clock.advance(1_000);
    expect(screen(rig)).toEqual(['See:\n```ts\nconst a = 1;\n```\n…']);
    draft.end();
  });

  test('shows the first piece of a long answer, within the limit; the answer edits that piece and sends the rest', async () => {
    const rig = setup({ limits: { limits: { text: 20 } } });
    const draft = await begin(rig);
    await write(rig, draft, 3_000);
    expect(screen(rig)).toEqual(['w0 w1 w2 w3 w4 w5 …']);
    expect(rig.channel.edits).toEqual([]);
    await finish(rig, draft, 'first', 'second', 'third');
    await rig.clock.advance(HOUR);
    expect([screen(rig), rig.channel.edits.length]).toEqual([['first', 'second', 'third'], 1]);
  });

  test('keeps of a million words what it can show', async () => {
    const rig = setup();
    const draft = await begin(rig);
    const started = cpuMs();
    for (let n = 0; n < 1_000_000; n += 1) text(draft, 'word ');
    await rig.clock.advance(5_000);
    expect(screen(rig)[0]?.length).toBeLessThanOrEqual(4_000);
    expect(cpuMs() - started).toBeLessThan(5_000);
    draft.end();
  });

  test('without text there is none, and without edits on the platform neither', async () => {
    const rig = setup();
    const draft = await begin(rig);
    text(draft, '  \n');
    await rig.clock.advance(5_000);
    await finish(rig, draft, 'whole');
    await rig.clock.advance(0);
    expect(rig.journal.rows.size).toBe(1);
    const unchangeable = deliverySetup();
    await write(unchangeable, await begin(unchangeable), 5_000);
    expect(unchangeable.journal.rows.size).toBe(0);
  });

  test('is fed by the events of its own run alone, and by none after its end', async () => {
    const rig = setup();
    const draft = await begin(rig);
    const say = (messageId: string, words: string) => rig.delivery.observe({ type: 'model.text', at: 0, messageId, text: words });
    say('test/bot/other', 'not mine');
    await rig.clock.advance(3_000);
    expect(rig.journal.rows.size).toBe(0);
    say(MESSAGE.id, 'mine');
    await rig.clock.advance(2_000);
    expect(screen(rig)).toEqual(['mine …']);
    draft.end();
    say(MESSAGE.id, ' and more');
    await rig.clock.advance(3_000);
    expect(screen(rig)).toEqual(['mine …']);
  });

  test('two threads of one chat share its pace', async () => {
    const rig = setup();
    const other = inbound({ platformId: 'm-2', threadId: 't' });
    const drafts = [await begin(rig), await begin(rig, other)];
    for (let n = 0; n < 60; n += 1) {
      for (const draft of drafts) text(draft, `w${n} `);
      await rig.clock.advance(100);
    }
    const times = [...rig.channel.calls, ...rig.channel.edits].map(({ at }) => at).sort((a, b) => a - b);
    expect(times.slice(1).every((at, n) => at - (times[n] ?? 0) >= 1_000)).toBe(true);
    expect(new Set(rig.channel.edits.map(({ key }) => key)).size).toBe(2);
    for (const draft of drafts) draft.end();
  });

  test('in a group it keeps to the rate of groups', async () => {
    const rig = setup({ limits: { limits: { rate: { perGroup: { burst: 4, perSecond: 0.25 } } } } });
    const draft = await begin(rig, inbound({ isGroup: true }));
    const start = rig.clock.monotonic();
    await write(rig, draft, 10_000);
    expect(rig.channel.edits.map(({ at }) => at - start)).toEqual([5_000, 9_000]);
    draft.end();
  });
});

test('where a message can be changed twenty times, a long answer grows ever more slowly, and keeps half of them', async () => {
  const rig = setup({ limits: { limits: { edits: 20 } } });
  const draft = await begin(rig);
  const start = rig.clock.monotonic();
  await write(rig, draft, 180_000);
  const times = rig.channel.edits.map(({ at }) => Math.round((at - start) / 1_000));
  expect(times).toEqual([2, 3, 5, 7, 10, 15, 23, 34, 51]);
  await finish(rig, draft, 'whole');
  await rig.clock.advance(0);
  expect(screen(rig)).toEqual(['whole']);
});

test('an answer grows to its end where its first message turned out to take any number of changes', async () => {
  const rig = setup({ limits: { limits: { edits: 20 } } });
  const { edits: _, ...unlimited } = rig.channel.limits;
  rig.channel.script = () => {
    Object.assign(rig.channel, { limits: unlimited });
    return undefined;
  };
  const draft = await begin(rig);
  const start = rig.clock.monotonic();
  await write(rig, draft, 60_000);
  const times = rig.channel.edits.map(({ at }) => Math.round((at - start) / 1_000));
  expect(times).toEqual(Array.from({ length: times.length }, (_, n) => n + 2));
  expect(times.length).toBeGreaterThan(50);
  await finish(rig, draft, 'whole');
  await rig.clock.advance(0);
  expect(screen(rig)).toEqual(['whole']);
});

test('a message that takes twenty changes is not changed more often because a later one of the channel takes any number', async () => {
  const rig = setup({ limits: { limits: { edits: 20 } } });
  const { edits: _, ...unlimited } = rig.channel.limits;
  const draft = await begin(rig);
  await write(rig, draft, 3_000);
  Object.assign(rig.channel, { limits: unlimited });
  await write(rig, draft, 180_000, 30);
  expect(rig.channel.edits).toHaveLength(9);
  await finish(rig, draft, 'whole');
  await rig.clock.advance(0);
  expect(screen(rig)).toEqual(['whole']);
});

describe('the budget of a chat', () => {
  test('F35 drafts and answers of a group keep to its rate together, and the answer does not wait for its drafts', async () => {
    const rate = { perChat: { burst: 3, perSecond: 1 }, perGroup: { burst: 4, perSecond: 16 / 60 } };
    const rig = setup({ limits: { limits: { rate } } });
    const message = inbound({ isGroup: true });
    const draft = await begin(rig, message);
    await write(rig, draft, 60_000);
    const ended = rig.clock.monotonic();
    draft.end();
    const texts = Array.from({ length: 10 }, (_, n) => `text ${n}`);
    await post(rig, draft, answer(texts, message));
    await rig.clock.advance(120_000);
    const parts = [...rig.channel.edits, ...rig.channel.calls].map(({ at }) => at).sort((a, b) => a - b);
    expect(rig.channel.edits.find(({ at, text: shown }) => at === ended && shown === 'text 0')).toBeDefined();
    const inOneMinute = parts.map((from) => parts.filter((at) => at >= from && at < from + 60_000).length);
    expect(Math.max(...inOneMinute)).toBeLessThanOrEqual(20);
    expect(screen(rig)).toEqual(texts);
  });

  test('F35 is left to answers: with half of it spent nothing is shown, and each edit takes from it', async () => {
    const rig = setup({ limits: { limits: { rate: { perChat: { burst: 4, perSecond: 0.1 } } } } });
    const draft = await begin(rig);
    await write(rig, draft, 9_500);
    // 4 tokens: the draft, two edits, and then half is gone.
    expect([rig.channel.calls.length, rig.channel.edits.length]).toEqual([1, 2]);
    await finish(rig, draft, 'whole');
    await rig.clock.advance(0);
    expect(screen(rig)).toEqual(['whole']);
  });

  test('F35 a 429 on an edit silences the chat for as long as it says, the answer too', async () => {
    const rig = setup();
    rig.channel.editScript = (_part, call) => (call === 0 ? busy(5_000) : undefined);
    const draft = await begin(rig);
    const start = rig.clock.monotonic();
    await write(rig, draft, 3_000);
    await finish(rig, draft, 'whole');
    await rig.clock.advance(10_000);
    expect(rig.channel.edits.map(({ at }) => at - start)).toEqual([2_000, 7_000]);
    expect(screen(rig)).toEqual(['whole']);
  });
});

describe('the last text of a draft', () => {
  test('F36 markup that is refused is shown as plain text, while it grows and at the end', async () => {
    const rig = setup();
    rig.channel.editScript = (_part, call) => (call === 0 || call === 2 ? refused('markup') : undefined);
    const draft = await begin(rig);
    await write(rig, draft, 3_500);
    await finish(rig, draft, 'whole');
    await rig.clock.advance(0);
    expect(rig.channel.edits.map(({ plain }) => plain)).toEqual([false, true, false, true]);
    expect(screen(rig)).toEqual(['whole']);
  });

  test('F36 a message that somebody deleted: no further edits, and the answer is a message of its own', async () => {
    const rig = setup();
    rig.channel.editScript = () => refused('invalid');
    const draft = await begin(rig);
    await write(rig, draft, 5_000);
    expect(rig.channel.edits).toHaveLength(1);
    await finish(rig, draft, 'whole', 'rest');
    await rig.clock.advance(0);
    expect(rig.channel.calls.map(({ text: words }) => words)).toEqual([expect.stringMatching(/…$/), 'whole', 'rest']);
    expect(rig.states()).toEqual(['SENT', 'SENT', 'SENT']);
  });

  test('waits for the edit under way, so that no half answer overtakes it', async () => {
    const rig = setup();
    rig.channel.editScript = (_part, call) => (call === 0 ? 'accept-then-hang' : undefined);
    const draft = await begin(rig);
    await write(rig, draft, 2_500);
    await finish(rig, draft, 'whole');
    await rig.clock.advance(5_000);
    expect(rig.channel.edits).toHaveLength(1);
    await rig.clock.advance(10_000);
    expect(rig.channel.edits.map(({ text: words }) => words)).toEqual([expect.stringMatching(/…$/), 'whole']);
  });

  test.each<SendClass>(['idem', 'find', 'blind'])(
    'F37 in doubt on class %s it is given again, and stands once',
    async (sendClass) => {
      const rig = setup({ sendClass });
      const draft = await begin(rig);
      await write(rig, draft, 1_500);
      rig.channel.editScript = (_part, call) => (call < 2 ? 'accept-then-hang' : undefined);
      await finish(rig, draft, 'whole', 'rest');
      await rig.clock.advance(HOUR);
      expect([screen(rig), rig.channel.edits.length, rig.channel.finds]).toEqual([['whole', 'rest'], 3, 0]);
      expect(rig.states()).toEqual(['SENT', 'SENT', 'SENT']);
    },
  );

  test('a draft that was not sent yet when the turn ended is not sent any more', async () => {
    const rig = setup();
    rig.channel.script = (part, call) => (call === 0 && part.key === DRAFT ? busy(5_000) : undefined);
    const draft = await begin(rig);
    await write(rig, draft, 2_000);
    await finish(rig, draft, 'whole');
    await rig.clock.advance(HOUR);
    expect([screen(rig), rig.states()]).toEqual([['whole'], ['EXPIRED', 'SENT']]);
    expect(rig.types()).toEqual(['part.retry', 'part.retry', 'part.sent']);
  });

  test('nor does the answer wait for the time at which the draft would have been tried again', async () => {
    const rig = setup();
    rig.channel.script = (part) => (part.key === DRAFT ? busy(60_000, 'part') : undefined);
    const draft = await begin(rig);
    await write(rig, draft, 2_000);
    const ended = rig.clock.monotonic();
    await finish(rig, draft, 'whole');
    await rig.clock.advance(HOUR);
    expect(rig.channel.calls.map((call) => [call.key, call.at - ended])).toEqual([
      [DRAFT, -1_000],
      [partKey(MESSAGE.id, 0), 0],
    ]);
  });

  test.each(['invalid', 'too-long'] as const)(
    'a draft that is refused (%s) is no dead letter and no notice; the answer is sent',
    async (reason) => {
      const rig = setup();
      rig.channel.script = (part) => (part.key === DRAFT ? refused(reason) : undefined);
      const draft = await begin(rig);
      await write(rig, draft, 3_000);
      await finish(rig, draft, 'whole');
      await rig.clock.advance(HOUR);
      expect([screen(rig), rig.states()]).toEqual([['whole'], ['EXPIRED', 'SENT']]);
    },
  );

  test('a file takes no message: the draft keeps its text, without the mark that more is to come', async () => {
    const rig = setup();
    const draft = await begin(rig);
    await write(rig, draft, 1_500);
    draft.end();
    const file = { path: '/nonexistent/a', name: 'a.pdf', mime: 'application/pdf', kind: 'document', bytes: 1 } as const;
    const [only] = answer(['']);
    if (!only) throw new Error('no part');
    await post(rig, draft, [{ ...only, part: { ...only.part, file } }]);
    await rig.clock.advance(0);
    expect(screen(rig)).toEqual([expect.stringMatching(/^w0 .*w14$/), '']);
  });

  test('of a stopped turn is what was written and a mark; a draft that cannot be edited any more gets none', async () => {
    const rig = setup();
    const draft = await begin(rig);
    await write(rig, draft, 1_500);
    draft.end();
    await draft.abandon();
    await rig.clock.advance(0);
    expect(screen(rig)).toEqual([expect.stringMatching(/^w0 .*w14\n\n🛑 Stopped here\.$/)]);
    const gone = setup();
    const lost = await begin(gone);
    await write(gone, lost, 1_500);
    gone.channel.editScript = () => refused('invalid');
    lost.end();
    await lost.abandon();
    await gone.clock.advance(HOUR);
    expect([screen(gone).length, gone.states()]).toEqual([1, ['SENT', 'EXPIRED']]);
    expect(gone.types()).toEqual(['part.sent']);
  });
});

describe('after a kill', () => {
  /** The next start, whose turn writes the same again. */
  async function resume(before: Rig) {
    const after = await restart(before);
    await after.clock.advance(0); // delivery begins before any turn
    return { after, draft: await begin(after, MESSAGE, true) };
  }

  test('F9 in mid-stream: the same message grows on and becomes the answer', async () => {
    const before = setup();
    await write(before, await begin(before), 2_500);
    const { after, draft } = await resume(before);
    await write(after, draft, 2_500);
    expect(screen(after)).toEqual([expect.stringMatching(/^w0 .* …$/)]);
    await finish(after, draft, 'whole');
    await after.clock.advance(0);
    expect([screen(after), after.channel.calls.length]).toEqual([['whole'], 1]);
  });

  test('F9 in mid-stream, and the second answer comes at once: it takes the place of the half one', async () => {
    const before = setup();
    await write(before, await begin(before), 2_500);
    const { after, draft } = await resume(before);
    await finish(after, draft, 'whole');
    await after.clock.advance(0);
    expect(screen(after)).toEqual(['whole']);
  });

  test('F9 between the commit of the draft and its sending: it is not sent, the answer is', async () => {
    const before = setup();
    before.journal.failNext('sending', 1_000);
    await write(before, await begin(before), 2_500);
    expect(before.states()).toEqual(['PENDING']);
    const { after, draft } = await resume(before);
    await write(after, draft, 3_000);
    await finish(after, draft, 'whole');
    await after.clock.advance(0);
    expect([screen(after), after.states()]).toEqual([['whole'], ['EXPIRED', 'SENT']]);
  });

  test.each([
    ['idem', ['whole'], ['SENT', 'SENT']],
    ['find', ['whole'], ['SENT', 'SENT']],
    // An edit needs the id, and nothing has it: the one case in which half an answer stays, with its mark,
    // and is counted.
    ['blind', [expect.stringMatching(/ …$/), 'whole'], ['UNKNOWN', 'SENT']],
  ] as const)('F8 between the sending of the draft and its record, on class %s', async (sendClass, shown, states) => {
    const before = setup({ sendClass });
    before.channel.script = () => 'accept-then-hang';
    await write(before, await begin(before), 1_500);
    expect(before.states()).toEqual(['SENDING']);
    const { after, draft } = await resume(before);
    await finish(after, draft, 'whole');
    await after.clock.advance(60_000);
    expect([screen(after), after.states()]).toEqual([shown, states]);
  });

  test.each<SendClass>(['idem', 'find', 'blind'])(
    'F8 while the answer edits the draft, on class %s: it is edited again',
    async (sendClass) => {
      const before = setup({ sendClass });
      const draft = await begin(before);
      await write(before, draft, 1_500);
      before.channel.editScript = () => 'accept-then-hang';
      await finish(before, draft, 'whole', 'rest');
      await before.clock.advance(100);
      expect(before.states()).toEqual(['SENT', 'SENDING', 'PENDING']);
      before.channel.editScript = () => undefined;
      const after = await restart(before);
      await after.clock.advance(60_000);
      expect([screen(after), after.states()]).toEqual([
        ['whole', 'rest'],
        ['SENT', 'SENT', 'SENT'],
      ]);
      expect([after.channel.calls.length, after.channel.finds]).toEqual([2, 0]);
    },
  );

  test('F8 after the edit was refused and before the message of its own was recorded: blind does not send it twice', async () => {
    const before = setup();
    const draft = await begin(before);
    await write(before, draft, 1_500);
    before.channel.editScript = () => refused('invalid');
    before.channel.script = () => 'accept-then-hang';
    await finish(before, draft, 'whole');
    await before.clock.advance(100);
    expect(before.states()).toEqual(['SENT', 'SENDING']);
    const after = await restart(before);
    await after.clock.advance(HOUR);
    expect([after.channel.calls.length, after.states()]).toEqual([2, ['SENT', 'UNKNOWN']]);
  });

  test('a message that was answered before is answered anew, and its old draft is left alone', async () => {
    const rig = setup();
    const first = await begin(rig);
    await write(rig, first, 1_500);
    await finish(rig, first, 'could not answer');
    await rig.clock.advance(0);
    const replayed = await begin(rig, MESSAGE, true);
    await write(rig, replayed, 3_000);
    replayed.end();
    expect(screen(rig)).toEqual(['could not answer']);
    expect((await replayed.of(answered(answer(['whole'])))).parts[0]?.part).not.toHaveProperty('edits');
  });
});

test.each<[string, boolean, readonly string[]]>([
  ['goes where the platform can take it away', true, ['whole']],
  ['stays where the platform refuses that, and it is told', false, [expect.stringMatching(/…$/), 'whole']],
])('a draft that cannot be made whole %s; the whole answer is sent once', async (_name, works, shown) => {
  const rig = setup();
  rig.channel.withdraw = async ({ platformId }) => {
    if (!works) throw new Error('not now');
    rig.channel.take(platformId);
  };
  const draft = await begin(rig);
  await write(rig, draft, 2_500);
  rig.channel.editScript = () => refused('too-long');
  await finish(rig, draft, 'whole');
  await rig.clock.advance(HOUR);
  expect([screen(rig), rig.states()]).toEqual([shown, ['SENT', 'SENT']]);
  const told = rig.events.flatMap((event) => (event.type === 'failed' ? [event.detail] : []));
  expect(told).toEqual(works ? [] : ['half an answer stays in the chat: not now']);
});

test('a draft is taken away where its message was sent, with what the answer to that needs', async () => {
  const rig = setup();
  const places: unknown[] = [];
  rig.channel.withdraw = async ({ chatId, replyContext }) => void places.push({ chatId, replyContext });
  const message = inbound({ replyContext: { address: 'as it came' } });
  const draft = await begin(rig, message);
  await write(rig, draft, 2_500);
  rig.channel.editScript = () => refused('too-long');
  draft.end();
  await post(rig, draft, answer(['whole'], message));
  await rig.clock.advance(HOUR);
  expect(places).toEqual([{ chatId: message.chatId, replyContext: message.replyContext }]);
});

test('F14 a full disk costs the draft and not the answer', async () => {
  const rig = setup();
  rig.journal.failNext('enqueue', 1);
  const draft = await begin(rig);
  await write(rig, draft, 3_000);
  await finish(rig, draft, 'whole');
  await rig.clock.advance(HOUR);
  expect([screen(rig), rig.states()]).toEqual([['whole'], ['SENT']]);
});

test('shutdown ends what is shown and waits for the edit under way', async () => {
  const rig = setup();
  const draft = await begin(rig);
  await write(rig, draft, 2_500);
  const closed = rig.delivery[Symbol.asyncDispose]();
  await rig.clock.advance(20_000);
  await closed;
  await write(rig, draft, 3_000);
  expect(rig.channel.edits).toHaveLength(1);
  const other = inbound({ platformId: 'm-2' });
  await write(rig, await begin(rig, other), 3_000);
  expect(rig.journal.row(draftKey(other.id))).toBeUndefined();
});
