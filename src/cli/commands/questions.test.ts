import { expect, test } from 'vitest';
import { DECLINED } from '../../core/wait.ts';
import { openJournal } from '../../journal/open.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { FakeClock, tempDir } from '../../testing/fakes.ts';

const HOUR = 3_600_000;
const LATE = { ok: false, output: 'late' };

/** The command line on a real journal with three open questions. */
async function setup(path: string) {
  const cli = new FakeCli(path);
  await cli.haveJournal();
  const dir = `${path}/journal`;
  const clock = new FakeClock(cli.clock.now());
  cli.openJournal = async (options) => await openJournal({ ...options, dir, sync: 'in-commit' });
  const opened = await openJournal({ dir, clock });
  const about = { to: 'owner', by: [], expiresAt: clock.now() + HOUR } as const;
  const choices = ['Red', 'Blue'].map((label) => ({ label, value: label.toLowerCase() }));
  const questions = [
    { code: 'AAAAAA', question: { ...about, text: 'May I \u001b[31mpay?', answer: 'approve' } },
    { code: 'BBBBBB', question: { ...about, text: 'Which colour?', answer: 'choice', choices } },
    { code: 'CCCCCC', question: { ...about, text: 'What then?', answer: 'text' } },
  ] as const;
  for (const { code, question } of questions) {
    await clock.advance(1);
    await opened.journal.commit([{ kind: 'ask', id: `q-${code}`, question, asked: { code, parts: [] }, late: LATE }]);
  }
  const value = async (code: string) => (await opened.journal.waits.byCode(code))?.value?.output;
  return { cli, journal: opened.journal, value, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}

test('open questions are listed with what answers them, and without what a terminal would obey', async () => {
  await using dir = await tempDir();
  await using at = await setup(dir.path);
  const { stdout, stderr, code } = await at.cli.run('questions', 'list');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^ID +ASKED +EXPIRES +TO +QUESTION\nAAAAAA .* owner +May I/);
  expect(stdout).not.toContain('\u001b');
  expect(stderr).toBe('→ gatehouse questions answer ID allow|deny, the number of a choice, or words\n');
  const json = JSON.parse((await at.cli.run('questions', 'list', '--json')).stdout);
  expect(json.questions.map((one: { code: string; answer: string }) => [one.code, one.answer])).toEqual([
    ['AAAAAA', 'approve'],
    ['BBBBBB', 'choice'],
    ['CCCCCC', 'text'],
  ]);
});

test('what is too long to be checked in a chat is shown as a whole', async () => {
  await using dir = await tempDir();
  await using at = await setup(dir.path);
  const expiresAt = at.cli.clock.now() + HOUR;
  const whole = `{\n  "to": "${'x'.repeat(2_000)}"\n}`;
  const question = { text: 'May I?', answer: 'approve', to: 'owner', by: ['cli'], whole, expiresAt } as const;
  await at.journal.commit([{ kind: 'ask', id: 'long', question, asked: { code: 'DDDDDD', parts: [] }, late: LATE }]);
  expect((await at.cli.run('questions', 'list')).stdout).toContain(`\nDDDDDD asks about:\n${whole}`);
  const json = JSON.parse((await at.cli.run('questions', 'list', '--json')).stdout);
  expect(json.questions).toContainEqual(expect.objectContaining({ code: 'DDDDDD', whole }));
});

test.each([
  ['AAAAAA', ['allow'], 'allow'],
  ['aaaaaa', ['Deny'], 'deny'],
  ['q-AAAAAA', ['1'], 'allow'],
  ['BBBBBB', ['2'], 'blue'],
  ['CCCCCC', ['at', 'noon'], 'at noon'],
])('%s is answered by %j, once', async (id, words, value) => {
  await using dir = await tempDir();
  await using at = await setup(dir.path);
  expect(await at.cli.run('questions', 'answer', id, ...words)).toMatchObject({ code: 0, stdout: `✓ answered: ${value}\n` });
  expect(await at.value(id.slice(-6).toUpperCase())).toBe(value);
  const again = await at.cli.run('questions', 'answer', id, ...words, '--json');
  expect([again.code, JSON.parse(again.stdout).error.message]).toEqual([
    1,
    expect.stringMatching(/^This question was answered already/),
  ]);
});

test.each([
  ['AAAAAA', 'maybe', 'answer with allow or deny'],
  ['BBBBBB', 'green', 'answer with 1 (Red), 2 (Blue)'],
])('%s is not answered by %s, and the error says what does', async (id, words, hint) => {
  await using dir = await tempDir();
  await using at = await setup(dir.path);
  const { code, stdout } = await at.cli.run('questions', 'answer', id, words, '--json');
  expect([code, JSON.parse(stdout).error]).toMatchObject([2, { code: 'GH1001', hint }]);
  expect(await at.value(id)).toBeUndefined();
});

