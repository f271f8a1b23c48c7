import { expect, it } from 'vitest';
import { expectQuick } from '../../testing/quick.ts';
import { abortAnswer } from './abort-words.ts';
import { commandOf, parseCommand } from './index.ts';

it.each([
  ['stop', '🛑 Cancelled.'],
  [' STOP \n', '🛑 Cancelled.'],
  ['/stop', '🛑 Cancelled.'],
  ['停止', '🛑 已取消。'],
  ['やめて', '🛑 キャンセルしました。'],
  ['СТОП', '🛑 Отменено.'],
  // Typed on a Mac: e and a combining circumflex.
  ['arre\u0302te', '🛑 Annulé.'],
  ['cancelar', '🛑 Cancelado.'],
  ['멈춰', '🛑 취소했습니다.'],
])('%j stops, and the answer is in the language of the word', (text, answer) => {
  expect(abortAnswer(text)).toMatchObject({ answer, idle: expect.any(String) });
  expect(parseCommand(text)).toMatchObject({ kind: 'stop', answer });
});

it.each(['stop it', 'please stop', 'stop.', '"stop"', 'unstoppable', '', ' ', '/stopp', '/stop now'])(
  '%j is text for the agent: an abort word is the whole message',
  (text) => {
    expect(abortAnswer(text)).toBeUndefined();
    expect(parseCommand(text)).toBeUndefined();
  },
);

it.each([
  ['/new', 10],
  [' /new ', 10],
  ['/new --keep 0', 0],
  ['/new  --keep\t25', 25],
  ['/new --keep 1000', 1_000],
])('%j starts afresh and keeps %d messages', (text, keep) => {
  expect(parseCommand(text)).toEqual({ kind: 'new', keep });
});

it('/reset keeps nothing, and no choice of the session either', () => {
  expect(parseCommand('/reset')).toEqual({ kind: 'new', keep: 0, reset: true });
});

it.each([
  ['/model', { kind: 'model' }],
  [' /model  fast ', { kind: 'model', value: 'fast' }],
  // Answered with what there is, never by a model.
  ['/model which one are you?', { kind: 'model', value: 'which one are you?' }],
  ['/think', { kind: 'think' }],
  ['/think high', { kind: 'think', value: 'high' }],
])('%j is a choice', (text, command) => {
  expect(parseCommand(text)).toEqual(command);
});

it.each([
  '/new --keep',
  '/new --keep -1',
  '/new --keep 1.5',
  '/new --keep 1e9',
  '/new --keep x',
  '/new --keep 1 2',
  '/newish',
  '/reset everything',
  '/sessions all',
  '/back to the future',
  '/delete',
  '/help me',
  '/unknown',
  '/',
])('%j is text for the agent: a command that is not quite one forgets nothing', (text) => {
  expect(parseCommand(text)).toBeUndefined();
});

it.each([
  ['/new idea for the weekend', { kind: 'topic', name: 'idea for the weekend' }],
  ['/s', { kind: 'switch' }],
  ['/switch  my work ', { kind: 'switch', name: 'my work' }],
  ['/sessions', { kind: 'sessions' }],
  ['/b', { kind: 'back' }],
  ['/back', { kind: 'back' }],
  ['/delete work', { kind: 'delete', name: 'work' }],
  ['s:work', { kind: 'pick', value: 's:work' }],
])('%j is about topics', (text, command) => {
  expect(parseCommand(text)).toEqual(command);
});

it('/help fits into one message of the platform with the shortest ones that has private answers', () => {
  const help = parseCommand('/help');
  // Discord takes 2,000 characters; some of these are escaped there.
  expect(help?.kind === 'help' && help.answer.length).toBeLessThan(1_800);
});

it('/help names every command', () => {
  const help = parseCommand('/help');
  expect(help?.kind).toBe('help');
  for (const command of ['/new', '/reset', '/s', '/sessions', '/back', '/delete', '/stop', '/model', '/think', '/help'])
    expect(help).toMatchObject({ answer: expect.stringContaining(command) });
});

const ABOVE = '[Subject: Re: plan]';
const OTHERS = '[about another mail: not all of this is in the words of the sender]';

it.each([
  [ABOVE, '/stop', 'stop'],
  [ABOVE, '/new plans\n\n-- \nAda', 'topic'],
  [ABOVE, '/help\n\nSent from my phone', 'help'],
  [ABOVE, '/new\n\nplease do more', undefined],
  [ABOVE, '/stop\n\nall of it, please', 'stop'],
  [ABOVE, '/task write\n\nthe whole text\n-- \nAda', 'task'],
  [ABOVE, 'stop', 'stop'],
  [ABOVE, 'cancel\n\nmy order, please', undefined],
  [ABOVE, 'please\n/new', undefined],
  [`${ABOVE}\n${OTHERS}`, '/stop\n\n> quoted', 'stop'],
  [`${ABOVE}\n${OTHERS}`, '/new', undefined],
  ['[forwarded from Bob]', '/new', undefined],
])('below %j a message that says %j is %s', (mark, said, kind) => {
  expect(commandOf({ text: `${mark}\n${said}`, marks: [[0, mark.length]] })?.kind).toBe(kind);
});

it('a task that comes by mail is all that the mail says, without its signature', () => {
  const text = `${ABOVE}\n/task write\n\nthe whole text\n-- \nAda`;
  expect(commandOf({ text, marks: [[0, ABOVE.length]] })).toEqual({ kind: 'task', text: 'write\n\nthe whole text' });
});

it('a line that a person types like the one above a mail is no such line', () => {
  expect(commandOf({ text: `${ABOVE}\n/new` })).toBeUndefined();
});

it('reads a mail of blank lines below a command at once', () => {
  expectQuick('\n', (blank) => commandOf({ text: `${ABOVE}\n/status${blank}x`, marks: [[0, ABOVE.length]] }));
});
