// The status line is the first text of a draft: what a chat sees of it, and that none of it stays.
import { expect, test } from 'vitest';
import type { RunEvent } from '../core/events.ts';
import { draftKey, laneKey, partKey } from '../core/ids.ts';
import type { NewPart } from '../core/outbox.ts';
import { answered, setup as deliverySetup, HOUR, refused, restart, runOf } from '../testing/delivery-setup.ts';
import { FakeClock, inbound, outbound } from '../testing/fakes.ts';
import { ScriptedChannel } from '../testing/scripted-channel.ts';
import type { AnswerPlace } from './answer-place.ts';

const MESSAGE = inbound();

function setup(limits: ConstructorParameters<typeof ScriptedChannel>[1] = {}, { streams = true, withdraws = true } = {}) {
  const clock = new FakeClock();
  const channel = new ScriptedChannel(clock, { edits: true, ...limits });
  if (withdraws) channel.withdraw = async ({ platformId }) => channel.take(platformId);
  return deliverySetup({ clock, channel, statusLine: () => true, streams: () => streams });
}

type Rig = ReturnType<typeof setup>;

async function begin({ delivery }: Rig, generation = 1): Promise<{ place: AnswerPlace; see: (event: object) => void }> {
  const place = delivery.answer(runOf(MESSAGE, generation));
  await place.open();
  const see = (event: object): void => place.observe({ at: 0, ...event } as RunEvent);
  see({ type: 'model.started', model: 'm', iteration: 1 });
  return { place, see };
}

function answer(...texts: readonly string[]): NewPart[] {
  const { channel, account, chatId, id } = MESSAGE;
  return texts.map((text, ordinal) => {
    const key = partKey(id, ordinal);
    const part = outbound({ channel, account, chatId, messageId: id, key, text, ordinal, count: texts.length });
    return { part, lane: laneKey(part), expiresAt: Date.UTC(2026, 0, 2) };
  });
}

async function finish(rig: Rig, place: AnswerPlace, ...texts: string[]): Promise<void> {
  await rig.post((await place.of(answered(answer(...texts)))).parts);
  await rig.clock.advance(HOUR);
}

const screen = ({ channel }: Rig) => channel.shown.map(({ text }) => text);

test('an answer that begins within two seconds shows no status, and one that is complete then no draft', async () => {
  const rig = setup();
  const { place, see } = await begin(rig);
  await rig.clock.advance(1_900);
  see({ type: 'model.text', text: 'whole' });
  await rig.clock.advance(900);
  expect(screen(rig)).toEqual([]);
  await finish(rig, place, 'whole');
  expect([screen(rig), rig.channel.edits]).toEqual([['whole'], []]);
});

test('after two seconds it says what goes on, and the words of the answer take its place', async () => {
  const rig = setup();
  const { place, see } = await begin(rig);
  await rig.clock.advance(2_100);
  expect(screen(rig)).toEqual(['✦ Thinking… (2s)']);
  see({ type: 'tool.started', tool: 'list_dir', callId: '1' });
  await rig.clock.advance(1_000);
  expect(screen(rig)).toEqual(['⚙ `list_dir`… (3s)']);
  see({ type: 'tool.done', tool: 'list_dir', callId: '1', ok: true, ms: 1 });
  see({ type: 'model.started', model: 'm', iteration: 2 });
  see({ type: 'model.text', text: 'There are' });
  await rig.clock.advance(1_000);
  expect(screen(rig)).toEqual(['There are …']);
  await finish(rig, place, 'There are two.');
  expect(screen(rig)).toEqual(['There are two.']);
  expect(rig.channel.calls).toHaveLength(1);
});

test('what the model said before a tool stays above the status', async () => {
  const rig = setup();
  const { place, see } = await begin(rig);
  see({ type: 'model.text', text: 'Let me look.' });
  await rig.clock.advance(1_100);
  see({ type: 'tool.started', tool: 'list_dir', callId: '1' });
  await rig.clock.advance(2_000);
  expect(screen(rig)).toEqual(['Let me look.\n\n⚙ `list_dir`… (3s)']);
  await finish(rig, place, 'Two.');
  expect(screen(rig)).toEqual(['Two.']);
});

test('with streaming "off" the status is shown and the words are not', async () => {
  const rig = setup({}, { streams: false });
  const { place, see } = await begin(rig);
  see({ type: 'model.text', text: 'secret of the moment' });
  await rig.clock.advance(5_000);
  expect(screen(rig)).toEqual([expect.stringMatching(/^✦ \S+… \(\d+s\)$/)]);
  await finish(rig, place, 'whole');
  expect(screen(rig)).toEqual(['whole']);
});

test('an outcome without words takes the status away', async () => {
  const rig = setup();
  const { place } = await begin(rig);
  await rig.clock.advance(3_000);
  await finish(rig, place);
  expect([screen(rig), rig.types().filter((type) => type === 'failed')]).toEqual([[], []]);
});

test('where messages cannot be taken away, it says that there was no answer', async () => {
  const rig = setup({}, { withdraws: false });
  const { place } = await begin(rig);
  await rig.clock.advance(3_000);
  await finish(rig, place);
  expect(screen(rig)).toEqual(['(no answer)']);
});

test('/stop leaves its mark and no status', async () => {
  const rig = setup();
  const { place } = await begin(rig);
  await rig.clock.advance(3_000);
  place.end();
  await place.abandon();
  await rig.clock.advance(1_000);
  expect(screen(rig)).toEqual(['🛑 Stopped here.']);
});

test('a status whose last edit is refused goes, and the answer is a message of its own', async () => {
  const rig = setup();
  const { place } = await begin(rig);
  await rig.clock.advance(3_000);
  rig.channel.editScript = () => refused('invalid');
  await finish(rig, place, 'whole');
  expect(screen(rig)).toEqual(['whole']);
});

test('F9 killed while it is shown: the answer of the next attempt takes its place, and /stop leaves no status', async () => {
  for (const isStopped of [false, true]) {
    const rig = setup();
    const killed = await begin(rig);
    await rig.clock.advance(3_000);
    killed.place.end();
    expect(rig.journal.row(draftKey(MESSAGE.id))?.part).toMatchObject({ isStatus: true });
    const next = await restart(rig, { statusLine: () => true });
    const place = next.delivery.answer(runOf(MESSAGE, 2));
    await place.open();
    if (isStopped) {
      place.end();
      await place.abandon();
    } else await next.post((await place.of(answered(answer('whole')))).parts);
    await next.clock.advance(HOUR);
    expect(screen(next)).toEqual([isStopped ? '🛑 Stopped here.' : 'whole']);
  }
});

test('where edits are counted, the status takes a third of those that drafts may make', async () => {
  const rig = setup({ limits: { edits: 20 } });
  const { place, see } = await begin(rig);
  await rig.clock.advance(600_000);
  expect(rig.channel.edits).toHaveLength(3);
  see({ type: 'model.text', text: 'Now' });
  await rig.clock.advance(60_000);
  expect(screen(rig)[0]).toMatch(/^Now …$/);
  await finish(rig, place, 'Now it is.');
  expect(screen(rig)).toEqual(['Now it is.']);
});

test('without the key nothing is shown before the model writes', async () => {
  const clock = new FakeClock();
  const rig = deliverySetup({ clock, channel: new ScriptedChannel(clock, { edits: true }) });
  const { place } = await begin(rig);
  await clock.advance(60_000);
  expect(screen(rig)).toEqual([]);
  place.end();
});
