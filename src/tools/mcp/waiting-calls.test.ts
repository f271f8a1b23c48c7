// Calls that wait for people, against a journal on disk and servers that are functions of the test.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Asker, ToolResult } from '../../core/tool.ts';
import { DECLINED, nthWait, type Question } from '../../core/wait.ts';
import { type OpenedJournal, openJournal } from '../../journal/open.ts';
import { FakeClock, MemoryLogger, tempDir, until } from '../../testing/fakes.ts';
import type { Elicitation, Field } from './elicitation.ts';
import type { Elicit, Elicited } from './server-requests.ts';
import { WaitingCalls } from './waiting-calls.ts';

const ASKER: Asker = { principal: 'test:ada', to: { channel: 'test', account: 'bot', chatId: 'chat-1' } };
const MINUTE = 60_000;
const text = (name: string): Field => ({
  ...{ kind: 'text', name, title: name, description: '', isRequired: true, min: 1, max: 5 },
});
const form = (...names: readonly string[]): Elicitation => ({ message: 'Please', fields: names.map(text) });
const said = (output: string): ToolResult => ({ ok: true, output });
const { signal } = new AbortController();

let dir: Awaited<ReturnType<typeof tempDir>>;
let opened: OpenedJournal;
const clock = new FakeClock();

beforeAll(async () => {
  dir = await tempDir();
  opened = await openJournal({ dir: dir.path, clock });
});

afterAll(async () => {
  await opened[Symbol.asyncDispose]();
  await dir[Symbol.asyncDispose]();
});

let made = 0;

/** A call whose server does what `serve` does; its result tells what came of the questions. */
function setup(calls = new WaitingCalls({ journal: opened.journal, clock, logger: new MemoryLogger() })) {
  made += 1;
  const key = `run/${made}#call`;
  const aborted: unknown[] = [];
  const call = (serve: (elicit: Elicit, ending: AbortSignal) => Promise<unknown>, server = 'srv') =>
    calls.run(
      {
        ...{ key, server, asker: ASKER },
        work: async (elicit, ending) => {
          ending.addEventListener('abort', () => aborted.push(ending.reason));
          if (!elicit) throw new Error('no person');
          return said(JSON.stringify(await serve(elicit, ending)));
        },
      },
      signal,
    );
  const resume = (...values: readonly (string | ToolResult)[]) =>
    calls.resume(
      key,
      values.map((value) => (typeof value === 'string' ? said(value) : value)),
      signal,
    );
  return { calls, key, aborted, call, resume };
}

function questionIn(result: ToolResult | undefined): Question {
  if (result?.wait?.kind !== 'person') throw new Error(`no question: ${JSON.stringify(result)}`);
  return result.wait.about;
}

const once = (question: Elicitation) => (elicit: Elicit) => elicit(question, signal);
const never = () => new Promise<never>(() => undefined);

test('each field is a question, and the answers go to the server together', async () => {
  const at = setup();
  expect(questionIn(await at.call(once(form('a', 'b'))))).toMatchObject({
    ...{ answer: 'text', named: true, by: ['test:ada'], to: ASKER.to, about: { mcp: 'srv' } },
    text: expect.stringContaining('(1 of 2)'),
  });
  expect(questionIn(await at.resume('one')).text).toContain('(2 of 2)');
  expect(await at.resume('one', 'two')).toEqual(said('{"action":"accept","content":{"a":"one","b":"two"}}'));
  expect(at.calls.size).toBe(0);
  // The process that made it knows no more of it.
  expect(await at.resume('one', 'two')).toBeUndefined();
});

test('an attempt that is cut off before it parks is asked the same again, and its answer is taken once', async () => {
  const at = setup();
  const first = questionIn(await at.call(once(form('a', 'b'))));
  expect(questionIn(await at.resume()).text).toBe(first.text);
  const second = questionIn(await at.resume('one'));
  expect(questionIn(await at.resume('one')).text).toBe(second.text);
  expect(await at.resume('one', 'two')).toEqual(said('{"action":"accept","content":{"a":"one","b":"two"}}'));
});

test('after three answers that do not fit, no, or none, the server is told so', async () => {
  const wrong = setup();
  await wrong.call(once(form('a')));
  expect(questionIn(await wrong.resume('too long')).text).toContain('That is not text (1 to 5 characters).');
  expect(questionIn(await wrong.resume('too long', 'too long again')).text).toContain('That is not');
  const third = await wrong.resume('too long', 'too long again', 'and again');
  expect(third).toEqual(said('{"action":"cancel","reason":"the person gave 3 answers that do not fit"}'));
  const no = setup();
  await no.call(once(form('a')));
  expect(await no.resume(DECLINED)).toMatchObject({ output: expect.stringContaining('"decline"') });
  const late = setup();
  await late.call(once(form('a')));
  expect(await late.resume({ ok: false, output: 'Error: no answer came in time' })).toEqual(
    said('{"action":"cancel","reason":"no answer came in time"}'),
  );
});

