import { DECLINED, type Question, type StoredWait, type Waits } from '../../core/wait.ts';
import { oneLine } from '../../lib/one-line.ts';
import { printable, printableBlock } from '../../lib/printable.ts';
import { broughtBy } from '../../operator/answers.ts';
import { answerOf, DENIED, isForSession, overText } from '../../operator/question-text.ts';
import type { Command } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { formatRelative, isoTime } from '../format-time.ts';
import { formatTable } from '../output.ts';
import { withJournal } from '../read-journal.ts';

/** Longest beginning of a question in the list. UTF-16 units. */
const TEXT_CHARS = 100;

/** Questions that wait for the answer of a person. */
export const questionsList: Command<unknown> = async (context) => {
  const { deps, out } = context;
  const open = (await withJournal(context, ({ journal }) => journal.waits.questions())) ?? [];
  out.document({ questions: open.map(toJson) });
  if (open.length === 0) {
    out.data('no open questions');
    return EXIT.ok;
  }
  const now = deps.clock.now();
  const rows = open.map(({ code = '', question, chat = '', createdAt, due }) => {
    const to = question?.to === 'owner' ? 'owner' : (question?.who ?? chat);
    const until = due === undefined ? '' : formatRelative(due, now);
    return [code, formatRelative(createdAt, now), until, to, oneLine(question?.text ?? '', TEXT_CHARS)].map(printable);
  });
  out.data(formatTable([['ID', 'ASKED', 'EXPIRES', 'TO', 'QUESTION'], ...rows]));
  for (const { code = '', question } of open)
    if (question?.whole !== undefined) out.data(`\n${code} asks about:\n${printableBlock(question.whole)}`);
  out.say('→ gatehouse questions answer ID allow|deny, the number of a choice, or words');
  return EXIT.ok;
};

/** One question, open or over, with all that is known of it. */
export const questionsShow: Command<{ readonly id: string }> = async (context, { id }) => {
  const { deps, out } = context;
  const wait = await withJournal(context, ({ journal }) => findQuestion(journal.waits, id));
  if (!wait?.question) return unknown(out, id);
  const { question, code = '', chat, createdAt, due, isOpen } = wait;
  const now = deps.clock.now();
  const until = due === undefined ? '' : `, until ${isoTime(due)} (${formatRelative(due, now)})`;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['question', printableBlock(question.text.trim())],
    ['asks about', question.whole === undefined ? undefined : printableBlock(question.whole)],
    ['asked', `${isoTime(createdAt)} (${formatRelative(createdAt, now)})`],
    ['of', question.to === 'owner' ? 'owner' : (question.who ?? chat)],
    ['in', chat],
    ['on behalf', question.onBehalf?.head.replace(/:$/, '')],
    ['for', wait.run === 0 ? undefined : runOf(wait)],
    ['state', isOpen ? `open${until}` : stateOf(wait)],
  ];
  out.data(code);
  for (const [name, value] of facts) if (value !== undefined) out.data(`${`${name}:`.padEnd(12)}${printableBlock(value)}`);
  out.document({ question: toJson(wait) });
  if (isOpen) out.say(`→ gatehouse questions answer ${code} … · gatehouse questions decline ${code}`);
  return EXIT.ok;
};

export interface AnswerOptions {
  /** As listed. */
  readonly id: string;
  readonly answer: readonly string[];
}

/** Answers one as its person could; a running daemon goes on with what waits for it by itself. */
export const questionsAnswer: Command<AnswerOptions> = async (context, { id, answer }) =>
  await end(context, id, {
    words: answer.join(' '),
    read: (question) => readWords(question, answer.join(' ')),
  });

/** The person does not answer. Of an approval it is a no. */
export const questionsDecline: Command<{ readonly id: string }> = async (context, { id }) =>
  await end(context, id, { words: 'deny', read: (question) => (question.answer === 'approve' ? DENIED : DECLINED) });

interface Reading {
  readonly words: string;
  readonly read: (question: Question) => StoredWait['value'];
}

