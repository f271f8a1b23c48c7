import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { SendClass } from '../core/channel.ts';
import { answer, busy, HOUR, on, refused, restart, setup } from '../testing/delivery-setup.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { ScriptedChannel } from '../testing/scripted-channel.ts';

test('the parts of an answer arrive in order, each once, and are SENT', async () => {
  const { clock, channel, delivery, post, states, types } = setup();
  await post(answer(40));
  await clock.advance(0);
  await delivery.idle();
  expect(channel.shown.map((one) => one.text)).toEqual(Array.from({ length: 40 }, (_, n) => `text ${n}`));
  expect(states().every((state) => state === 'SENT')).toBe(true);
  expect(types().every((type) => type === 'part.sent')).toBe(true);
  expect(delivery.stats()).toEqual({ lanes: 0, sending: 0 });
});

test('a part is SENDING on disk before its wire call begins', async () => {
  const { clock, channel, journal, post } = setup();
  const seen: (string | undefined)[] = [];
  channel.script = (part) => {
    seen.push(journal.row(part.key)?.state);
    return undefined;
  };
  await post(answer(3));
  await clock.advance(0);
  expect(seen).toEqual(['SENDING', 'SENDING', 'SENDING']);
});

test('a file that is not as long as its row says is not sent, and the reason is kept', async () => {
  await using dir = await tempDir();
  const { clock, channel, delivery, journal, post } = setup();
  for (const [name, bytes] of Object.entries({ torn: 0, whole: 9 })) {
    const path = join(dir.path, name);
    await writeFile(path, 'x'.repeat(bytes));
    const file = { path, name, mime: 'text/plain', kind: 'document', bytes: 9 } as const;
    await post(answer(1, { messageId: name, text: name, file }));
  }
  await clock.advance(0);
  await delivery.idle();
  const notice = expect.stringContaining('The file torn could not be delivered');
  expect(channel.shown.map(({ text }) => text).toSorted()).toEqual([notice, 'whole']);
  const reasons = [...journal.rows.values()].map(({ state, reason }) => [state, reason]);
  expect(reasons).toContainEqual(['DEAD', 'invalid: the copy of torn has 0 of 9 bytes']);
});

test('a file that can never be looked at has not left: the part is given up at once, and the chat is told', async () => {
  await using dir = await tempDir();
  const path = join(dir.path, 'copy');
  await symlink('copy', path);
  const { clock, channel, delivery, journal, post } = setup({ sendClass: 'blind' });
  await post(answer(1, { file: { path, name: 'a', mime: 'text/plain', kind: 'document', bytes: 9 } }));
  await clock.advance(0);
  await delivery.idle();
  expect(channel.shown.map(({ text }) => text)).toEqual([expect.stringContaining('The file a could not be delivered')]);
  const reasons = [...journal.rows.values()].map(({ state, reason }) => [state, reason]);
  expect(reasons).toContainEqual(['DEAD', 'invalid: the copy of a is a symbolic link that leads back to itself']);
});

test('a poke at the moment a lane ends is not lost', async () => {
  const { clock, channel, journal, post } = setup();
  for (let ticks = 0; ticks < 120; ticks += 1) {
    const [first, second] = [
      answer(1, { chatId: `${ticks}`, messageId: `${ticks}a` }),
      answer(1, { chatId: `${ticks}`, messageId: `${ticks}b` }),
    ];
    await post(first);
    for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
    await post(second);
    await clock.advance(0);
  }
  expect([...journal.rows.values()].filter((row) => row.state !== 'SENT')).toEqual([]);
  expect(channel.shown).toHaveLength(240);
});

test('F8 kill after the send, before SENT: idem sends the same key again and nobody sees it twice', async () => {
  const before = setup({ sendClass: 'idem' });
  before.channel.script = () => 'accept-then-hang';
  await before.post(answer(1));
  await before.clock.advance(0);
  expect(before.states()).toEqual(['SENDING']);
  const after = await restart(before);
  await after.clock.advance(0);
  expect(after.channel.calls.map((call) => call.key)).toEqual(['m-1#0', 'm-1#0']);
  expect(after.channel.shown).toHaveLength(1);
  expect(after.states()).toEqual(['SENT']);
});

