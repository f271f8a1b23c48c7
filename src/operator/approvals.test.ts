import { describe, expect, test } from 'vitest';
import type { Choice, InboundMessage } from '../core/message.ts';
import { FakeClock, inbound, MemoryLogger } from '../testing/fakes.ts';
import { Approvals } from './approvals.ts';

const MINUTE = 60_000;

function setup(reachable = true) {
  const clock = new FakeClock();
  const logger = new MemoryLogger();
  const posts: { id: string; text: string; expiresInMs: number; choices: readonly Choice[] }[] = [];
  const approvals = new Approvals({
    clock,
    logger,
    owner: {
      isOwnersChat: ({ chatId }) => chatId === 'owner',
      post: async (id, text, { expiresInMs, choices = [] }) => {
        if (reachable) posts.push({ id, text, expiresInMs, choices });
        return reachable ? { channel: 'test', chatId: 'owner' } : undefined;
      },
    },
  });
  let count = 0;
  const say = (text: string, chatId = 'owner', more: Partial<InboundMessage> = {}) => {
    count += 1;
    const message = inbound({ chatId, text, platformId: `m${count}`, ...more });
    return { message, decision: approvals.decide(message) };
  };
  /** Decided and on disk. */
  const answer = (text: string, chatId?: string, more?: Partial<InboundMessage>) => {
    const { message, decision } = say(text, chatId, more);
    if (decision) approvals.committed(message.id);
    return decision?.answer;
  };
  const ask = (signal = new AbortController().signal) => approvals.ask('May I?', signal);
  const code = (n = 0) => /\/allow ([A-Z2-9]{6})`/.exec(posts[n]?.text ?? '')?.[1] ?? 'no code';
  return { clock, logger, posts, approvals, say, answer, ask, code };
}

describe('a question to the owner', () => {
  test('holds its text and both commands, and is of no use after ten minutes', async () => {
    const { posts, ask, answer, code } = setup();
    const asked = ask();
    expect(posts[0]?.text).toBe(`May I? Reply \`/allow ${code()}\` or \`/deny ${code()}\` within 10 minutes.`);
    expect(posts[0]?.expiresInMs).toBe(10 * MINUTE);
    answer(`/deny ${code()}`);
    expect(await asked).toBe(false);
  });

  test.each([
    ['/allow CODE', true, '✅ Allowed.'],
    ['/deny CODE', false, '🛑 Denied.'],
    ['  /Allow   code  ', true, '✅ Allowed.'],
    ['/allow CODE\n\n-- \nsent from a mail program', true, '✅ Allowed.'],
    ['[Subject: Re: a call]\n/deny CODE', false, '🛑 Denied.'],
  ])('is answered by %j', async (text, verdict, reply) => {
    const { ask, answer, code } = setup();
    const asked = ask();
    expect(answer(text.replace('CODE', code()).replace('code', code().toLowerCase()))).toBe(reply);
    expect(await asked).toBe(verdict);
  });

  test('is decided by the first answer; a second one, also the opposite, is told what was decided', async () => {
    const { ask, answer, code } = setup();
    const asked = ask();
    answer(`/deny ${code()}`);
    expect(answer(`/allow ${code()}`)).toBe('This question was answered already: denied.');
    expect(await asked).toBe(false);
    expect(answer(`/deny ${code()}`)).toBe('This question was answered already: denied.');
  });

  test('is open until the answer is on disk; the same message again has the same effect', async () => {
    const { approvals, ask, say, code, clock } = setup();
    const asked = ask();
    let verdict: unknown = 'open';
    void asked.then((value) => {
      verdict = value;
    });
    const { message } = say(`/allow ${code()}`);
    await clock.advance(1);
    expect(verdict).toBe('open');
    expect(approvals.decide(message)?.answer).toBe('✅ Allowed.');
    approvals.committed(message.id);
    expect(await asked).toBe(true);
  });

  test('is not decided by asking whether a message would decide it', async () => {
    const { approvals, ask, answer, code, clock } = setup();
    const asked = ask();
    await clock.advance(0);
    const looks = (text: string, chatId = 'owner') => approvals.concerns(inbound({ chatId, text, platformId: 'other' }));
    expect([looks(`/allow ${code()}`), looks('1'), looks('/deny WRONG2')]).toEqual([true, true, true]);
    expect([looks('hello'), looks(`/allow ${code()}`, 'stranger')]).toEqual([false, false]);
    expect(answer('2')).toBe('🛑 Denied.');
    expect(await asked).toBe(false);
  });

  test('hostile: a stranger with the right code decides nothing and learns nothing', async () => {
    const { ask, answer, code, clock } = setup();
    const asked = ask();
    expect(answer(`/allow ${code()}`, 'stranger')).toBeUndefined();
    expect(answer('/allow AAAAAA', 'stranger')).toBeUndefined();
    await clock.advance(10 * MINUTE);
    expect(await asked).toBeUndefined();
  });

  test('is answered by its code also after many presses of buttons that an earlier process posted', async () => {
    const { ask, answer, code } = setup();
    const asked = ask();
    for (let n = 0; n < 30; n += 1) expect(answer(`/allow 22222${n}`)).toBe('No open question has this code.');
    expect(answer(`/allow ${code()}`)).toBe('✅ Allowed.');
    expect(await asked).toBe(true);
  });

  test('nobody answers for ten minutes: undefined, and whoever comes later is told', async () => {
    const { ask, answer, code, clock } = setup();
    const asked = ask();
    await clock.advance(10 * MINUTE);
    expect(await asked).toBeUndefined();
    expect(answer(`/allow ${code()}`)).toBe('Too late: this question is closed.');
  });

  test('ends at once with the reason of the signal, before and while it waits', async () => {
    const { ask, answer, code, clock } = setup();
    const reason = new Error('stopped');
    await expect(ask(AbortSignal.abort(reason))).rejects.toBe(reason);
    const stop = new AbortController();
    const asked = ask(stop.signal);
    stop.abort(reason);
    await expect(asked).rejects.toBe(reason);
    await clock.advance(0);
    expect(answer(`/allow ${code()}`)).toBe('Too late: this question is closed.');
  });

  test('that reaches nobody is a no without a wait, and a warning', async () => {
    const { ask, logger } = setup(false);
    expect(await ask()).toBeUndefined();
    expect(logger.lines).toMatchObject([{ level: 'warn', event: 'owner.not-asked' }]);
  });

  test('three are open at once, each with a code of its own; the next is a no without a wait, and a closed one makes room', async () => {
    const { ask, answer, code, posts } = setup();
    const open = Array.from({ length: 3 }, () => ask());
    expect(await ask()).toBeUndefined();
    expect(posts).toHaveLength(3);
    expect(new Set(posts.map((_post, n) => code(n))).size).toBe(3);
    answer(`/allow ${code(1)}`);
    expect(await open[1]).toBe(true);
    const next = ask();
    answer(`/allow ${code(3)}`);
    expect(await next).toBe(true);
  });

  test('hostile: however many chats meet a limit, the owner is asked twenty times an hour', async () => {
    const { ask, answer, code, posts, clock } = setup();
    for (let n = 0; n < 30; n += 1) {
      const asked = ask();
      answer(`/deny ${code(n)}`);
      expect(await asked).toBe(n < 20 ? false : undefined);
    }
    expect(posts).toHaveLength(20);
    await clock.advance(60 * MINUTE);
    const asked = ask();
    answer(`/allow ${code(20)}`);
    expect(await asked).toBe(true);
  });
});

