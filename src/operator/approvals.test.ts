import { describe, expect, test } from 'vitest';
import type { Journal } from '../core/journal.ts';
import type { Choice, InboundMessage } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import { openJournal } from '../journal/open.ts';
import { FakeClock, inbound, MemoryLogger, outbound, tempDir } from '../testing/fakes.ts';
import { begin } from '../testing/journal-rows.ts';
import { Approvals } from './approvals.ts';
import { overText } from './question-text.ts';

const MINUTE = 60_000;
const LATE = { ok: true, output: 'late' };
const OWNERS = 'test/bot/owner';

/**
 * A question, a real journal, and an owner who reads what is posted, and who writes in groups as `boss`.
 * `namesIds`: the config says so.
 */
async function setup(reachable = true, namesIds = false) {
  const dir = await tempDir();
  const clock = new FakeClock();
  const logger = new MemoryLogger();
  const opened = [await openJournal({ dir: dir.path, clock })];
  const posts: { id: string; text: string; expiresInMs: number; choices: readonly Choice[] }[] = [];
  const lookedAfter: string[] = [];
  const can = { reach: reachable };
  const owner: ConstructorParameters<typeof Approvals>[0]['owner'] = {
    isOwnersChat: ({ channel, chatId }) => chatId === 'owner' && channel === 'test',
    wrote: ({ isGroup, senderId }) => !isGroup || senderId === 'boss',
    namesIds: () => namesIds,
    lookAfter: async (_id, text) => void lookedAfter.push(text),
    prepare(id, text, { expiresInMs, choices = [] }) {
      if (!can.reach) return undefined;
      posts.push({ id, text, expiresInMs, choices });
      const part: NewPart = { part: outbound({ key: id, text }), lane: OWNERS, expiresAt: clock.now() + expiresInMs };
      return { chat: OWNERS, parts: [part], onDisk: () => undefined };
    },
  };
  const create = (journal: Journal) => new Approvals({ provesSender: (name) => name !== 'mail', clock, logger, journal, owner });
  const at = { journal: (opened[0] as (typeof opened)[0]).journal };
  let approvals = create(at.journal);
  let count = 0;
  const say = async (text: string, chatId = 'owner', more: Partial<InboundMessage> = {}) => {
    count += 1;
    const message = inbound({ chatId, text, platformId: `m${count}`, ...more });
    return { message, decision: await approvals.decide(message) };
  };
  /** Decided and on disk: what the person is told. */
  const answer = async (text: string, chatId?: string, more?: Partial<InboundMessage>) => {
    const { message, decision } = await say(text, chatId, more);
    if (!decision) return undefined;
    let over: string | undefined;
    const settles = decision.settled && {
      settled: decision.settled,
      over: (wait: Parameters<typeof overText>[0]) => {
        over = overText(wait);
        return [];
      },
    };
    const place = { lane: OWNERS, session: '_main:test:owner' };
    await at.journal.accept([
      { kind: 'answer', message, ...place, outcome: decision.outcome, parts: [], ...(settles ? { settles } : {}) },
    ]);
    return over ?? decision.answer;
  };
  let asked = 0;
  /** The id of the question, once it is on disk; undefined when it was not asked. */
  const ask = async () => {
    asked += 1;
    const expiresAt = clock.now() + 10 * MINUTE;
    return (await approvals.ask({ id: `q${asked}`, text: 'May I?', expiresAt, late: LATE }))?.id;
  };
  const wait = async (id = 'q1') => await at.journal.waits.find(id);
  const verdict = async (id = 'q1') => (await wait(id))?.value?.output;
  /** What a ticker does. */
  const expire = async (id = 'q1') => {
    await clock.advance(10 * MINUTE);
    await at.journal.commit([{ kind: 'settle', settled: { wait: id, value: LATE, by: 'due' } }]);
  };
  const code = (n = 0) => /\/allow ([A-Z2-9]{6})`/.exec(posts[n]?.text ?? '')?.[1] ?? 'no code';
  const restart = async () => {
    const next = await openJournal({ dir: dir.path, clock });
    opened.push(next);
    at.journal = next.journal;
    approvals = create(next.journal);
    return approvals;
  };
  return {
    ...{ clock, logger, posts, lookedAfter, can, say, answer, ask, wait, verdict, expire, code, restart },
    get approvals() {
      return approvals;
    },
    get journal() {
      return at.journal;
    },
    [Symbol.asyncDispose]: async () => {
      for (const one of opened) await one[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

/** A reply to a question, or to other words of ours. */
const quoting = (text: string, fromBot = true) => ({ replyTo: { platformId: 'q', text, fromBot } });
const UNQUOTED = { replyTo: { platformId: 'q', fromBot: true } };

describe('a question to the owner', () => {
  test('holds its text and both commands, and is of no use after ten minutes', async () => {
    await using at = await setup();
    await at.ask();
    const [post] = at.posts;
    expect(post?.text).toBe(`May I? Reply \`/allow ${at.code()}\` or \`/deny ${at.code()}\` within 10 minutes.`);
    expect(post?.expiresInMs).toBe(10 * MINUTE);
    expect((await at.wait())?.due).toBe(at.clock.now() + 10 * MINUTE);
    await at.answer(`/deny ${at.code()}`);
    expect(await at.verdict()).toBe('deny');
  });

  test.each([
    ['/allow CODE', 'allow', '✅ Allowed.'],
    ['/deny CODE', 'deny', '🛑 Denied.'],
    ['  /Allow   code  ', 'allow', '✅ Allowed.'],
    ['/allow CODE\n\n-- \nsent from a mail program', 'allow', '✅ Allowed.'],
    ['[Subject: Re: a call]\n/deny CODE', 'deny', '🛑 Denied.'],
  ])('is answered by %j', async (text, verdict, reply) => {
    await using at = await setup();
    await at.ask();
    expect(await at.answer(text.replace('CODE', at.code()).replace('code', at.code().toLowerCase()))).toBe(reply);
    expect(await at.verdict()).toBe(verdict);
  });

  test('is decided by the first answer; a second one, also the opposite, is told what was decided', async () => {
    await using at = await setup();
    await at.ask();
    await at.answer(`/deny ${at.code()}`);
    expect(await at.answer(`/allow ${at.code()}`)).toBe('This question was answered already: denied.');
    expect(await at.verdict()).toBe('deny');
    expect(await at.answer(`/deny ${at.code()}`)).toBe('This question was answered already: denied.');
  });

  test('is open until the answer is on disk; the same message again has the same effect', async () => {
    await using at = await setup();
    await at.ask();
    const { message, decision } = await at.say(`/allow ${at.code()}`);
    expect([decision?.answer, (await at.wait())?.isOpen]).toEqual(['✅ Allowed.', true]);
    expect(await at.approvals.decide(message)).toEqual(decision);
    expect(await at.answer(`/allow ${at.code()}`)).toBe('✅ Allowed.');
    expect((await at.wait())?.by).toBe('test:user-1');
  });

  test('two answers that were read at the same time: the one that is on disk first counts, the other is told', async () => {
    await using at = await setup();
    await at.ask();
    const both = await Promise.all([at.answer(`/allow ${at.code()}`), at.answer(`/deny ${at.code()}`)]);
    expect(both).toEqual(['✅ Allowed.', 'This question was answered already: allowed.']);
    expect(await at.verdict()).toBe('allow');
  });

  test('is not decided by asking whether a message would decide it', async () => {
    await using at = await setup();
    await at.ask();
    const looks = async (text: string, chatId = 'owner', more = {}) => (await at.say(text, chatId, more)).decision !== undefined;
    expect([await looks(`/allow ${at.code()}`), await looks('1', 'owner', UNQUOTED), await looks('/deny WRONG2')]).toEqual([
      true,
      true,
      true,
    ]);
    expect([await looks('hello'), await looks('/allow me', 'stranger')]).toEqual([false, false]);
    expect(await at.answer('2', 'owner', UNQUOTED)).toBe('🛑 Denied.');
    expect(await at.verdict()).toBe('deny');
  });

  test('hostile: a stranger with the right code decides nothing and learns nothing', async () => {
    await using at = await setup();
    await at.ask();
    const none = 'No question that you may answer here has this code.';
    expect(await at.answer(`/allow ${at.code()}`, 'stranger')).toBe(none);
    expect(await at.answer('/allow AAAAAA', 'stranger')).toBe(none);
    await at.expire();
    expect(await at.verdict()).toBe('late');
  });

  test('is answered by its code also after many presses of buttons that an earlier process posted', async () => {
    await using at = await setup();
    await at.ask();
    for (let n = 0; n < 30; n += 1) expect(await at.answer(`/allow 22222${n}`)).toBe('No open question has this code.');
    expect(await at.answer(`/allow ${at.code()}`)).toBe('✅ Allowed.');
    expect(await at.verdict()).toBe('allow');
  });

  test('that nobody answered in time is closed, and whoever comes later is told', async () => {
    await using at = await setup();
    await at.ask();
    await at.expire();
    expect(await at.verdict()).toBe('late');
    expect(await at.answer(`/allow ${at.code()}`)).toBe('Too late: this question is closed.');
  });

  test('survives a restart: it is looked after, asked no second time, and its code still answers it', async () => {
    await using at = await setup();
    await at.ask();
    const { text } = at.posts[0] ?? {};
    const after = await at.restart();
    await after.recover();
    expect(at.lookedAfter).toEqual([text]);
    expect(await after.ask({ id: 'q1', text: 'May I?', expiresAt: 0, late: LATE })).toMatchObject({ id: 'q1', isOpen: true });
    expect(at.posts).toHaveLength(1);
    expect(await at.answer(`/allow ${at.code()}`)).toBe('✅ Allowed.');
    expect(await at.verdict()).toBe('allow');
  });

  test('is asked once, however many ask it at the same time', async () => {
    await using at = await setup();
    const question = { id: 'same', text: 'May I?', expiresAt: at.clock.now() + MINUTE, late: LATE };
    const asked = await Promise.all(Array.from({ length: 5 }, () => at.approvals.ask(question)));
    expect([at.posts.length, new Set(asked.map((one) => one?.code)).size]).toEqual([1, 1]);
  });

  test('that reaches nobody is a no without a wait, and a warning', async () => {
    await using at = await setup(false);
    expect(await at.ask()).toBeUndefined();
    expect(at.logger.lines).toMatchObject([{ level: 'warn', event: 'owner.not-asked' }]);
  });

  test('hostile: however many chats meet a limit, the owner is asked twenty times an hour', async () => {
    await using at = await setup();
    for (let n = 0; n < 30; n += 1) {
      const asked = await at.ask();
      expect(asked === undefined).toBe(n >= 20);
      await at.answer(`/deny ${at.code(n)}`);
    }
    expect(at.posts).toHaveLength(20);
    expect(new Set(at.posts.map((_post, n) => at.code(n))).size).toBe(20);
    await at.clock.advance(60 * MINUTE);
    expect(await at.ask()).toBe('q31');
  });

  test('counts for the hour only where it could be put into a chat', async () => {
    await using at = await setup(false);
    for (let n = 0; n < 20; n += 1) expect(await at.ask()).toBeUndefined();
    at.can.reach = true;
    for (let n = 0; n < 20; n += 1) expect(await at.ask()).toBeDefined();
    expect(await at.ask()).toBeUndefined();
  });
});

