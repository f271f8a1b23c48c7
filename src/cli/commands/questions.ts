import { DECLINED, type Question, type StoredWait } from '../../core/wait.ts';
import { oneLine } from '../../lib/one-line.ts';
import { printable, printableBlock } from '../../lib/printable.ts';
import { answerOf, isForSession, overText } from '../../operator/question-text.ts';
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
    const to = question?.to === 'owner' ? 'owner' : chat;
    const until = due === undefined ? '' : formatRelative(due, now);
    return [code, formatRelative(createdAt, now), until, to, oneLine(question?.text ?? '', TEXT_CHARS)].map(printable);
  });
  out.data(formatTable([['ID', 'ASKED', 'EXPIRES', 'TO', 'QUESTION'], ...rows]));
  for (const { code = '', question } of open)
    if (question?.whole !== undefined) out.data(`\n${code} asks about:\n${printableBlock(question.whole)}`);
  out.say('→ gatehouse questions answer ID allow|deny');
  return EXIT.ok;
};

export interface AnswerOptions {
  /** As listed. */
  readonly id: string;
  readonly answer: readonly string[];
}

/** Answers one as its person could; a running daemon goes on with what waits for it by itself. */
export const questionsAnswer: Command<AnswerOptions> = async (context, { id, answer }) => {
  const { out } = context;
  const done = await withJournal(context, async ({ journal }) => {
    const wait = (await journal.waits.byCode(id.trim().toUpperCase())) ?? (await journal.waits.find(id.trim()));
    if (!wait?.question || !wait.isOpen) return wait;
    const value = readWords(wait.question, answer.join(' '));
    if (!value) return { ...wait, isUnclear: true };
    const forSession = isForSession(wait.question, answer.join(' ')) ? { forSession: true as const } : {};
    await journal.commit([{ kind: 'settle', settled: { wait: wait.id, value, by: 'cli', ...forSession } }]);
    // Another person may have been faster.
    const settled = await journal.waits.find(wait.id);
    return settled && { ...settled, isOurs: settled.by === 'cli' };
  });
  if (!done?.question) {
    out.fail({ code: 'GH1003', message: `no question ${id}`, hint: 'see `gatehouse questions list`' });
    return EXIT.failed;
  }
  if ('isUnclear' in done) {
    out.fail({ code: 'GH1001', message: `“${answer.join(' ')}” does not answer it`, hint: `answer with ${expected(done)}` });
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
};

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

function toJson({ id, code, chat, question, createdAt, due, value, by }: StoredWait): Record<string, unknown> {
  const { text, answer, choices, whole } = question ?? {};
  return {
    ...{ id, code, to: question?.to === 'owner' ? 'owner' : chat, text, answer },
    ...(whole === undefined ? {} : { whole }),
    ...(question?.grant ? { rule: question.grant.rule } : {}),
    ...(choices ? { choices: choices.map(({ label }) => label) } : {}),
    asked: isoTime(createdAt),
    ...(due === undefined ? {} : { expires: isoTime(due) }),
    ...(value ? { value: value.output, by } : {}),
  };
}
