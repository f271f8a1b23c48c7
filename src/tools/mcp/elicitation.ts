/**
 * A question of a server in form mode (MCP 2025-11-25, client/elicitation) -> fields, and words of a person
 * -> values.
 */
import { z } from 'zod';
import { isDeep } from '../../lib/json-depth.ts';
import { inMark } from '../../lib/marks.ts';
import { spellOutText } from '../../lib/spell-out.ts';

/** Of one question. */
const MAX_FIELDS = 20;
const MAX_OPTIONS = 30;
const MAX_SCHEMA_BYTES = 64 * 1024;
const MAX_NAME = 100;
const MAX_LABEL = 60;
/** Of what Gatehouse adds to choices, and of the two of a field that is yes or no. */
export const YES = 'Yes';
export const NO = 'No';
export const LEAVE_OUT = 'Leave it out';
export const DEFAULT = 'Take the default';
export const DECLINE = 'Decline';
const OWN_LABELS = [YES, NO, LEAVE_OUT, DEFAULT, DECLINE].map((label) => label.toLowerCase());
/** What looks like the code of a question, which a reply to this one must not name. */
const CODE = /\b[2-9A-HJKMNP-Z]{6}\b/g;
/** Longest answer in words. Characters. */
const MAX_WORDS = 4_000;
/** A form must not ask for these (the same page, "Security considerations"): words of a chat are kept. */
const SECRET = /passw|passphrase|passcode|\bpin\b|secret|token|api.?key|private.?key|credential|card.?n(?:umber|o\b)|\bcv[vc]\b/i;

/** What a field holds. */
export type FieldValue = string | number | boolean | readonly string[];

export interface Option {
  readonly value: string;
  /** In one line, with what people do not see spelt out. No two of a field look the same. */
  readonly label: string;
}

type Kind =
  | { readonly kind: 'text'; readonly min: number; readonly max: number; readonly format?: Format }
  | { readonly kind: 'number'; readonly isInteger: boolean; readonly min: number; readonly max: number }
  | { readonly kind: 'yes-no' }
  | { readonly kind: 'one'; readonly options: readonly Option[] }
  | { readonly kind: 'many'; readonly options: readonly Option[]; readonly min: number; readonly max: number };

export type Field = Kind & {
  readonly name: string;
  /** As the server wrote them: foreign. */
  readonly title: string;
  readonly description: string;
  readonly isRequired: boolean;
  /** Fits the field. */
  readonly default?: FieldValue;
};

export interface Elicitation {
  /** As the server wrote it: foreign, of any length. */
  readonly message: string;
  /** None = the server wants a yes. */
  readonly fields: readonly Field[];
}

type Format = 'email' | 'uri' | 'date' | 'date-time';

const limit = z.number().optional();
const options = z.array(z.string()).min(1).max(MAX_OPTIONS);
const titled = z
  .array(z.object({ const: z.string(), title: z.string() }))
  .min(1)
  .max(MAX_OPTIONS);
const property = z.object({
  type: z.enum(['string', 'number', 'integer', 'boolean', 'array']),
  title: z.string().optional(),
  description: z.string().default(''),
  default: z.unknown().optional(),
  ...{ minLength: limit, maxLength: limit, minimum: limit, maximum: limit, minItems: limit, maxItems: limit },
  format: z.enum(['email', 'uri', 'date', 'date-time']).optional().catch(undefined),
  enum: options.optional(),
  enumNames: z.array(z.string()).optional(),
  oneOf: titled.optional(),
  items: z.object({ enum: options.optional(), anyOf: titled.optional() }).optional(),
});
const form = z.object({
  message: z.string(),
  requestedSchema: z.object({
    type: z.literal('object'),
    properties: z.record(z.string().max(MAX_NAME), z.unknown()),
    required: z.array(z.string()).default([]),
  }),
});

/** The question, or why it is not asked. `params`: of the request, as they came. */
export function readElicitation(params: unknown): Elicitation | string {
  if (isDeep(params, 10)) return 'its form is nested too deeply';
  const mode: unknown = typeof params === 'object' && params !== null ? Reflect.get(params, 'mode') : undefined;
  if (mode !== undefined && mode !== 'form') return 'a person is not sent to an address that a server names';
  const parsed = form.safeParse(params);
  if (!parsed.success) return 'its form is not valid';
  const { message, requestedSchema } = parsed.data;
  if (JSON.stringify(requestedSchema).length > MAX_SCHEMA_BYTES) return 'its form is too large';
  const entries = Object.entries(requestedSchema.properties);
  if (entries.length > MAX_FIELDS) return `its form has more than ${MAX_FIELDS} fields`;
  const fields: Field[] = [];
  for (const [name, schema] of entries) {
    const field = readField(name, schema, requestedSchema.required.includes(name));
    if (!field) return 'a field of its form is not valid';
    if (field.kind === 'text' && SECRET.test(`${name.replaceAll(/[_-]/g, ' ')}\n${field.title}`))
      return 'it asks for a password or a key, and words of a chat are kept';
    fields.push(field);
  }
  return { message, fields };
}

function readField(name: string, schema: unknown, isRequired: boolean): Field | undefined {
  const { data } = property.safeParse(schema);
  const kind = data && kindOf(data);
  if (!kind) return undefined;
  const field = { ...kind, name, title: data.title ?? name, description: data.description, isRequired };
  const value = data.default as FieldValue;
  return data.default !== undefined && fits(field, value) ? { ...field, default: value } : field;
}

