/** What people read of a question and type to answer it. */
import { randomInt } from 'node:crypto';
import { readChoice } from '../core/choices.ts';
import type { Choice } from '../core/message.ts';
import type { Question, StoredWait } from '../core/wait.ts';

/**
 * Without look-alikes. A code says which question is meant and is no secret: who may answer is decided by who
 * writes and where. So tries are not counted, or old buttons would use them up; six of 31 are 900 million,
 * which are not hit by chance.
 */
const ALPHABET = '23456789ABCDEFGHJKMNPQRSTUVWXYZ';
const CODE_LENGTH = 6;
const CODE = new RegExp(`\\b[${ALPHABET}]{${CODE_LENGTH}}\\b`, 'g');
/** Typed behind the code of a question, for its rule. */
export const SESSION = 'session';
const MINUTE_MS = 60_000;
/** What the mail channel puts above the words. */
const MAIL_MARK = /^\[(?:Subject|about another mail): .*\]$/;

export function newCode(): string {
  return Array.from({ length: CODE_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

/** The words of a question below the line that says on whose behalf it is asked, where it leaves its chat. */
export function withHead({ onBehalf }: Question, text: string): string {
  return onBehalf ? `${onBehalf.head}\n\n${text}` : text;
}

/** What in a text may be a code. */
export function codesIn(text: string): readonly string[] {
  return text.match(CODE) ?? [];
}

/** Without a code: the words that people type. */
function verdictsOf(code: string): readonly Choice[] {
  return [
    { label: 'Allow', value: `/allow ${code}` },
    { label: 'Deny', value: `/deny ${code}` },
  ];
}

/** What an approval offers beside yes and no, where its question has a rule for the session. */
function forSession(code: string): Choice {
  return { label: 'Allow for this session', value: `/allow ${code} ${SESSION}` };
}

/** Whether the words say yes to the rule of the question, and not to this once. */
export function isForSession({ answer, grant }: Question, words: string): boolean {
  if (answer !== 'approve' || grant === undefined) return false;
  return (
    readChoice(firstLine(words), [...verdictsOf(''), forSession('')])?.value === forSession('').value ||
    /^\/?allow\s+session$/i.test(firstLine(words).trim())
  );
}

/** Whether these words may answer a question to the owner, whatever else they were meant for. */
export function isVerdict(words: string): boolean {
  return readChoice(words, [...verdictsOf(''), forSession('')]) !== undefined;
}

/** What is shown to press, or listed to type. */
export function choicesOf({ answer, choices = [], grant }: Omit<Question, 'to'>, code: string): readonly Choice[] {
  if (answer === 'approve') return grant ? [...verdictsOf(code), forSession(code)] : verdictsOf(code);
  return answer === 'choice' ? choices.map(({ label }, n) => ({ label, value: `/answer ${code} #${n + 1}` })) : [];
}

/** The question as it stands in a chat, without the line that says on whose behalf. */
export function textOf(question: Question, code: string, now: number): string {
  const { text, expiresAt } = question;
  const gap = text.endsWith('\n') ? '' : ' ';
  return `${text}${gap}${howToAnswer(question, code)} within ${within(expiresAt - now)}.`;
}

/** The same for the second time. */
export function reminderOf(question: Question, code: string, now: number): string {
  return `⏰ This question is still open:\n${textOf(question, code, now)}`;
}

function howToAnswer({ answer, grant, named, to }: Question, code: string): string {
  const deny = `\`/deny ${code}\``;
  if (answer === 'approve') {
    const session = grant ? ` (\`/allow ${code} ${SESSION}\` for the session)` : '';
    return `Reply \`/allow ${code}\`${session} or ${deny}`;
  }
  if (named) return `Reply to this message, or \`/answer ${code} …\`, or ${deny}`;
  if (answer === 'choice') return `Reply \`/answer ${code} …\`, or decline with ${deny},`;
  // Some platforms hand over nothing of a group but replies and what names the agent.
  if (to !== 'owner' && to.isGroup)
    return `Answer in reply to this message, with your next one here, or with \`/answer ${code} …\`, or decline with ${deny},`;
  return `Answer with your next message here, or with \`/answer ${code} …\`, or decline with ${deny},`;
}

function within(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / MINUTE_MS));
  if (minutes < 120) return minutes === 1 ? 'one minute' : `${minutes} minutes`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} hours` : `${Math.floor(hours / 24)} days`;
}

/** What a person wrote: a mail has its subject above. */
export function ownWords(text: string): string {
  const lines = text.trim().split('\n');
  const first = lines.findIndex((line) => !MAIL_MARK.test(line));
  // A mail that is all subject says what that says.
  return first <= 0 ? text.trim() : lines.slice(first).join('\n').trim();
}

/** The first line of it: a mail program may add some below. */
export function firstLine(text: string): string {
  return ownWords(text).split('\n', 1)[0] ?? '';
}

/** What the wait of an approval comes to. */
export const ALLOWED = { ok: true, output: 'allow' } as const;
export const DENIED = { ok: true, output: 'deny' } as const;

/** What words come to as the answer to a question; undefined when they are none. */
export function answerOf(question: Question, words: string): { readonly ok: true; readonly output: string } | undefined {
  const { answer, choices = [] } = question;
  if (isForSession(question, words)) return ALLOWED;
  if (answer === 'text') {
    const said = ownWords(words);
    return said === '' ? undefined : { ok: true, output: said };
  }
  const place = answer === 'choice' ? /^#(\d{1,2})$/.exec(words.trim())?.[1] : undefined;
  const choice = place
    ? choices[Number(place) - 1]
    : readChoice(firstLine(words), answer === 'approve' ? verdictsOf('') : choices);
  if (!choice) return undefined;
  if (answer === 'choice') return { ok: true, output: choice.value };
  return choice.value.startsWith('/allow') ? ALLOWED : DENIED;
}

/** Ends of a question that no person gave. */
const BY_NO_PERSON: readonly string[] = ['due', 'withdrawn', 'at once', 'lost', 'fits'];

/** Told to who answers a question that is over. */
export function overText({ by = '', value, question }: StoredWait): string {
  if (by === 'withdrawn') return 'Too late: this question is closed. What asked it is over.';
  if (BY_NO_PERSON.includes(by)) return 'Too late: this question is closed.';
  if (question?.answer !== 'approve') return 'This question was answered already.';
  return `This question was answered already: ${value?.output === 'allow' ? 'allowed' : 'denied'}.`;
}

export function whichOf(open: readonly StoredWait[]): string {
  const codes = open.map(({ code }) => `\`${code}\``).join(', ');
  const one = open.length === 1;
  const how = open.every(({ question }) => question?.answer === 'approve')
    ? '`/allow CODE` or'
    : '`/answer CODE …`, or decline with';
  return `${one ? 'A question is' : `${open.length} questions are`} open (${codes}). Answer ${one ? 'it' : 'one'} with ${how} \`/deny CODE\`.`;
}

/** Told to who answers a question in time. */
export function notedText({ onBehalf }: Question): string {
  return onBehalf ? `✅ Noted. It was asked ${onBehalf.head.replace(/^O/, 'o').replace(/:$/, '')}.` : '✅ Noted.';
}
