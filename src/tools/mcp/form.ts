/** A question of a server while a person fills it in: a field at a time, each a question of the chat. */
import type { Choice } from '../../core/message.ts';
import type { Asker, ToolResult } from '../../core/tool.ts';
import { DECLINED, type Question } from '../../core/wait.ts';
import { spellOutText } from '../../lib/spell-out.ts';
import {
  DECLINE,
  DEFAULT,
  type Elicitation,
  type Field,
  type FieldValue,
  LEAVE_OUT,
  NO,
  readAnswer,
  wanted,
  YES,
} from './elicitation.ts';
import type { Elicited } from './server-requests.ts';

/** How long a person may take. Most servers wait for less. ms. */
const ANSWER_MS = 24 * 3_600_000;
/** Answers to one field that do not fit before the question is given up. */
const MAX_TRIES = 3;
/** What is shown of the server's words. UTF-16 units. */
const MAX_MESSAGE = 1_000;
const MAX_TITLE = 100;
const MAX_DESCRIPTION = 300;
/** The person leaves a field out, or takes its default; the second also for all that follow. */
const SKIP = '-';
const SKIP_ALL = '--';
/** Not one that people type. */
const SAYS_NO = '#no';

export class Form {
  readonly #server: string;
  readonly #asker: Asker;
  readonly #question: Elicitation;
  readonly #content: Record<string, FieldValue> = Object.create(null);
  #place = 0;
  #tries = 0;
  /** What was wrong with the last answer. */
  #problem = '';

  constructor(server: string, asker: Asker, question: Elicitation) {
    this.#server = server;
    this.#asker = asker;
    this.#question = question;
  }

  /** As it stands now. `now`: epoch ms. */
  ask(now: number): Question {
    const field = this.#field;
    const choices = choicesOf(field);
    return {
      text: this.#text(field),
      answer: choices ? 'choice' : 'text',
      ...(choices ? { choices } : {}),
      to: this.#asker.to,
      by: [this.#asker.principal],
      named: true,
      expiresAt: now + ANSWER_MS,
      about: { mcp: this.#server },
    };
  }

  /** Takes what the wait for the answer came to. Undefined = there is more to ask. */
  answer({ ok, output }: Pick<ToolResult, 'ok' | 'output'>): Elicited | undefined {
    if (!ok && output === DECLINED.output) return { action: 'decline', reason: 'the person declined to answer' };
    if (!ok) return { action: 'cancel', reason: output.replace(/^Error: /, '') };
    const field = this.#field;
    if (output === SAYS_NO) return { action: 'decline', reason: 'the person declined to answer' };
    if (!field) return { action: 'accept', content: {} };
    const words = output.trim();
    if ((words === SKIP || words === SKIP_ALL) && isSkippable(field)) return this.#next(words === SKIP_ALL);
    const read = readAnswer(field, words);
    if ('value' in read) {
      this.#content[field.name] = read.value;
      return this.#next(false);
    }
    this.#tries += 1;
    this.#problem = read.problem;
    if (this.#tries < MAX_TRIES) return undefined;
    return { action: 'cancel', reason: `the person gave ${MAX_TRIES} answers that do not fit` };
  }

  get #field(): Field | undefined {
    return this.#question.fields[this.#place];
  }

  #next(skipsAll: boolean): Elicited | undefined {
    const { fields } = this.#question;
    [this.#tries, this.#problem] = [0, ''];
    do this.#place += 1;
    while (skipsAll && this.#field && isSkippable(this.#field));
    return this.#place < fields.length ? undefined : { action: 'accept', content: { ...this.#content } };
  }

  #text(field: Field | undefined): string {
    const { message, fields } = this.#question;
    const count = fields.length > 1 ? ` (${this.#place + 1} of ${fields.length})` : '';
    const shown = [...(this.#place === 0 ? [spellOutText(message.trim(), MAX_MESSAGE)] : []), ...(field ? linesOf(field) : [])];
    return [
      `❓ The MCP server ${this.#server} asks you this${count}. Gatehouse only passes it on:`,
      `\`\`\`\n${shown.join('\n')}\n\`\`\``,
      [
        ...(this.#problem === '' ? [] : [this.#problem]),
        ...(field && field.kind !== 'one' && field.kind !== 'yes-no' ? [`It wants ${wanted(field)}.`, ...skipText(field)] : []),
        'Give no password and no key: the answer goes to that server and stays in this chat.',
      ].join(' '),
    ].join('\n');
  }
}

function linesOf(field: Field): readonly string[] {
  const title = spellOutText(field.title, MAX_TITLE).replaceAll('\n', ' ');
  const about = spellOutText(field.description, MAX_DESCRIPTION).replaceAll('\n', ' ');
  const options = field.kind === 'many' ? field.options.map(({ label }, n) => `${n + 1}. ${label}`) : [];
  const preset = field.default === undefined ? [] : [`Default: ${defaultText(field)}`];
  return [about === '' ? title : `${title}: ${about}`, ...options, ...preset];
}

function defaultText(field: Field): string {
  const { default: value } = field;
  if (typeof value === 'boolean') return value ? YES : NO;
  const labelOf = (one: unknown): string =>
    ('options' in field ? field.options : []).find((option) => option.value === one)?.label ?? String(one);
  const text = (Array.isArray(value) ? value : [value]).map(labelOf).join(', ');
  return spellOutText(text, MAX_DESCRIPTION).replaceAll('\n', ' ');
}

function isSkippable(field: Field): boolean {
  return !field.isRequired || field.default !== undefined;
}

function skipText(field: Field): readonly string[] {
  if (!isSkippable(field)) return [];
  const what = field.default === undefined ? 'leaves it out' : 'takes the default';
  return [`\`${SKIP}\` ${what}, \`${SKIP_ALL}\` also does so with what follows.`];
}

/** Undefined = it is answered in words. Of no field: a yes or no. */
function choicesOf(field: Field | undefined): readonly Choice[] | undefined {
  const ofKind = offered(field);
  if (!ofKind) return undefined;
  const skip = field && isSkippable(field) ? [{ label: field.default === undefined ? LEAVE_OUT : DEFAULT, value: SKIP }] : [];
  return [...ofKind, ...skip, { label: DECLINE, value: SAYS_NO }];
}

function offered(field: Field | undefined): readonly Choice[] | undefined {
  if (!field) return [{ label: YES, value: 'yes' }];
  if (field.kind === 'one') return field.options.map(({ label }, n) => ({ label, value: `#${n + 1}` }));
  if (field.kind !== 'yes-no') return undefined;
  return [
    { label: YES, value: 'yes' },
    { label: NO, value: 'no' },
  ];
}
