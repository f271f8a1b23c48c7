import { expect, test } from 'vitest';
import { formatMessages, toMessage } from '../../sessions/session-file.ts';
import { ERASED, type Theirs } from '../core/erasure.ts';
import type { SessionMessage } from '../core/session.ts';
import { storedStem } from '../media/fetch-file.ts';
import { eraseRule, knownFrom, phrasesOf } from './erase-lines.ts';

const EVE: Theirs = { principals: new Set(['test:eve']), runs: new Set(['test/bot/9']), names: ['Eve'] };
const HASH = 'erased:0';
const at = '2026-01-01T00:00:00.000Z';

function line(id: string, role: SessionMessage['role'], content: string, more: Partial<SessionMessage> = {}): SessionMessage {
  return { id, role, content, timestamp: at, ...more };
}

function erased(lines: readonly SessionMessage[], who = EVE): readonly SessionMessage[] {
  const { change } = eraseRule(who, HASH, lines);
  return lines.map((one) => change(one) ?? one);
}

test('every line of a run of theirs is erased: words, calls, results and files, and calls keep their results', () => {
  const lines = [
    line('test/bot/1:in', 'user', '[from Eve] my secret', { by: 'test:eve', media: ['uploads/a'] }),
    line('test/bot/1#a1', 'assistant', '', {
      tool_calls: [{ id: 'c', name: 'note', arguments: '{"text":"my secret"}' }],
      reasoning_content: 'her secret',
      provider_state: { provider: 'p', model: 'm', data: 'secret' },
    }),
    line('test/bot/1#t1', 'tool', 'noted: my secret', { tool_call_id: 'c', taint: 1 }),
    line('test/bot/2:in', 'user', '[from Ada] and I', { by: 'test:ada' }),
  ];
  expect(erased(lines)).toEqual([
    line('test/bot/1:in', 'user', ERASED, { by: HASH }),
    line('test/bot/1#a1', 'assistant', '', { tool_calls: [{ id: 'c', name: 'note', arguments: '{}' }] }),
    line('test/bot/1#t1', 'tool', ERASED, { tool_call_id: 'c', taint: 1 }),
    lines[3],
  ]);
});

test('done twice it changes nothing, also where the id of the person is known no more', () => {
  const lines = [line('test/bot/1:in', 'user', '[from Eve] x', { by: 'test:eve' }), line('test/bot/1#a1', 'assistant', 'to x')];
  const once = erased(lines);
  expect(erased(once)).toEqual(once);
  // A kill between archive and session: what lies behind is found by the line that was erased before.
  const half = [once[0], lines[1]].flatMap((one) => one ?? []);
  expect(erased(half, { ...EVE, principals: new Set() })).toEqual(once);
});

test('lines of an earlier version, which do not say whose they are, go by the name above the words', () => {
  const lines = [
    line(
      'test/bot/1:in',
      'user',
      '[said in this group since you last spoke, not to you:\n  [from Ada] hm\n]\n[from Eve] old words',
    ),
    line('test/bot/1#a1', 'assistant', 'to old words'),
    line(
      'test/bot/2:in',
      'user',
      '[said in this group since you last spoke, not to you:\n  [from Eve] aside\n  [from Ben] too\n]\n[from Ada] x',
    ),
    line('test/bot/9#a1', 'assistant', 'of a run that the journal knows'),
  ];
  expect(erased(lines).map(({ content }) => content)).toEqual([
    ERASED,
    ERASED,
    '[said in this group since you last spoke, not to you:\n  [erased]\n  [from Ben] too\n]\n[from Ada] x',
    ERASED,
  ]);
});

test('what others quote or repeat of theirs goes word for word, and short words of everybody stay', () => {
  const lines = [
    line('test/bot/1:in', 'user', '[from Eve] ok', { by: 'test:eve' }),
    line('test/bot/2:in', 'user', '[from Eve] the code of the door is 1234', { by: 'test:eve' }),
    line('test/bot/3:in', 'user', '[in reply to another message: “ok”]\n[from Ada] ok then', { by: 'test:ada' }),
    line('test/bot/3#a1', 'assistant', 'Eve said: the code of the door is 1234. Ok?', {
      provider_state: { provider: 'p', model: 'm', data: 'thoughts' },
    }),
    line('compacted:x', 'system', 'Conversation summary (compacted from 2 messages)\nEve told a code.'),
  ];
  expect(erased(lines).slice(2)).toEqual([
    line('test/bot/3:in', 'user', '[in reply to another message: “[erased]”]\n[from Ada] ok then', { by: 'test:ada' }),
    line('test/bot/3#a1', 'assistant', 'Eve said: [erased]. Ok?'),
    line('compacted:x', 'system', `Conversation summary (compacted from 2 messages)\n${ERASED}`),
  ]);
});