describe('a choice without its code', () => {
  const quoting = (text: string, fromBot = true) => ({ replyTo: { platformId: 'q', text, fromBot } });

  test('is offered to press, with the code in it', () => {
    const { ask, posts, code } = setup();
    void ask();
    expect(posts[0]?.choices).toEqual([
      { label: 'Allow', value: `/allow ${code()}` },
      { label: 'Deny', value: `/deny ${code()}` },
    ]);
  });

  test.each([
    ['1', true],
    ['2.', false],
    ['ALLOW', true],
    [' deny ', false],
    ['1\n\n-- \nsent from a mail program', true],
    ['[Subject: Re: a call]\n2', false],
  ])('typed as %j answers the one open question', async (text, verdict) => {
    const { ask, answer, clock } = setup();
    const asked = ask();
    await clock.advance(0);
    expect(answer(text)).toBe(verdict ? '✅ Allowed.' : '🛑 Denied.');
    expect(await asked).toBe(verdict);
  });

  test('is an ordinary message when no question is open, also after one was answered or is over', async () => {
    const { ask, answer, clock } = setup();
    expect(answer('1')).toBeUndefined();
    const asked = ask();
    await clock.advance(0);
    answer('1');
    expect(answer('2')).toBeUndefined();
    expect(await asked).toBe(true);
    const late = ask();
    await clock.advance(10 * MINUTE);
    expect(answer('1')).toBeUndefined();
    expect(await late).toBeUndefined();
  });

  test.each(['3', '0', 'allow it', 'yes', '11', '1 2'])('%j is none', async (text) => {
    const { ask, answer, clock } = setup();
    void ask();
    await clock.advance(0);
    expect(answer(text)).toBeUndefined();
  });

  test('hostile: typed by a stranger, or in another chat of the owner, decides nothing', async () => {
    const { ask, answer, clock } = setup();
    const asked = ask();
    await clock.advance(0);
    expect(answer('1', 'stranger')).toBeUndefined();
    expect(answer('1', 'owner', { channel: 'other' })).toBeUndefined();
    await clock.advance(10 * MINUTE);
    expect(await asked).toBeUndefined();
  });

  test('with several open ones asks which; as a reply it answers the one it replies to, open or over', async () => {
    const { ask, answer, code, posts, clock } = setup();
    const asked = [ask(), ask()];
    await clock.advance(0);
    expect(answer('1')).toBe(
      `2 questions are open (\`${code(0)}\`, \`${code(1)}\`). Answer one with \`/allow CODE\` or \`/deny CODE\`.`,
    );
    expect(answer('2', 'owner', quoting(posts[1]?.text ?? ''))).toBe('🛑 Denied.');
    expect(await asked[1]).toBe(false);
    expect(answer('1', 'owner', quoting(posts[1]?.text ?? ''))).toBe('This question was answered already: denied.');
    expect(answer('1', 'owner', { replyTo: { platformId: 'q', fromBot: true } })).toBe('✅ Allowed.');
    expect(await asked[0]).toBe(true);
  });

  test('where the agent offered choices a number is asked about, a word is not; after its next answer neither is', async () => {
    const { ask, answer, code, approvals, clock } = setup();
    const asked = ask();
    await clock.advance(0);
    const own = inbound({ chatId: 'owner' });
    approvals.noteAnswer(own, true);
    expect(answer('1')).toBe(`A question is open (\`${code()}\`). Answer it with \`/allow CODE\` or \`/deny CODE\`.`);
    approvals.noteAnswer(inbound({ chatId: 'another' }), false);
    expect(answer('2')).toContain('A question is open');
    approvals.noteAnswer(own, false);
    expect(answer('1')).toBe('✅ Allowed.');
    expect(await asked).toBe(true);
  });

  test('hostile: a reply to something else is about that, also when somebody else wrote the code into it', async () => {
    const { ask, answer, posts, clock } = setup();
    const asked = ask();
    await clock.advance(0);
    expect(answer('1', 'owner', { replyTo: { platformId: 'q', fromBot: false } })).toBeUndefined();
    expect(answer('1', 'owner', quoting('1. apples\n2. pears'))).toBeUndefined();
    expect(answer('1', 'owner', quoting(posts[0]?.text ?? '', false))).toBeUndefined();
    await clock.advance(10 * MINUTE);
    expect(await asked).toBeUndefined();
  });

  test('that was not committed counts for the same message again, and for no other', async () => {
    const { approvals, ask, say, clock } = setup();
    const asked = ask();
    await clock.advance(0);
    const { message, decision } = say('1');
    expect([decision?.answer, approvals.decide(message)?.answer]).toEqual(['✅ Allowed.', '✅ Allowed.']);
    expect(say('2').decision).toBeUndefined();
    approvals.committed(message.id);
    expect(await asked).toBe(true);
  });
});

test.each(['hello', '/allowed', '/stop', 'allow ABCDEF', ''])('%j is an ordinary message of the owner', (text) => {
  expect(setup().answer(text)).toBeUndefined();
});

test.each(['/allow', '/deny', '/allow ABCDEF now'])('%j names no question, and says so to the owner', (text) => {
  expect(setup().answer(text)).toBe('No open question has this code.');
});