test.each([
  ['arrived', 'accept-then-hang'],
  ['did not arrive', 'hang'],
] as const)('F8 kill during the send: find asks first, and a part that %s is shown once', async (_name, script) => {
  const before = setup({ sendClass: 'find' });
  before.channel.script = () => script;
  await before.post(answer(1));
  await before.clock.advance(0);
  const after = await restart(before);
  await after.clock.advance(30_000);
  expect(after.channel.shown).toHaveLength(1);
  expect(after.channel.calls).toHaveLength(script === 'hang' ? 2 : 1);
  expect(after.states()).toEqual(['SENT']);
});

test('F8 kill after the send: blind is UNKNOWN and is not sent again', async () => {
  const before = setup({ sendClass: 'blind' });
  before.channel.script = () => 'accept-then-hang';
  await before.post(answer(1));
  await before.clock.advance(0);
  const after = await restart(before);
  expect(after.states()).toEqual(['UNKNOWN']);
  await after.clock.advance(HOUR);
  expect(after.channel.calls).toHaveLength(1);
  expect(after.types()).toEqual(['part.unknown']);
});

test('F8 with at_least_once a blind part is repeated and says so, also after a second kill', async () => {
  const policy = { blind: 'at_least_once' } as const;
  const before = setup({ policy });
  before.channel.script = () => 'accept-then-hang';
  await before.post(answer(1));
  await before.clock.advance(0);
  const second = await restart(before, { policy });
  const after = await restart(second, { policy });
  await after.clock.advance(60_000);
  expect(after.channel.shown.map((one) => one.text)).toEqual(['text 0', '(may be a repeat)\ntext 0']);
  expect(after.states()).toEqual(['SENT']);
});

test.each<SendClass>(['idem', 'find', 'blind'])(
  'F9 kill in part 3 of 5 (%s): the rest follows in order, none twice',
  async (sendClass) => {
    const before = setup({ sendClass });
    before.channel.script = on('m-1#2', 'accept-then-hang');
    await before.post(answer(5));
    await before.clock.advance(0);
    expect(before.states()).toEqual(['SENT', 'SENT', 'SENDING', 'PENDING', 'PENDING']);
    const after = await restart(before);
    await after.clock.advance(60_000);
    expect(after.channel.shown.map((one) => one.text)).toEqual(['text 0', 'text 1', 'text 2', 'text 3', 'text 4']);
    expect(after.states()[2]).toBe(sendClass === 'blind' ? 'UNKNOWN' : 'SENT');
  },
);

test('F9 kill between two parts: the next one is sent and the one before is not', async () => {
  const before = setup();
  before.channel.script = on('m-1#2', busy(HOUR));
  await before.post(answer(5));
  await before.clock.advance(0);
  const after = await restart(before);
  await after.clock.advance(2 * HOUR);
  expect(after.channel.shown.map((one) => one.text)).toEqual(['text 0', 'text 1', 'text 2', 'text 3', 'text 4']);
});

test('a find channel that is not ready is asked first when it is, and nothing overtakes', async () => {
  const before = setup({ sendClass: 'find' });
  before.channel.script = on('m-1#0', 'hang');
  await before.post(answer(2));
  await before.clock.advance(0);
  let up = false;
  const after = await restart(before, { ready: () => up });
  await after.clock.advance(60_000);
  expect([after.channel.finds, after.channel.calls.length]).toEqual([0, 1]);
  up = true;
  after.delivery.pokeChannel('test');
  await after.clock.advance(30_000);
  expect(after.channel.shown.map((one) => one.text)).toEqual(['text 0', 'text 1']);
});