test('where nothing is theirs nothing changes, a summary included', () => {
  const lines = [
    line('test/bot/3:in', 'user', '[from Ada] hi', { by: 'test:ada' }),
    line('compacted:x', 'system', 'Conversation summary'),
  ];
  expect(erased(lines)).toEqual(lines);
});

test('of a long quotation the lines go that are theirs, also the one in which it was cut', () => {
  const head = '[in reply to another message, quoted below:';
  const quoted = (rows: readonly string[]) => [head, ...rows, ']', '[from Ada] what?'].join('\n');
  const lines = [
    line('test/bot/1:in', 'user', '[from Eve] ok \nno\rmaybe\n\\[x] the code of the door is 1234', { by: 'test:eve' }),
    line('test/bot/2:in', 'user', quoted(['  > ok', '  > no', '  > maybe', '  > \\[x] the code of the door is 1234']), {
      by: 'test:ada',
    }),
    line('test/bot/3:in', 'user', quoted(['  > okay', '  > \\[x] the code', '  (24 more characters of it are left out)']), {
      by: 'test:ada',
    }),
  ];
  expect(erased(lines).slice(1)).toEqual([
    line('test/bot/2:in', 'user', quoted(Array.from({ length: 4 }, () => `  > ${ERASED}`)), { by: 'test:ada' }),
    line('test/bot/3:in', 'user', quoted(['  > okay', `  > ${ERASED}`, '  (24 more characters of it are left out)']), {
      by: 'test:ada',
    }),
  ]);
});

test('words that were answered with those of others go, also where they are in reply to a long message', () => {
  const block = '[in reply to another message, quoted below:\n  > a\n  > ---\n]\n';
  const said = (words: string) => `[from Ada] first\n---\n${block}Queued #1:\n${words}\n---\nQueued #2:\n[from Ben] third`;
  const [left] = erased([line('test/bot/3:in', 'user', said('[from Eve] second'), { by: 'test:ada' })]);
  expect(left?.content).toBe('[from Ada] first\n---\nQueued #1:\n[erased]\n---\nQueued #2:\n[from Ben] third');
});

test('what others quote of theirs goes by the author that the line names, also where they never said it in this session', () => {
  const quoting = (whose: string, words = 'ok 1') => `[in reply to ${whose}: “${words}”]\n[from Ada] what is that?`;
  const by = { by: 'test:ada' };
  const lines = [
    line('test/bot/2:in', 'user', quoting('another message (written by Eve, not by the sender)'), by),
    line('test/bot/3:in', 'user', quoting('another message (written by eve, not by the sender), as the sender repeats it'), by),
    line('test/bot/4:in', 'user', quoting('another message (written by Evelyn, not by the sender)'), by),
  ];
  const gone = quoting('another message', ERASED);
  expect(erased(lines)).toEqual([{ ...lines[0], content: gone }, { ...lines[1], content: gone }, lines[2]]);
});

test('what others quote of an answer to them goes, and the same words elsewhere stay', () => {
  const lines = [
    line('test/bot/1:in', 'user', '[from Eve] and the code?', { by: 'test:eve' }),
    line('test/bot/1#a1', 'assistant', 'It is 1234.'),
    line('test/bot/2:in', 'user', '[in reply to you: “It is 1234.”]\n[from Ada] It is 1234. Why?', { by: 'test:ada' }),
  ];
  expect(erased(lines)[2]?.content).toBe('[in reply to you: “[erased]”]\n[from Ada] It is 1234. Why?');
});

test('a long quotation that names them as its author goes whole', () => {
  const head = '[in reply to another message (written by Eve, not by the sender), quoted below:';
  const content = [head, '  > first', '  >', '  > second', ']', '[from Ada] what is that?'].join('\n');
  const [left] = erased([line('test/bot/3:in', 'user', content, { by: 'test:ada' })]);
  expect(left?.content).toBe('[in reply to another message: “[erased]”]\n[from Ada] what is that?');
});