test('a blank is no answer to a question that asks for words, and the hint says what is one', async () => {
  await using dir = await tempDir();
  await using at = await setup(dir.path);
  const { code, stderr } = await at.cli.run('questions', 'answer', 'CCCCCC', ' ');
  expect([code, stderr]).toEqual([2, expect.stringContaining('answer with words')]);
});

test('the question of a server is declined with deny, which does not reach the server as a word', async () => {
  await using dir = await tempDir();
  await using at = await setup(dir.path);
  const expiresAt = at.cli.clock.now() + HOUR;
  const question = { text: 'Where to?', answer: 'text', to: 'owner', by: ['test:ada'], named: true, expiresAt } as const;
  await at.journal.commit([{ kind: 'ask', id: 'srv', question, asked: { code: 'DDDDDD', parts: [] }, late: LATE }]);
  const blank = await at.cli.run('questions', 'answer', 'DDDDDD', ' ');
  expect(blank.stderr).toContain('answer with words, or deny to decline');
  expect(await at.cli.run('questions', 'answer', 'DDDDDD', 'Deny')).toMatchObject({ code: 0, stdout: '✓ declined\n' });
  expect(await at.journal.waits.find('srv')).toMatchObject({ value: DECLINED, by: 'cli' });
});

test('a question that there is not fails with GH1003', async () => {
  await using dir = await tempDir();
  await using at = await setup(dir.path);
  const { code, stderr } = await at.cli.run('questions', 'answer', 'ZZZZZZ', 'allow');
  expect([code, stderr]).toEqual([1, expect.stringContaining('GH1003 no question ZZZZZZ')]);
});

test('where there is no journal there are no questions, and none is made', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  expect((await cli.run('questions', 'list')).stdout).toBe('no open questions\n');
  expect((await cli.run('questions', 'answer', 'AAAAAA', 'allow')).code).toBe(1);
  expect(cli.opened).toEqual([]);
});

test('one is shown with all that is known of it, open and over', async () => {
  await using dir = await tempDir();
  await using at = await setup(dir.path);
  const expiresAt = at.cli.clock.now() + HOUR;
  const onBehalf = { head: 'On behalf of Ben (test:ben):', taint: 0 };
  const question = {
    text: '❓ Lunch?\n',
    answer: 'text',
    to: 'owner',
    by: ['test:ada'],
    who: 'Ada (test, ada)',
    onBehalf,
    expiresAt,
  } as const;
  await at.journal.commit([
    { kind: 'ask', id: 'lunch', question, asked: { code: 'DDDDDD', chat: 'test/bot/ada', parts: [] }, late: LATE },
  ]);
  const open = await at.cli.run('questions', 'show', 'dddddd');
  expect(open.stdout).toMatch(
    /^DDDDDD\nquestion: +❓ Lunch\?\nasked: .*\nof: +owner\nin: +test\/bot\/ada\non behalf: +On behalf of Ben \(test:ben\)\nstate: +open, until .*\(in 1 h\)\n$/,
  );
  expect(open.stderr).toContain('gatehouse questions answer DDDDDD');
  await at.cli.run('questions', 'answer', 'DDDDDD', 'at', 'noon');
  expect((await at.cli.run('questions', 'show', 'lunch')).stdout).toContain('answered: at noon (by cli)');
  const json = JSON.parse((await at.cli.run('questions', 'show', 'lunch', '--json')).stdout);
  expect(json).toMatchObject({
    schemaVersion: 1,
    question: { code: 'DDDDDD', who: 'Ada (test, ada)', onBehalf: 'On behalf of Ben (test:ben)', value: 'at noon' },
  });
  expect((await at.cli.run('questions', 'show', 'ZZZZZZ')).code).toBe(1);
});

test.each([
  ['AAAAAA', 'deny', 'answered: deny'],
  ['BBBBBB', DECLINED.output, 'declined'],
  ['CCCCCC', DECLINED.output, 'declined'],
])('%s is declined, which comes to %s', async (code, value, said) => {
  await using dir = await tempDir();
  await using at = await setup(dir.path);
  expect(await at.cli.run('questions', 'decline', code)).toMatchObject({ code: 0, stdout: `✓ ${said}\n` });
  expect(await at.value(code)).toBe(value);
  expect((await at.cli.run('questions', 'decline', code)).code).toBe(1);
});