test('F8 find is told from when on to look, also after a restart: the time of the first attempt in doubt', async () => {
  const before = setup({ sendClass: 'find' });
  before.channel.script = () => 'accept-then-hang';
  const triedAt = before.clock.now();
  await before.post(answer(1));
  await before.clock.advance(0);
  let up = false;
  const after = await restart(before, { ready: () => up });
  await after.clock.advance(HOUR);
  before.channel.foundSince = undefined;
  up = true;
  after.delivery.pokeChannel('test');
  await after.clock.advance(30_000);
  expect([after.channel.foundSince, after.states()]).toEqual([triedAt, ['SENT']]);
});

test('F8 find is told of no time before the first attempt in doubt, however long the part had waited', async () => {
  let up = false;
  const at = setup({ sendClass: 'find', ready: () => up });
  at.channel.script = () => 'hang';
  await at.post(answer(1, {}, at.clock.now() + 7 * 24 * HOUR));
  await at.clock.advance(3 * 24 * HOUR);
  up = true;
  const triedAt = at.clock.now();
  at.delivery.pokeChannel('test');
  await at.clock.advance(120_000);
  expect(at.channel.foundSince).toBe(triedAt);
});

test('F14 disk full before SENDING: nothing is sent until the row can be written', async () => {
  const { clock, journal, channel, post, states, events } = setup();
  journal.failNext('sending', 3);
  await post(answer(2));
  await clock.advance(8_000);
  expect([channel.calls.length, states()]).toEqual([0, ['PENDING', 'PENDING']]);
  expect(events[0]).toMatchObject({ type: 'journal', state: 'failing', code: 'GH1301' });
  await clock.advance(8_000);
  expect(channel.shown.map((one) => one.text)).toEqual(['text 0', 'text 1']);
});

test('F14 disk full at SENT: the lane waits, the result is kept, the part is not sent again', async () => {
  const { clock, journal, channel, post, states, types } = setup();
  journal.failNext('settle', 5);
  await post(answer(2));
  await clock.advance(10_000);
  expect([channel.calls.length, states()]).toEqual([1, ['SENDING', 'PENDING']]);
  await clock.advance(10_000);
  expect([channel.calls.length, states()]).toEqual([2, ['SENT', 'SENT']]);
  expect(types()).toEqual(['journal', 'journal', 'part.sent', 'part.sent']);
});

test('F14 a journal that cannot be read is read again', async () => {
  const { clock, journal, channel, post } = setup();
  journal.failNext('pending', 4);
  await post(answer(1));
  await clock.advance(60_000);
  expect(channel.shown).toHaveLength(1);
});

test('F35 a 429 on one chat waits as long as it says, keeps order, and delays no other chat or channel', async () => {
  const clock = new FakeClock();
  const channel = new ScriptedChannel(clock);
  const other = new ScriptedChannel(clock, { name: 'other' });
  const channels = new Map([channel, other].map((one) => [one.name, one]));
  const { journal, post, events } = setup({ clock, channel, channels });
  channel.script = (part, call) => (part.chatId === 'a' && call === 0 ? busy(30_000) : undefined);
  await post([
    ...answer(2, { chatId: 'a', messageId: 'a' }),
    ...answer(1, { chatId: 'a', threadId: 't', messageId: 'at' }),
    ...answer(2, { chatId: 'b', messageId: 'b' }),
    ...answer(1, { channel: 'other', messageId: 'o' }),
  ]);
  const start = clock.monotonic();
  await clock.advance(0);
  expect(channel.shown.map((one) => one.key)).toEqual(expect.arrayContaining(['b#0', 'b#1']));
  expect(other.shown).toHaveLength(1);
  const hit = channel.calls.length;
  await clock.advance(29_999);
  expect(channel.calls).toHaveLength(hit);
  await clock.advance(2);
  expect(channel.calls.filter((call) => call.key.startsWith('a#')).map((call) => [call.key, call.at - start])).toEqual([
    ['a#0', 0],
    ['a#0', 30_000],
    ['a#1', 30_000],
  ]);
  expect([...journal.rows.values()].every((row) => row.state === 'SENT')).toBe(true);
  expect(events.find((event) => event.type === 'part.retry')).toMatchObject({ reason: '429', waitMs: 30_000 });
});