test('words are known as those of a person, also where the name above them was erased with one of the same name', () => {
  const line: SessionMessage = {
    id: '1:in',
    role: 'user',
    content: '[erased] the code of the front door is 4711',
    timestamp: '',
  };
  expect(phrasesOf([line])).toEqual(['the code of the front door is 4711']);
});

test('words of a correction and of a recording are known where others quote and repeat them', () => {
  const lines = [
    line('test/bot/1:in', 'user', '[correction of an earlier message] [from Eve] no', { by: 'test:eve' }),
    line('test/bot/2:in', 'user', '[correction of an earlier message] [from Eve] the code of the door is 4711'),
    line('test/bot/3:in', 'user', '[from Eve] \n[Voice transcription: the code of the safe is 1174]', { by: 'test:eve' }),
    line('test/bot/4:in', 'user', '[in reply to another message: “no”]\n[from Ada] why?', { by: 'test:ada' }),
    line('test/bot/4#a1', 'assistant', 'She said: the code of the door is 4711. And: the code of the safe is 1174.'),
  ];
  expect(erased(lines).map(({ content }) => content)).toEqual([
    ...[ERASED, ERASED, ERASED, `[in reply to another message: “${ERASED}”]\n[from Ada] why?`],
    `She said: ${ERASED}. And: ${ERASED}.`,
  ]);
  expect(phrasesOf(lines.slice(0, 3))).toContain('the code of the door is 4711');
});

test('an id that holds who wrote says the same of no one, in lines, in what ran beside them, and in summaries', () => {
  const [own, ben] = ['chat/bot/group:4917@net:3EB0AA', 'chat/bot/group:ben:3EB0BB'];
  const rule = eraseRule({ principals: new Set(['chat:4917@net']), runs: new Set(), names: [] }, 'erased:1', []);
  const change = (id: string, more: Partial<SessionMessage> = {}) => {
    const before = line(id, 'assistant', 'words of Ben', more);
    const after = rule.change(before);
    expect(after && rule.change(after)).toBeUndefined();
    return after;
  };
  expect(change(`${own}#a1`)?.id).toBe('chat/bot/group:erased:1:3EB0AA#a1');
  expect(change(`compacted:${own}:in`)?.id).toBe('compacted:chat/bot/group:erased:1:3EB0AA:in');
  expect(change(`${ben}:in`, { beside: own })).toMatchObject({ id: `${ben}:in`, beside: 'chat/bot/group:erased:1:3EB0AA' });
  for (const id of [`${ben}:in`, 'chat/bot/group:14917@net:3EB0AA:in', 'chat/bot/group:4917@net'])
    expect(change(id)).toBeUndefined();
});

/** As a request of several is stored, with the files that came with it. */
const FILES = {
  eve: `uploads/${storedStem({ id: 'test/bot/1' }, 0)}.png`,
  ben: `uploads/${storedStem({ id: 'test/bot/2' }, 0)}.png`,
};
const photo = (path: string, name: string): string => `[Photo: ${path} (image/png, 3 bytes), named “${name}” by its sender]`;

test('of a request that an erased person began the words and files of those stay who were answered with it', () => {
  const words = '[from Eve] the plan of the house\n---\n[in reply to another message: “the plan of the house”]\n';
  const queued = 'Queued #1:\n[from Ben] my own plan of the year, see [1]\n---\nQueued #2:\n[from Eve] and mine';
  const content = [
    `${words}${queued}`,
    photo(FILES.eve, 'hers'),
    '[Voice transcription: as I say]',
    photo(FILES.ben, 'his'),
  ].join('\n');
  const lines = [
    line('test/bot/1:in', 'user', content, { by: 'test:eve', media: [FILES.eve, FILES.ben] }),
    line('test/bot/3:in', 'user', '[from Ben] my own plan of the year, see [1]', { by: 'test:ben' }),
  ];
  const left = [
    '[erased]\n---\n[in reply to another message: “[erased]”]\nQueued #1:\n[from Ben] my own plan of the year, see [1]',
    'Queued #2:\n[erased]\n[Voice transcription: as I say]',
  ].join('\n---\n');
  const once = [
    line('test/bot/1:in', 'user', `${left}\n${photo(FILES.ben, 'his')}`, { by: HASH, media: [FILES.ben] }),
    lines[1],
  ].flatMap((one) => one ?? []);
  expect(erased(lines)).toEqual(once);
  expect(erased(once)).toEqual(once);
  expect(phrasesOf(lines.slice(0, 1))).not.toContain('my own plan of the year, see [1]');
});