describe('a question to the owner in a group', () => {
  const IN_GROUP = { isGroup: true };
  /** A run of `user-1` waits for the answer. */
  async function waitFor(journal: Journal, about: string): Promise<void> {
    const { seq, generation } = await begin(journal, 'waits');
    const waits = [{ callId: 'model/0', kind: 'signal', about }] as const;
    await journal.commit([], { seq, generation, end: { state: 'PARKED', outcome: 'parked', waits, historyTo: '' } });
  }

  test('is answered by an id of the owner alone, where the config names one', async () => {
    await using at = await setup(true, true);
    await at.ask();
    const words = `/allow ${at.code()}`;
    expect(await at.answer(words, 'owner', { ...IN_GROUP, senderId: 'member' })).toBe('Only the owner may answer this.');
    expect(await at.answer('1', 'owner', { ...IN_GROUP, ...UNQUOTED, senderId: 'member' })).toBeUndefined();
    expect((await at.wait())?.isOpen).toBe(true);
    expect(await at.answer(words, 'owner', { ...IN_GROUP, senderId: 'boss' })).toBe('✅ Allowed.');
  });

  test('of a run is looked after below the line that says on whose behalf it is asked', async () => {
    await using at = await setup();
    const onBehalf = { head: 'On behalf of Ben (test:ben):', taint: 0 };
    const expiresAt = at.clock.now() + 10 * MINUTE;
    const question = { text: '❓ Pay?\n', answer: 'text', to: 'owner', by: [], expiresAt, onBehalf } as const;
    const asked = { code: 'ABCDEF', chat: OWNERS, parts: [] };
    await at.journal.commit([{ kind: 'ask', id: 'q', question, asked, late: LATE }]);
    await (await at.restart()).recover();
    expect(at.lookedAfter).toEqual([expect.stringMatching(/^On behalf of Ben \(test:ben\):\n\n❓ Pay\?/)]);
  });

  test('is answered by no member where the config names no id, also after a restart, and they are told why', async () => {
    await using at = await setup();
    await at.ask();
    const words = `/allow ${at.code()}`;
    const why = expect.stringMatching(/^Only the owner may answer this\. .*`sender_ids`.* names none/);
    expect(await at.answer(words, 'owner', { ...IN_GROUP, senderId: 'member' })).toEqual(why);
    await at.restart();
    expect(await at.answer(words, 'owner', { ...IN_GROUP, senderId: 'member' })).toEqual(why);
    expect(await at.answer('1', 'owner', { ...IN_GROUP, ...UNQUOTED, senderId: 'member' })).toBeUndefined();
    expect((await at.wait())?.isOpen).toBe(true);
  });

  test('that asks for the owner’s own request is answered in their private chat', async () => {
    await using at = await setup();
    await at.ask();
    await waitFor(at.journal, 'q1');
    expect(await at.answer(`/allow ${at.code()}`)).toBe('✅ Allowed.');
  });
});