test('F35 a 429 on the account silences all its chats, and they do not spend attempts on it', async () => {
  const { clock, journal, channel, post } = setup();
  channel.script = (_part, call) => (call === 0 ? busy(60_000, 'account') : undefined);
  await post(answer(1, { chatId: 'a', messageId: 'a' }));
  await clock.advance(0);
  await post(Array.from({ length: 20 }, (_, n) => answer(1, { chatId: `c${n}`, messageId: `c${n}` })).flat());
  await clock.advance(59_000);
  expect(channel.calls).toHaveLength(1);
  await clock.advance(2_000);
  expect(channel.shown).toHaveLength(21);
  expect(journal.row('c7#0')?.attempts).toBe(1);
});

test('F35 chats that waited for a slot notice that the account was silenced meanwhile', async () => {
  const { clock, channel, post } = setup();
  channel.script = (_part, call) => (call === 0 ? busy(60_000, 'account') : undefined);
  await post(Array.from({ length: 100 }, (_, n) => answer(1, { chatId: `c${n}`, messageId: `c${n}` })).flat());
  await clock.advance(0);
  expect(channel.calls).toHaveLength(64);
  await clock.advance(61_000);
  expect(channel.shown).toHaveLength(100);
});

test('F35 the rate of a chat is kept before the platform has to ask', async () => {
  const clock = new FakeClock();
  const channel = new ScriptedChannel(clock, { limits: { rate: { perChat: { burst: 1, perSecond: 1 } } } });
  const { post } = setup({ clock, channel });
  const start = clock.monotonic();
  await post(answer(4));
  await clock.advance(5_000);
  expect(channel.calls.map((call) => call.at - start)).toEqual([0, 1_000, 2_000, 3_000]);
});

/** A chat whose second message within a day would have to wait for most of it. */
function frugal() {
  const clock = new FakeClock();
  const rate = { perChat: { burst: 1, perSecond: 1 / 86_400 } };
  return setup({ clock, channel: new ScriptedChannel(clock, { limits: { rate } }) });
}

test('F14 a send that could not be recorded gives the token of its chat back', async () => {
  const { clock, journal, channel, post } = frugal();
  journal.failNext('sending', 3);
  await post(answer(1));
  await clock.advance(16_000);
  expect(channel.shown).toHaveLength(1);
});

test('a part that was taken by another gives the token of its chat back', async () => {
  const { clock, journal, channel, post, states } = frugal();
  const sending = journal.sending.bind(journal);
  journal.sending = async (seq) => {
    journal.sending = sending;
    await journal.settle(seq, { kind: 'expired' });
    return false;
  };
  await post(answer(1, { messageId: 'taken' }));
  await clock.advance(0);
  await post(answer(1, { messageId: 'next' }));
  await clock.advance(0);
  expect(states()).toEqual(['EXPIRED', 'SENT']);
  expect(channel.shown).toHaveLength(1);
});

test('an edit that has nothing to change gives its token back, and goes as a message of its own with the same one', async () => {
  const { clock, channel, post, states } = frugal();
  await post(answer(1, { messageId: 'edit', edits: 'nothing#0' }));
  await clock.advance(1_000);
  expect(states()).toEqual(['SENT']);
  expect(channel.shown).toHaveLength(1);
});

test('a part that expires while it waits for its token takes none from the next', async () => {
  const { clock, channel, post, states } = frugal();
  await post(answer(1, { messageId: 'first' }));
  await clock.advance(0);
  const soon = clock.now() + 60_000;
  await post(answer(1, { messageId: 'late' }, soon));
  await clock.advance(61_000);
  await post(answer(1, { messageId: 'next' }, clock.now() + 48 * HOUR));
  await clock.advance(24 * HOUR);
  expect(states()).toEqual(['SENT', 'EXPIRED', 'SENT']);
  expect(channel.shown).toHaveLength(2);
});

