/** What keeps the schema of a foreign tool's arguments or results from being shown to a model. */
import { isDeep } from '../lib/json-depth.ts';
import { visibleText } from '../lib/visible-text.ts';

/** Spec G9. */
const MAX_DEPTH = 10;
const MAX_SCHEMA_BYTES = 64 * 1024;

/** In words that follow "the schema"; undefined = nothing. */
export function schemaProblem(schema: Readonly<Record<string, unknown>>): string | undefined {
  if (isDeep(schema, MAX_DEPTH)) return `is nested more than ${MAX_DEPTH} levels deep`;
  const json = JSON.stringify(schema);
  if (Buffer.byteLength(json) > MAX_SCHEMA_BYTES) return `has more than ${MAX_SCHEMA_BYTES} bytes`;
  const texts = [...textsIn(schema)];
  if (texts.some(({ text }) => visibleText(text) !== text)) return 'holds characters that people cannot see';
  if (texts.some(({ key, text }) => key === '$ref' && !text.startsWith('#'))) return 'refers to another document';
  return undefined;
}

/** Every key and text of a schema whose depth was checked. */
function* textsIn(node: unknown, key = ''): Generator<{ readonly key: string; readonly text: string }> {
  if (typeof node === 'string') yield { key, text: node };
  if (typeof node !== 'object' || node === null) return;
  for (const [name, child] of Object.entries(node)) {
    yield { key: '', text: name };
    yield* textsIn(child, Array.isArray(node) ? '' : name);
  }
}