describe('a choice without its code', () => {
  test('is offered to press, with the code in it', async () => {
    await using at = await setup();
    await at.ask();
    expect(at.posts[0]?.choices).toEqual([
      { label: 'Allow', value: `/allow ${at.code()}` },
      { label: 'Deny', value: `/deny ${at.code()}` },
    ]);
  });

  test.each([
    ['1', 'allow'],
    ['2.', 'deny'],
    ['ALLOW', 'allow'],
    [' deny ', 'deny'],
    ['1\n\n-- \nsent from a mail program', 'allow'],
    ['[Subject: Re: a call]\n2', 'deny'],
  ])('typed as %j answers the one open question', async (text, verdict) => {
    await using at = await setup();
    await at.ask();
    expect(await at.answer(text, 'owner', UNQUOTED)).toBe(verdict === 'allow' ? '✅ Allowed.' : '🛑 Denied.');
    expect(await at.verdict()).toBe(verdict);
  });

  test.each(['1', '2', 'allow', 'deny'])(
    '%j that is no reply is an ordinary message, also while a question is open',
    async (text) => {
      await using at = await setup();
      await at.ask();
      expect(await at.answer(text)).toBeUndefined();
      expect((await at.wait())?.isOpen).toBe(true);
    },
  );

  test('is an ordinary message when no question is open, also after one was answered or is over', async () => {
    await using at = await setup();
    expect(await at.answer('1', 'owner', UNQUOTED)).toBeUndefined();
    await at.ask();
    await at.answer('1', 'owner', UNQUOTED);
    expect(await at.answer('2', 'owner', UNQUOTED)).toBeUndefined();
    expect(await at.verdict()).toBe('allow');
    await at.ask();
    await at.expire('q2');
    expect(await at.answer('1', 'owner', UNQUOTED)).toBeUndefined();
    expect(await at.verdict('q2')).toBe('late');
  });

  test.each(['3', '0', 'allow it', 'yes', '11', '1 2'])('%j is none', async (text) => {
    await using at = await setup();
    await at.ask();
    expect(await at.answer(text, 'owner', UNQUOTED)).toBeUndefined();
  });

  test('hostile: typed by a stranger, or in another chat of the owner, decides nothing', async () => {
    await using at = await setup();
    await at.ask();
    expect(await at.answer('1', 'stranger', UNQUOTED)).toBeUndefined();
    expect(await at.answer('1', 'owner', { ...UNQUOTED, channel: 'other' })).toBeUndefined();
    expect((await at.wait())?.isOpen).toBe(true);
  });

  test('with several open ones asks which; as a reply it answers the one it replies to, open or over', async () => {
    await using at = await setup();
    const { answer, code, posts } = at;
    await at.ask();
    await at.clock.advance(1);
    await at.ask();
    expect(await answer('1', 'owner', UNQUOTED)).toBe(
      `2 questions are open (\`${code(0)}\`, \`${code(1)}\`). Answer one with \`/allow CODE\` or \`/deny CODE\`.`,
    );
    expect(await answer('2', 'owner', quoting(posts[1]?.text ?? ''))).toBe('🛑 Denied.');
    expect(await at.verdict('q2')).toBe('deny');
    expect(await answer('1', 'owner', quoting(posts[1]?.text ?? ''))).toBe('This question was answered already: denied.');
    expect(await answer('1', 'owner', UNQUOTED)).toBe('✅ Allowed.');
    expect(await at.verdict('q1')).toBe('allow');
  });

  test('where the agent offered choices a number is asked about, a word is not; after its next answer neither is', async () => {
    await using at = await setup();
    const { answer, code, approvals } = at;
    await at.ask();
    const own = inbound({ chatId: 'owner' });
    approvals.noteAnswer(own, true);
    const which = `A question is open (\`${code()}\`). Answer it with \`/allow CODE\` or \`/deny CODE\`.`;
    expect(await answer('1', 'owner', UNQUOTED)).toBe(which);
    approvals.noteAnswer(inbound({ chatId: 'another' }), false);
    expect(await answer('2', 'owner', UNQUOTED)).toContain('A question is open');
    approvals.noteAnswer(own, false);
    expect(await answer('1', 'owner', UNQUOTED)).toBe('✅ Allowed.');
    expect(await at.verdict()).toBe('allow');
  });

  test('hostile: a reply to something else is about that, also when somebody else wrote the code into it', async () => {
    await using at = await setup();
    await at.ask();
    const { answer, posts } = at;
    expect(await answer('1', 'owner', { replyTo: { platformId: 'q', fromBot: false } })).toBeUndefined();
    expect(await answer('1', 'owner', quoting('1. apples\n2. pears'))).toBeUndefined();
    expect(await answer('1', 'owner', quoting(posts[0]?.text ?? '', false))).toBeUndefined();
    expect((await at.wait())?.isOpen).toBe(true);
  });

  test('that was not committed counts for the same message again, and for no other', async () => {
    await using at = await setup();
    await at.ask();
    const { message, decision } = await at.say('1', 'owner', UNQUOTED);
    expect((await at.approvals.decide(message))?.settled).toEqual(decision?.settled);
    expect(await at.answer('2', 'owner', UNQUOTED)).toBe('🛑 Denied.');
    expect(await at.approvals.decide(message)).toBeUndefined();
  });
});

test.each(['hello', '/allowed', '/stop', 'allow ABCDEF', ''])('%j is an ordinary message of the owner', async (text) => {
  await using at = await setup();
  expect(await at.answer(text)).toBeUndefined();
});

test.each(['/allow', '/deny', '/allow ABCDEF now'])('%j names no question, and says so to the owner', async (text) => {
  await using at = await setup();
  expect(await at.answer(text)).toBe('No open question has this code.');
});