test('F36 refused markup is sent once more as plain text, then the part is DEAD and the chat is told', async () => {
  const { clock, channel, post, states } = setup();
  channel.script = (part, call) => (part.key === 'm-1#0' && call === 0 ? refused('markup') : undefined);
  await post(answer(2));
  await clock.advance(0);
  expect(channel.calls.map((call) => [call.key, call.plain])).toEqual([
    ['m-1#0', false],
    ['m-1#0', true],
    ['m-1#1', false],
  ]);
  channel.script = on('m-2#0', refused('markup'));
  await post(answer(2, { messageId: 'm-2' }));
  await clock.advance(0);
  expect(states()).toEqual(['SENT', 'SENT', 'DEAD', 'SENT', 'SENT']);
  expect(channel.shown.slice(-2).map((one) => one.text)).toEqual([
    'text 1',
    'A part of this answer could not be delivered (GH1601). Ask again, or ask the operator.',
  ]);
});

test('F36 a kill between the refusal and the plain try keeps the plain try', async () => {
  const before = setup();
  before.channel.script = () => {
    before.journal.failNext('sending', 1_000);
    return refused('markup');
  };
  await before.post(answer(1));
  await before.clock.advance(0);
  const after = await restart(before);
  await after.clock.advance(0);
  expect(after.channel.calls.map((call) => call.plain)).toEqual([false, true]);
});

test('F36 a plain try that has to be repeated stays plain', async () => {
  const { clock, channel, post } = setup();
  channel.script = (_part, call) => [refused('markup'), busy(10)][call];
  await post(answer(1));
  await clock.advance(1_000);
  expect(channel.calls.map((call) => call.plain)).toEqual([false, true, true]);
});

test('F36 a part that is too long is DEAD with its reason and the others go on', async () => {
  const { clock, journal, channel, post, states } = setup();
  channel.script = on('m-1#1', refused('too-long'));
  await post(answer(3));
  await clock.advance(0);
  expect(states().slice(0, 3)).toEqual(['SENT', 'DEAD', 'SENT']);
  expect(journal.row('m-1#1')?.reason).toBe('too-long: no');
});

test.each(['chat-gone', 'blocked'] as const)(
  'F36 %s ends the whole answer without further calls, but not the next answer',
  async (reason) => {
    const { clock, channel, post, states } = setup();
    channel.script = on('m-1#0', refused(reason));
    await post([...answer(3), ...answer(1, { messageId: 'm-2' })]);
    await clock.advance(0);
    expect(states()).toEqual(['DEAD', 'DEAD', 'DEAD', 'SENT']);
    expect(channel.calls.map((call) => call.key)).toEqual(['m-1#0', 'm-2#0']);
  },
);

test('F36 a chat that takes no files takes words: what is behind a refused file is sent, and the file is told of', async () => {
  const { clock, channel, post, states } = setup();
  const file = { path: '/nowhere', name: 'report.pdf', mime: 'application/pdf', kind: 'document', bytes: 9 } as const;
  channel.script = on('m-1#1', refused('blocked'));
  await post(answer(3).map((row, n) => (n === 1 ? { ...row, part: { ...row.part, file } } : row)));
  await clock.advance(0);
  expect(states()).toEqual(['SENT', 'DEAD', 'SENT', 'SENT']);
  const notice = expect.stringContaining('The file report.pdf could not be delivered');
  expect(channel.shown.map(({ text }) => text)).toEqual(['text 0', 'text 2', notice]);
});

test('F37 a send that times out after acceptance: idem repeats the key, nobody sees it twice', async () => {
  const { clock, channel, post, states } = setup({ sendClass: 'idem' });
  channel.script = (_part, call) => (call === 0 ? 'accept-then-hang' : undefined);
  await post(answer(2));
  await clock.advance(59_999);
  expect(channel.calls).toHaveLength(1);
  await clock.advance(10_000);
  expect(channel.shown.map((one) => one.text)).toEqual(['text 0', 'text 1']);
  expect(states()).toEqual(['SENT', 'SENT']);
});