test('hostile: an answer to a question that the server took back goes to no other question of it', async () => {
  const at = setup();
  const back = new AbortController();
  const first = questionIn(
    await at.call((elicit) => Promise.all([elicit(form('city'), back.signal), elicit(form('card'), signal)])),
  );
  expect(first.text).toContain('city');
  back.abort();
  const second = questionIn(await at.resume('Rome'));
  expect(second.text).toContain('card');
  expect(await at.resume('Rome', DECLINED)).toEqual(
    said(
      '[{"action":"cancel","reason":"the server did not wait for the answer"},{"action":"decline","reason":"the person declined to answer"}]',
    ),
  );
});

test('hostile: a server that asks on and on is told no in the end', async () => {
  const at = setup();
  const fields = Array.from({ length: 60 }, (_, n) => `f${n}`);
  let result = await at.call(once(form(...fields)));
  const values: string[] = [];
  while (result.wait) {
    values.push('x');
    const next = await at.resume(...values);
    if (!next) throw new Error('lost');
    result = next;
  }
  expect([values.length, result.output]).toEqual([40, '{"action":"decline","reason":"it asked too much in one call"}']);
});

test('of one server eight calls wait at most, of all servers thirty-two', async () => {
  const { calls } = setup();
  const waits = async (server: string): Promise<boolean> => (await setup(calls).call(once(form('a')), server)).wait !== undefined;
  for (let n = 0; n < 32; n += 1) expect(await waits(`srv${Math.floor(n / 8)}`)).toBe(true);
  expect([await waits('srv0'), await waits('srv9')]).toEqual([false, false]);
  await calls[Symbol.asyncDispose]();
  expect(calls.size).toBe(0);
});

test.each(['at work', 'with a question'])('an abort gives up a call that is %s, and the server hears of it', async (when) => {
  const at = setup();
  const stop = new AbortController();
  const came: Elicited[] = [];
  await at.call(async (elicit, ending) => {
    came.push(await elicit(form('a'), signal));
    ending.throwIfAborted();
  });
  const values = when === 'at work' ? [said('one')] : [];
  const pending = at.calls.resume(at.key, values, stop.signal);
  if (when === 'at work') {
    // Before the server has gone on.
    stop.abort(new Error('stopped'));
    await expect(pending).rejects.toThrow('stopped');
    expect(at.calls.size).toBe(0);
  } else {
    await pending;
    await at.calls[Symbol.asyncDispose]();
    await until('it heard', () => came.length > 0);
    expect(came).toEqual([{ action: 'cancel', reason: 'the call was given up' }]);
  }
  expect(at.aborted).toHaveLength(1);
});

async function asks(id: string, question: Question): Promise<void> {
  const asked = { code: `C${id}`, chat: 'test/bot/chat-1', parts: [] };
  await opened.journal.commit([{ kind: 'ask', id, question, asked, late: { ok: false, output: 'late' } }]);
}

test('a question that the server no longer asks is closed, and a call whose run never comes back is given up', async () => {
  const at = setup();
  const back = new AbortController();
  await asks(at.key, questionIn(await at.call((elicit) => Promise.all([elicit(form('a'), back.signal), never()]))));
  await clock.advance(10 * MINUTE);
  expect((await opened.journal.waits.find(at.key))?.isOpen).toBe(true);
  back.abort();
  await until('it is closed', async () => {
    await clock.advance(2_000);
    return (await opened.journal.waits.find(at.key))?.isOpen === false;
  });
  await until('it is given up', async () => {
    await clock.advance(MINUTE);
    return at.calls.size === 0;
  });
  expect(at.aborted).toHaveLength(1);
});

test('a call whose run ended is given up at the next look', async () => {
  const at = setup();
  await asks(at.key, questionIn(await at.call(once(form('a')))));
  await opened.journal.commit([
    { kind: 'settle', settled: { wait: at.key, value: { ok: false, output: 'Error' }, by: 'withdrawn' } },
  ]);
  await until('it is given up', async () => {
    await clock.advance(2_000);
    return at.calls.size === 0;
  });
  expect(at.aborted).toHaveLength(1);
});

test('at a start questions that no call waits for are closed, and no others', async () => {
  const at = setup();
  const question = questionIn(await at.call(once(form('a'))));
  const { about: _, ...other } = question;
  await asks('lost', question);
  await asks('other', other);
  await setup().calls.closeLost();
  const isOpen = async (id: string) => (await opened.journal.waits.find(id))?.isOpen;
  expect([await isOpen('lost'), await isOpen('other')]).toEqual([false, true]);
  expect((await opened.journal.waits.find('lost'))?.by).toBe('withdrawn');
});

test('the first wait of a call has its own id, each further one a number', () => {
  expect([nthWait('r#c', 1), nthWait('r#c', 2)]).toEqual(['r#c', 'r#c~2']);
});