test('of a request that another began goes what an erased person said with it, and the files that came with that', () => {
  const content = '[from Ben] first\n---\nQueued #1:\n[from Eve] second\n---\nQueued #2:\n[from Ada] third';
  const files = [FILES.ben, FILES.eve];
  const marks = `\n${photo(FILES.ben, 'his')}\n${photo(FILES.eve, 'hers')}`;
  const joined = [
    { by: 'test:eve', run: 'test/bot/1' },
    { by: 'test:ada', run: 'test/bot/4' },
  ];
  const before = line('test/bot/2:in', 'user', content + marks, { by: 'test:ben', media: files, joined });
  const after = {
    ...before,
    content: `${content.replace('[from Eve] second', ERASED)}\n${photo(FILES.ben, 'his')}`,
    ...{ media: [FILES.ben], joined: [{ by: HASH }, joined[1]] },
  };
  expect(erased([before])).toEqual([after]);
  expect(knownFrom(EVE, [before]).runs).toEqual(['test/bot/1']);
});

test('a request of an earlier version that another began is not theirs where they said something with it', () => {
  const before = line('test/bot/2:in', 'user', '[from Ben] first\n---\nQueued #1:\n[from Eve] second');
  expect(erased([before])).toEqual([{ ...before, content: `[from Ben] first\n---\nQueued #1:\n${ERASED}` }]);
});

test('a sentence of theirs goes where the agent repeats it, also without the rest of its line', () => {
  const lines = [
    line('test/bot/1:in', 'user', '[from Eve] Hello all. The code of the door is 4711. See you.', { by: 'test:eve' }),
    line('test/bot/2:in', 'user', '[in reply to another message: “The code of the door is 4711.”]\n[from Ada] what?', {
      by: 'test:ada',
    }),
    line('test/bot/2#a1', 'assistant', 'She said: The code of the door is 4711. See you.'),
  ];
  expect(erased(lines).map(({ content }) => content)).toEqual([
    ERASED,
    '[in reply to another message: “[erased]”]\n[from Ada] what?',
    'She said: [erased]. See you.',
  ]);
  expect(phrasesOf(lines.slice(0, 1))).toContain('The code of the door is 4711.');
});

test('a sentence that others may write as well stays in their words, unless it is long or was a whole line', () => {
  const common = 'Thank you very much for that.';
  const long = 'The code of the front door of our house is 4711';
  const lines = [
    line('test/bot/1:in', 'user', `[from Eve] Fine. ${common} ${long}!\nmy whole line of words`, { by: 'test:eve' }),
    line('test/bot/2:in', 'user', `[from Ada] ${common} So: ${long}, and my whole line of words.`, { by: 'test:ada' }),
  ];
  expect(erased(lines)[1]?.content).toBe(`[from Ada] ${common} So: ${ERASED}, and ${ERASED}.`);
});

test('what a person said behind another goes by who they are, whatever name they had then', () => {
  const content = '[from Ben] first\n---\nQueued #1:\n[from Evelyn] my secret';
  const before = line('test/bot/1:in', 'user', content, { by: 'test:ben', joined: [{ by: 'test:eve', run: 'test/bot/2' }] });
  expect(erased([before])).toEqual([
    { ...before, content: `[from Ben] first\n---\nQueued #1:\n${ERASED}`, joined: [{ by: HASH }] },
  ]);
});

test('a file that another of the same name sent behind theirs stays', () => {
  const file = `uploads/${storedStem({ id: 'test/bot/2' }, 0)}.png`;
  const content = '[from Eve] one\n---\nQueued #1:\n[from Eve] two';
  const joined = [{ by: 'test:eve2', run: 'test/bot/2' }];
  const [left] = erased([line('test/bot/1:in', 'user', content, { by: 'test:eve', media: [file], joined })]);
  expect([left?.media, left?.joined]).toEqual([[file], joined]);
});

test('a request of several people that was erased and stored is not changed by the next erasure', () => {
  const content = '[from Eve] one\n---\nQueued #1:\n[from Ben] two';
  const joined = [{ by: 'test:ben', run: 'test/bot/2' }];
  const once = erased([line('test/bot/1:in', 'user', content, { by: 'test:eve', joined })]);
  const stored = toMessage(JSON.parse(formatMessages(once)), 1)?.message ?? expect.fail('not read');
  expect(eraseRule(EVE, HASH, [stored]).change(stored)).toBeUndefined();
});