test('a send has as long as its channel gives it: a large file over a slow line is not broken off', async () => {
  const clock = new FakeClock();
  const channel = new ScriptedChannel(clock, { sendClass: 'idem', limits: { sendMs: 480_000 } });
  const { post, states } = setup({ clock, channel });
  channel.script = (_part, call) => (call === 0 ? 'accept-then-hang' : undefined);
  await post(answer(1));
  await clock.advance(480_000);
  expect(channel.calls).toHaveLength(1);
  await clock.advance(10_000);
  expect(states()).toEqual(['SENT']);
});

test('F37 on class idem a send ends in time for a second one within the window, whatever its channel gives it', async () => {
  const clock = new FakeClock();
  const channel = new ScriptedChannel(clock, { sendClass: 'idem', limits: { sendMs: 150_000 } });
  channel.idemWindowMs = 120_000;
  const { post, states } = setup({ clock, channel });
  channel.script = (_part, call) => (call === 0 ? 'accept-then-hang' : undefined);
  await post(answer(1));
  await clock.advance(70_000);
  expect([states(), channel.calls.length, channel.shown.length]).toEqual([['SENT'], 2, 1]);
});

test.each([
  ['accepted', 'accept-then-hang', 1],
  ['never received', 'hang', 2],
] as const)('F37 a timed-out send that the platform %s: find looks before it sends', async (_name, script, calls) => {
  const { clock, channel, post, states } = setup({ sendClass: 'find' });
  channel.script = (_part, call) => (call === 0 ? script : undefined);
  await post(answer(1));
  await clock.advance(120_000);
  expect([channel.calls.length, channel.shown.length, states()]).toEqual([calls, 1, ['SENT']]);
});

test('F37 find that cannot say is asked three times, then the part is UNKNOWN', async () => {
  const { clock, channel, post, states } = setup({ sendClass: 'find' });
  channel.script = () => 'accept-then-hang';
  channel.findAnswer = () => 'cannot-say';
  await post(answer(1));
  await clock.advance(HOUR);
  expect([channel.finds, channel.calls.length, states()]).toEqual([3, 1, ['UNKNOWN']]);
});

test('F37 a timed-out blind send is UNKNOWN, never repeated, and the next part follows', async () => {
  const { clock, channel, post, states, types } = setup();
  channel.script = on('m-1#0', 'accept-then-hang');
  await post(answer(2));
  await clock.advance(HOUR);
  expect(channel.shown.map((one) => one.text)).toEqual(['text 0', 'text 1']);
  expect(states()).toEqual(['UNKNOWN', 'SENT']);
  expect(types()).toEqual(['part.unknown', 'part.sent']);
});

test('F37 at_least_once marks the repeat, and only what may be one', async () => {
  const { clock, channel, post } = setup({ policy: { blind: 'at_least_once' } });
  channel.script = (_part, call) => [busy(10), 'accept-then-hang' as const, busy(10)][call];
  await post(answer(1));
  await clock.advance(HOUR);
  expect(channel.calls.map((call) => call.text)).toEqual([
    'text 0',
    'text 0',
    '(may be a repeat)\ntext 0',
    '(may be a repeat)\ntext 0',
  ]);
});

test('F37 a repeat that has no room for its mark is UNKNOWN instead', async () => {
  const { clock, channel, post, states } = setup({ policy: { blind: 'at_least_once' } });
  channel.script = () => 'accept-then-hang';
  await post(answer(1, { text: 'x'.repeat(4_000) }));
  await clock.advance(HOUR);
  expect([channel.calls.length, states()]).toEqual([1, ['UNKNOWN']]);
});

test('an adapter that throws counts as unknown', async () => {
  const { clock, channel, post, journal } = setup();
  channel.script = () => new Error('bug');
  await post(answer(1));
  await clock.advance(HOUR);
  expect(journal.row('m-1#0')).toMatchObject({ state: 'UNKNOWN', reason: 'bug' });
  expect(channel.calls).toHaveLength(1);
});