function kindOf(data: z.output<typeof property>): Kind | undefined {
  switch (data.type) {
    case 'boolean':
      return { kind: 'yes-no' };
    case 'number':
    case 'integer': {
      const { minimum: min = Number.NEGATIVE_INFINITY, maximum: max = Number.POSITIVE_INFINITY } = data;
      return { kind: 'number', isInteger: data.type === 'integer', min, max };
    }
    case 'array': {
      const given = optionsOf(data.items?.enum, undefined, data.items?.anyOf);
      return given && { kind: 'many', options: given, min: data.minItems ?? 0, max: data.maxItems ?? given.length };
    }
    case 'string': {
      if (data.enum || data.oneOf) {
        const given = optionsOf(data.enum, data.enumNames, data.oneOf);
        return given && { kind: 'one', options: given };
      }
      const { minLength: min = 0, maxLength: max = MAX_WORDS, format } = data;
      return { kind: 'text', min, max: Math.min(max, MAX_WORDS), ...(format ? { format } : {}) };
    }
  }
}

function optionsOf(
  values: readonly string[] | undefined,
  names: readonly string[] | undefined,
  both: z.output<typeof titled> | undefined,
): readonly Option[] | undefined {
  const given = both?.map(({ const: value, title }) => ({ value, label: title }));
  const all = (given ?? values?.map((value, n) => ({ value, label: names?.[n] ?? value })))?.map(({ value, label }) => ({
    value,
    label: inMark(spellOutText(label, MAX_LABEL).replaceAll('\n', ' ')).replace(CODE, (code) => code.toLowerCase()),
  }));
  const seen = new Set([...OWN_LABELS, ...(all ?? []).map(({ label }) => label.toLowerCase()), '']);
  return all && seen.size === OWN_LABELS.length + all.length + 1 ? all : undefined;
}

/** What words of a person come to, or what is wrong with them, as a sentence for that person. */
export function readAnswer(field: Field, words: string): { readonly value: FieldValue } | { readonly problem: string } {
  const value = readValue(field, words.trim());
  return value !== undefined && fits(field, value) ? { value } : { problem: `That is not ${wanted(field)}.` };
}

function readValue(field: Field, words: string): FieldValue | undefined {
  switch (field.kind) {
    case 'text':
      return words;
    case 'number':
      return /^[+-]?\d+(?:\.\d+)?$/.test(words) ? Number(words) : undefined;
    case 'yes-no':
      return words === 'yes' ? true : words === 'no' ? false : undefined;
    case 'one':
      return optionOf(field.options, words)?.value;
    case 'many': {
      const parts = words.split(/[,;\s]+/).filter((part) => part !== '');
      const isNumbers = parts.every((part) => /^\d{1,2}\.?$/.test(part));
      const chosen = (isNumbers ? parts : words.split(/[,;]/)).map((part) => optionOf(field.options, part.trim()));
      return chosen.every((one) => one !== undefined) ? [...new Set(chosen.map(({ value }) => value))] : undefined;
    }
  }
}

/** By its number in the list, from 1, also as `#1`, or its label. */
function optionOf(all: readonly Option[], words: string): Option | undefined {
  const number = /^#?(\d{1,2})\.?$/.exec(words)?.[1];
  return number === undefined ? all.find(({ label }) => label.toLowerCase() === words.toLowerCase()) : all[Number(number) - 1];
}

function fits(field: Kind, value: unknown): boolean {
  switch (field.kind) {
    case 'text':
      return typeof value === 'string' && isWithin([...value].length, field) && hasFormat(value, field.format);
    case 'number':
      return typeof value === 'number' && isWithin(value, field) && (!field.isInteger || Number.isSafeInteger(value));
    case 'yes-no':
      return typeof value === 'boolean';
    case 'one':
      return field.options.some((option) => option.value === value);
    case 'many':
      return (
        Array.isArray(value) &&
        isWithin(value.length, field) &&
        value.every((one) => field.options.some((option) => option.value === one))
      );
  }
}

function isWithin(value: number, { min, max }: { readonly min: number; readonly max: number }): boolean {
  return value >= min && value <= max;
}

function hasFormat(value: string, format: Format | undefined): boolean {
  switch (format) {
    case 'email':
      return z.email().safeParse(value).success;
    case 'uri':
      return URL.canParse(value);
    case 'date':
      return z.iso.date().safeParse(value).success;
    case 'date-time':
      return z.iso.datetime({ offset: true }).safeParse(value).success;
    case undefined:
      return true;
  }
}

const FORMATS: Readonly<Record<Format, string>> = {
  email: 'an email address',
  uri: 'an address such as https://example.org',
  date: 'a date such as 2026-01-31',
  'date-time': 'a time such as 2026-01-31T09:30:00Z',
};

/** What the field wants, behind "it wants". */
export function wanted(field: Kind): string {
  switch (field.kind) {
    case 'text': {
      const what = field.format ? FORMATS[field.format] : 'text';
      return `${what}${range(field, 0, MAX_WORDS, ' characters')}`;
    }
    case 'number':
      return `a ${field.isInteger ? 'whole ' : ''}number${range(field, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, '')}`;
    case 'yes-no':
      return 'yes or no';
    case 'one':
      return 'one of the choices';
    case 'many':
      return `numbers of the list${range(field, 0, field.options.length, ' of them')}, such as 1, 2`;
  }
}

function range({ min, max }: { readonly min: number; readonly max: number }, least: number, most: number, unit: string): string {
  if (min > least && max < most) return ` (${min} to ${max}${unit})`;
  if (min > least) return ` (${min}${unit} or more)`;
  return max < most ? ` (at most ${max}${unit})` : '';
}

/** What goes to the server: what was answered, and defaults for what was not (SEP-1034). */
export function withDefaults(
  { fields }: Elicitation,
  content: Readonly<Record<string, FieldValue>>,
): Readonly<Record<string, FieldValue>> {
  const all = fields.map(({ name, default: value }) => [name, Object.hasOwn(content, name) ? content[name] : value] as const);
  return Object.fromEntries(all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