async function end(context: Parameters<typeof questionsList>[0], id: string, { words, read }: Reading): Promise<number> {
  const { out } = context;
  const done = await withJournal(context, async ({ journal }) => {
    const wait = await findQuestion(journal.waits, id);
    if (!wait?.question || !wait.isOpen) return wait;
    const value = read(wait.question);
    if (!value) return { ...wait, isUnclear: true };
    const forSession = isForSession(wait.question, words) ? { forSession: true as const } : {};
    const settled = { wait: wait.id, value, by: 'cli', ...broughtBy(wait), ...forSession };
    await journal.commit([{ kind: 'settle', settled }]);
    // Another person may have been faster.
    const ended = await journal.waits.find(wait.id);
    return ended && { ...ended, isOurs: ended.by === 'cli' };
  });
  if (!done?.question) return unknown(out, id);
  if ('isUnclear' in done) {
    out.fail({ code: 'GH1001', message: `“${words}” does not answer it`, hint: `answer with ${expected(done)}` });
    return EXIT.usage;
  }
  if (!('isOurs' in done && done.isOurs)) {
    out.fail({ code: 'GH1003', message: overText(done), hint: 'see `gatehouse questions list`' });
    return EXIT.failed;
  }
  const said = done.value?.ok === false ? 'declined' : `answered: ${printableBlock(done.value?.output ?? '')}`;
  out.data(`${out.mark('ok')} ${said}`);
  out.document({ question: toJson(done) });
  return EXIT.ok;
}

async function findQuestion(waits: Pick<Waits, 'byCode' | 'find'>, id: string): Promise<StoredWait | undefined> {
  return (await waits.byCode(id.trim().toUpperCase())) ?? (await waits.find(id.trim()));
}

function unknown(out: Parameters<typeof questionsList>[0]['out'], id: string): number {
  out.fail({ code: 'GH1003', message: `no question ${id}`, hint: 'see `gatehouse questions list`' });
  return EXIT.failed;
}

/** Key of the run that asks. */
function runOf({ id, callId }: StoredWait): string {
  return id.slice(0, -callId.length - 1);
}

function stateOf({ value, by = '' }: StoredWait): string {
  const how = { due: 'nobody answered in time', withdrawn: 'withdrawn', lost: 'it reached no person' }[by];
  return how ?? `${value?.ok === false ? 'declined' : `answered: ${value?.output ?? ''}`} (by ${by})`;
}

/** A `deny` that is typed to decline must not go to a server as its answer. */
function readWords(question: Question, words: string): StoredWait['value'] {
  const declines = question.named && question.answer === 'text' && /^\/?deny$/i.test(words.trim());
  return declines ? DECLINED : answerOf(question, words);
}

function expected({ question }: StoredWait): string {
  if (question?.answer === 'approve') return question.grant ? 'allow, allow session or deny' : 'allow or deny';
  if (question?.answer === 'text') return question.named ? 'words, or deny to decline' : 'words';
  return (question?.choices ?? []).map(({ label }, n) => `${n + 1} (${label})`).join(', ');
}

function toJson(wait: StoredWait): Record<string, unknown> {
  const { id, code, chat, question, createdAt, due, value, by } = wait;
  const { text, answer, choices, whole, who, onBehalf, remindAt } = question ?? {};
  return {
    ...{ id, code, to: question?.to === 'owner' ? 'owner' : chat, text, answer },
    ...(who === undefined ? {} : { who }),
    ...(wait.run === 0 ? {} : { run: runOf(wait) }),
    ...(onBehalf ? { onBehalf: onBehalf.head.replace(/:$/, '') } : {}),
    ...(remindAt === undefined ? {} : { reminder: isoTime(remindAt) }),
    ...(whole === undefined ? {} : { whole }),
    ...(question?.grant ? { rule: question.grant.rule } : {}),
    ...(choices ? { choices: choices.map(({ label }) => label) } : {}),
    asked: isoTime(createdAt),
    ...(due === undefined ? {} : { expires: isoTime(due) }),
    ...(value ? { value: value.output, by } : {}),
  };
}
