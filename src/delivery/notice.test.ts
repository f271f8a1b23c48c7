import { expect, test } from 'vitest';
import { answer, HOUR, refused, setup } from '../testing/delivery-setup.ts';
import { FakeClock } from '../testing/fakes.ts';
import { ScriptedChannel } from '../testing/scripted-channel.ts';

function editing() {
  const clock = new FakeClock();
  return setup({ clock, channel: new ScriptedChannel(clock, { edits: true }), maxAttempts: 2 });
}

const LOST = { kind: 'retry', reason: 'ECONNRESET', scope: 'part' } as const;

test('the notice of a question that was not delivered has no buttons', async () => {
  const { clock, channel, journal, post } = setup();
  channel.script = (_part, call) => (call === 0 ? refused('invalid') : undefined);
  await post(answer(1, { choices: [{ label: 'Allow', value: 'allow 1' }] }));
  await clock.advance(0);
  expect(channel.shown).toHaveLength(1);
  expect(journal.row('m-1#undelivered')?.part).not.toHaveProperty('choices');
});

test('the notice of a later part is no first part, which could replace what the chat has', async () => {
  const { clock, channel, journal, post } = setup();
  channel.script = (_part, call) => (call === 1 ? refused('invalid') : undefined);
  await post(answer(3));
  await clock.advance(HOUR);
  expect(journal.row('m-1#1')?.state).toBe('DEAD');
  expect(journal.row('m-1#undelivered')).toMatchObject({ state: 'SENT', part: { ordinal: 1, count: 3 } });
});

test('the notice of an answer that was to take the place of another is a message of its own and takes no place', async () => {
  const { clock, channel, journal, post } = editing();
  channel.editScript = () => LOST;
  await post([...answer(1), ...answer(1, { messageId: 'm-2', edits: 'm-1#0', supersedes: 'm-1#0', text: 'corrected' })]);
  await clock.advance(HOUR);
  expect(journal.row('m-2#0')?.state).toBe('DEAD');
  expect(channel.shown.map(({ text }) => text)).toEqual(['text 0', expect.stringContaining('could not be delivered (GH1601)')]);
  // Which never arrived: whoever looks for the newest answer passes over it.
  expect(journal.row('m-1#0')?.replacedBy).toBe('m-2#0');
});

test('a change of what is shown already that cannot be made is no answer that was not delivered', async () => {
  const { clock, channel, journal, post } = editing();
  channel.editScript = () => LOST;
  await post([...answer(1), ...answer(1, { messageId: 'm-2', edits: 'm-1#0', editOnly: true, text: 'answered' })]);
  await clock.advance(HOUR);
  expect(journal.row('m-2#0')?.state).toBe('DEAD');
  expect(channel.shown.map(({ text }) => text)).toEqual(['text 0']);
  expect([...journal.rows.values()]).toHaveLength(2);
});

test('the chat of the person who had words written elsewhere is told that they could not be delivered, their readers are not', async () => {
  const { clock, channel, journal, post } = setup();
  const [part] = answer(1);
  const { channel: name = '', account = '' } = part?.part ?? {};
  channel.script = ({ chatId }) => (chatId === 'ben' ? refused('chat-gone') : undefined);
  const told = { channel: name, account, chatId: 'ada' };
  const sentFor = { readers: ['test:ben'], title: 'Ben (test, ben)', told };
  await post(answer(2, { messageId: '#to/r', chatId: 'ben', sentFor }));
  await post(answer(1, { messageId: '#to/s', chatId: 'ben', sentFor: { readers: ['test:ben'], title: 'Ben (test, ben)' } }));
  await clock.advance(HOUR);
  expect(channel.shown.map(({ chatId, text }) => [chatId, text])).toEqual([
    ['ada', '⚠️ The message to Ben (test, ben) could not be delivered (GH1601). Ask the operator why.'],
  ]);
  expect(journal.row('#to/r#undelivered')?.part).not.toHaveProperty('sentFor');
  // Of an answer its reader is not told that it was too old; here another person waits to hear of it.
  await post(answer(1, { messageId: '#to/t', chatId: 'cleo', sentFor }, clock.now() - 1));
  await clock.advance(HOUR);
  expect([journal.row('#to/t#0')?.state, channel.shown.at(-1)?.chatId, channel.shown.length]).toEqual(['EXPIRED', 'ada', 2]);
});
