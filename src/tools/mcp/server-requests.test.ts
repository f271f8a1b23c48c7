// Whose call a question of a server is taken to belong to.
import { expect, test } from 'vitest';
import { FakeClock } from '../../testing/fakes.ts';
import { CallLimit } from './call-limit.ts';
import { type Elicit, type OpenCall, ServerRequests } from './server-requests.ts';

const PARAMS = { message: 'Where?', requestedSchema: { type: 'object', properties: {} } };
const { signal } = new AbortController();

function setup() {
  const clock = new FakeClock();
  const refused: string[] = [];
  const requests = new ServerRequests({ asksPeople: true, onRefused: (method) => refused.push(method) });
  const over: Error[] = [];
  const open = (who: string | undefined, elicit?: Elicit): OpenCall & { readonly end: () => void } => {
    const limit = new CallLimit(clock, 1_000, (reason) => over.push(reason));
    const call = { notes: [], limit, ...(who === undefined ? {} : { who }), ...(elicit ? { elicit } : {}) };
    const opened = requests.begin(call);
    return { ...call, end: () => opened[Symbol.dispose]() };
  };
  return { clock, requests, refused, open, over, ask: () => requests.answer('elicitation/create', PARAMS, signal) };
}

const yes: Elicit = async () => ({ action: 'accept', content: {} });

test('a question with no call under way, and one for a call that is made for no person, is declined', async () => {
  const at = setup();
  expect(await at.ask()).toEqual({ action: 'decline' });
  const { notes } = at.open(undefined);
  expect(await at.ask()).toEqual({ action: 'decline' });
  expect(notes).toEqual([expect.stringMatching(/\(“Where\?”\) and was refused: .*Ask the person yourself/)]);
  expect(at.refused).toHaveLength(2);
});

test('hostile: with calls of two people under way a question is put to neither', async () => {
  const at = setup();
  const [ada, bob] = [at.open('ada', yes), at.open('bob', yes)];
  expect(await at.ask()).toEqual({ action: 'decline' });
  expect(ada.notes[0]).toContain('calls for several people may be under way');
  bob.end();
  expect(await at.ask()).toEqual({ action: 'accept', content: {} });
});

test('A37 hostile: a second question for a call that waits is not put to the person of another call', async () => {
  const at = setup();
  const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<Elicit>>>();
  at.open('ada', () => promise);
  const first = at.ask();
  const asked: string[] = [];
  const bob = at.open('bob', async () => {
    asked.push('bob');
    return { action: 'accept', content: {} };
  });
  expect(await at.ask()).toEqual({ action: 'decline' });
  expect([asked, bob.notes]).toEqual([[], [expect.stringContaining('calls for several people may be under way')]]);
  resolve({ action: 'cancel', reason: 'no answer came in time' });
  expect(await first).toEqual({ action: 'cancel' });
});

test('A37 hostile: what a server said of one person is not told to the calls of others with the refusal', async () => {
  const at = setup();
  const [ada, bob] = [at.open('ada', yes), at.open('bob', yes)];
  await at.ask();
  await expect(at.requests.answer('sampling/createMessage', { message: 'Where?' }, signal)).rejects.toThrow('model');
  expect(ada.notes).toHaveLength(2);
  for (const note of [...ada.notes, ...bob.notes]) expect(note).toMatch(/^\[The server asked for \S+ and was refused: /);
  bob.end();
  await expect(at.requests.answer('sampling/createMessage', { message: 'Where?' }, signal)).rejects.toThrow('model');
  expect(ada.notes[2]).toContain('(“Where?”)');
});

test('A37 hostile: calls of which no person is known count as of several', async () => {
  const at = setup();
  const calls = [at.open(undefined), at.open(undefined)];
  expect(await at.ask()).toEqual({ action: 'decline' });
  await expect(at.requests.answer('roots/list', { message: 'Where?' }, signal)).rejects.toThrow('directories');
  for (const { notes } of calls) expect(notes.join()).not.toContain('Where?');
  expect(calls.map(({ notes }) => notes.length)).toEqual([2, 2]);
});

test('the next question of a person is for their call that waits for no answer yet', async () => {
  const at = setup();
  const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<Elicit>>>();
  at.open('ada', () => promise);
  const first = at.ask();
  at.open('ada', yes);
  expect(await at.ask()).toEqual({ action: 'accept', content: {} });
  resolve({ action: 'cancel', reason: 'no answer came in time' });
  expect(await first).toEqual({ action: 'cancel' });
});

test('a question that its server took back is no refusal: the model is told nothing', async () => {
  const at = setup();
  const takenBack = new AbortController();
  const { notes } = at.open('ada', async () => {
    takenBack.abort();
    return { action: 'cancel', reason: 'the server took the question back' };
  });
  const answer = await at.requests.answer('elicitation/create', PARAMS, takenBack.signal);
  expect([answer, notes, at.refused]).toEqual([{ action: 'cancel' }, [], []]);
});

test('two calls for one person ask that person', async () => {
  const at = setup();
  at.open('ada', yes);
  at.open('ada', yes);
  expect(await at.ask()).toEqual({ action: 'accept', content: {} });
});

test('the time in which a person is asked does not count for the limit of the call', async () => {
  const at = setup();
  const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<Elicit>>>();
  at.open('ada', () => promise);
  await at.clock.advance(900);
  const asked = at.ask();
  await at.clock.advance(24 * 3_600_000);
  expect([at.over, at.clock.sleeping]).toEqual([[], 0]);
  resolve({ action: 'accept', content: {} });
  await asked;
  await at.clock.advance(999);
  expect(at.over).toEqual([]);
  await at.clock.advance(1);
  expect(at.over).toEqual([new Error('no answer within 1 s')]);
});

test('progress gives a call its time again, ten times at most, whatever was asked meanwhile', async () => {
  const at = setup();
  const { limit } = at.open('ada', yes);
  for (let n = 0; n < 19; n += 1) {
    await at.clock.advance(500);
    limit.progress();
    if (n === 9) await at.ask();
  }
  expect(at.over).toEqual([]);
  await at.clock.advance(500);
  expect(at.over).toEqual([new Error('no answer within 10 s')]);
});
