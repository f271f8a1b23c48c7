/**
 * Rules about the contents: turns, parts, calls and responses. The texts are those of the API as users
 * reported them, among them https://github.com/google-gemini/gemini-cli/issues/16984 (number of responses).
 */
import { type Content, callsIn, contentsOf, invalidArgument, invalidField, responsesIn } from './gemini-shapes.ts';
import { firstOf, type Json, record } from './json-shapes.ts';
import type { Refusal, StrictRequest } from './strict-server.ts';

const PART_KINDS = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
];
const MIME_TYPE = /^(?:image|audio|video|text|application)\/[\w.+-]+$/;

export function checkHistory(request: StrictRequest): Refusal | undefined {
  const contents = contentsOf(request);
  if (contents.length === 0) return invalidField('contents', 'contents is not specified');
  return firstOf(
    (function* () {
      for (const [at, content] of contents.entries()) yield checkContent(content, at);
      yield checkTurns(contents);
      for (const at of contents.keys()) yield checkCalls(contents, at);
    })(),
  );
}

function checkContent({ role, parts }: Content, at: number): Refusal | undefined {
  if (role !== 'user' && role !== 'model') return invalidArgument('Please use a valid role: user, model.');
  if (parts.length === 0) return invalidField(`contents[${at}].parts`, 'contents.parts must not be empty.');
  return firstOf(parts.map((part, index) => checkPart(part, `contents[${at}].parts[${index}]`)));
}

function checkPart(part: Json, path: string): Refusal | undefined {
  const kinds = PART_KINDS.filter((kind) => part[kind] !== undefined);
  // An empty text is the place of a signature that came by itself.
  const empty = part['text'] === '' && part['thoughtSignature'] === undefined;
  if (kinds.length !== 1 || empty)
    return invalidField(`${path}.data`, "required oneof field 'data' must have one initialized field");
  const { name } = record(part['functionCall'] ?? part['functionResponse'] ?? { name: '-' });
  if (typeof name !== 'string' || name === '') {
    const field = part['functionCall'] === undefined ? 'function_response' : 'function_call';
    return invalidField(`${path}.${field}.name`, 'Name cannot be empty.');
  }
  const { response } = record(part['functionResponse'] ?? { response: {} });
  if (typeof response !== 'object' || response === null || Array.isArray(response)) {
    return invalidField(`${path}.function_response.response`, 'response must be an object.');
  }
  return part['inlineData'] === undefined ? undefined : checkData(record(part['inlineData']), `${path}.inline_data`);
}

function checkData({ mimeType, data }: Json, path: string): Refusal | undefined {
  if (!MIME_TYPE.test(String(mimeType))) return invalidArgument(`Unsupported MIME type: ${String(mimeType ?? '')}`);
  if (typeof data === 'string' && /^[A-Za-z0-9+/_-]+={0,2}$/.test(data)) return undefined;
  return invalidArgument(`Invalid value at '${path}.data' (TYPE_BYTES), Base64 decoding failed`);
}

function checkTurns(contents: readonly Content[]): Refusal | undefined {
  const [first] = contents;
  const order = 'Please ensure that function call turn comes immediately after a user turn or after a function response turn.';
  if (first && callsIn(first).length > 0) return invalidArgument(order);
  if (first?.role === 'model') return invalidArgument('Please ensure that multiturn requests begin with a user turn.');
  if (contents.some(({ role }, at) => at > 0 && role === contents[at - 1]?.role)) {
    return invalidArgument('Please ensure that multiturn requests alternate between user and model.');
  }
  return contents.at(-1)?.role === 'model'
    ? invalidArgument('Please ensure that multiturn requests end with a user role or a function response.')
    : undefined;
}

/** Each call of a turn is answered in the next one, under its name, and under its id where it had one. */
function checkCalls(contents: readonly Content[], at: number): Refusal | undefined {
  const content = contents[at];
  if (content === undefined) return undefined;
  const before = contents[at - 1];
  const asked = before && before.role === 'model' ? callsIn(before).map(({ functionCall }) => record(functionCall)) : [];
  const given = responsesIn(content);
  if (given.length > 0 && asked.length === 0) {
    return invalidArgument('Please ensure that function response turn comes immediately after a function call turn.');
  }
  if (given.length !== asked.length) {
    return invalidArgument(
      'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
    );
  }
  // No page shows the wording of these two; the rule is that of
  // https://ai.google.dev/gemini-api/docs/function-calling.
  const open = asked.find(({ id, name }) => !given.some((one) => one['name'] === name && (id === undefined || one['id'] === id)));
  if (open === undefined) return undefined;
  const { id, name } = open;
  const call = `${String(name)}${id === undefined ? '' : ` with id ${String(id)}`}`;
  return invalidArgument(`Please ensure that each function response matches a function call: none was found for ${call}.`);
}
