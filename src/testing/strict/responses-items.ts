/**
 * Rules about the items of the input. The texts are those of the API as users reported them:
 * https://github.com/openai/codex/issues/8126 (encrypted content), https://github.com/coder/mux/pull/59
 * (pairing of reasoning), https://github.com/continuedev/continue/issues/10092 and 11494 (calls without
 * results, ids), https://github.com/orchidfiles/ungate/issues/26 (length of a call id).
 */
import { firstOf, type Json, record, records } from './json-shapes.ts';
import type { Memory } from './memory.ts';
import { responsesModel } from './responses-models.ts';
import { isPartOf, issuedItem, itemsOf, listed, messageText, responsesError, typeOf } from './responses-shapes.ts';
import type { Refusal, StrictRequest } from './strict-server.ts';

const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  function_call_output: 'fc',
};
const MAX_ID = 64;
const USER_PARTS = ['input_text', 'input_image', 'input_file'];
const ASSISTANT_PARTS = ['output_text', 'refusal'];

/**
 * Counts `missingReasoning`, `changedItems` and `droppedPhase`: what is accepted, but makes the model worse.
 */
export function checkItems(request: StrictRequest, memory: Memory): Refusal | undefined {
  const items = itemsOf(request);
  return (
    firstOf(items.map((item, at) => checkShape(item, `input[${at}]`))) ??
    checkDuplicates(items) ??
    firstOf(items.map((item) => checkReasoning(item, request, memory))) ??
    firstOf(items.map((_, at) => checkNeighbours(items, at, memory))) ??
    checkCalls(items) ??
    countLosses(items, request, memory)
  );
}

function checkShape(item: Json, path: string): Refusal | undefined {
  const type = String(typeOf(item));
  const prefix = PREFIXES[type];
  if (prefix === undefined) {
    return type === 'item_reference' ? notFound(item['id']) : badValue(`${path}.type`, type, Object.keys(PREFIXES));
  }
  if (item['id'] !== undefined && item['id'] !== null) {
    const refusal = checkId(String(item['id']), `${path}.id`, prefix);
    if (refusal !== undefined) return refusal;
  }
  if (type === 'message') return checkMessage(item, path);
  if (type === 'reasoning') return Array.isArray(item['summary']) ? undefined : missing(`${path}.summary`);
  const { call_id: callId, name, arguments: text, output } = item;
  if (typeof callId !== 'string' || callId === '') return missing(`${path}.call_id`);
  if (callId.length > MAX_ID) return tooLong(`${path}.call_id`, callId);
  if (type === 'function_call_output') return output === undefined ? missing(`${path}.output`) : undefined;
  if (typeof text !== 'string') return missing(`${path}.arguments`);
  if (/^[a-zA-Z0-9_-]+$/.test(String(name))) return undefined;
  const message = `Invalid '${path}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
  return responsesError(400, message, { param: `${path}.name`, code: 'invalid_value' });
}

function checkId(id: string, param: string, prefix: string): Refusal | undefined {
  if (id.length > MAX_ID) return tooLong(param, id);
  const rule = !id.startsWith(prefix)
    ? `Expected an ID that begins with '${prefix}'.`
    : /^[A-Za-z0-9_-]+$/.test(id)
      ? undefined
      : 'Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.';
  if (rule === undefined) return undefined;
  return responsesError(400, `Invalid '${param}': '${id}'. ${rule}`, { param, code: 'invalid_value' });
}

function tooLong(param: string, value: string): Refusal {
  const message = `Invalid '${param}': string too long. Expected a string with maximum length ${MAX_ID}, but got a string with length ${value.length} instead.`;
  return responsesError(400, message, { param, code: 'string_above_max_length' });
}

function missing(param: string): Refusal {
  return responsesError(400, `Missing required parameter: '${param}'.`, { param, code: 'missing_required_parameter' });
}

function badValue(param: string, value: unknown, known: readonly string[]): Refusal {
  const message = `Invalid value: '${String(value)}'. Supported values are: ${listed(known)}.`;
  return responsesError(400, message, { param, code: 'invalid_value' });
}

/** With `store: false` nothing can be referred to. */
function notFound(id: unknown): Refusal {
  const message = `Item with id '${String(id)}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`;
  return responsesError(404, message, { param: 'input' });
}

function checkMessage(item: Json, path: string): Refusal | undefined {
  const { role, content, phase } = item;
  const roles = ['assistant', 'system', 'developer', 'user'];
  if (!roles.includes(String(role))) return badValue(`${path}.role`, role, roles);
  if (phase !== undefined && phase !== null && !['commentary', 'final_answer'].includes(String(phase))) {
    return badValue(`${path}.phase`, phase, ['commentary', 'final_answer']);
  }
  if (typeof content === 'string') return undefined;
  if (!Array.isArray(content)) return missing(`${path}.content`);
  const known = role === 'assistant' ? ASSISTANT_PARTS : USER_PARTS;
  return firstOf(
    records(content).map((part, at) => {
      const here = `${path}.content[${at}]`;
      if (!known.includes(String(part['type']))) return badValue(`${here}.type`, part['type'], known);
      return part['type'] === 'input_image' ? checkImage(part, `${here}.image_url`) : undefined;
    }),
  );
}

function checkImage({ image_url: url, file_id: file }: Json, param: string): Refusal | undefined {
  if (file !== undefined || /^https:\/\//.test(String(url))) return undefined;
  if (/^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/.test(String(url))) return undefined;
  const message = `Invalid '${param}'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got a value that is none.`;
  return responsesError(400, message, { param, code: 'invalid_value' });
}

function checkDuplicates(items: readonly Json[]): Refusal | undefined {
  const seen = new Set<unknown>();
  for (const { id } of items) {
    if (id === undefined || id === null) continue;
    if (seen.has(id)) {
      const message = `Duplicate item found with id ${String(id)}. Remove duplicate items from your input and try again.`;
      return responsesError(400, message, { param: 'input' });
    }
    seen.add(id);
  }
  return undefined;
}

/** Encrypted content is read by the model and the account that it was made for, and unchanged. */
function checkReasoning(item: Json, { body }: StrictRequest, memory: Memory): Refusal | undefined {
  if (typeOf(item) !== 'reasoning') return undefined;
  const { encrypted_content: encrypted, id } = item;
  if (typeof encrypted !== 'string' || encrypted === '') return notFound(id);
  const issued = issuedItem({ type: 'reasoning', encrypted_content: encrypted }, memory);
  const same = id === undefined || id === null || id === issued?.item['id'];
  if (issued !== undefined && issued.model === body['model'] && same) return undefined;
  const message = `The encrypted content ${encrypted.slice(0, 4)}...${encrypted.slice(-4)} could not be verified.`;
  return responsesError(400, message, { code: 'invalid_encrypted_content' });
}

/**
 * Items with ids are held to the order in which they were issued: a reasoning item stands right before what
 * followed from it.
 */
function checkNeighbours(items: readonly Json[], at: number, memory: Memory): Refusal | undefined {
  const item = items[at] ?? {};
  const { id } = item;
  if (id === undefined || id === null) return undefined;
  const issued = issuedItem(item, memory);
  const type = String(typeOf(item));
  if (type === 'reasoning') {
    if (isPartOf(items[at + 1] ?? {}, issued?.answer, memory)) return undefined;
    const message = `Item '${String(id)}' of type 'reasoning' was provided without its required following item.`;
    return responsesError(400, message, { param: 'input' });
  }
  const needed = issued?.item['id'] === id ? issued.reasoning : undefined;
  const given = items
    .slice(0, at)
    .some((other) => typeOf(other) === 'reasoning' && issuedItem(other, memory)?.item['id'] === needed);
  if (needed === undefined || given) return undefined;
  const message = `Item '${String(id)}' of type '${type}' was provided without its required 'reasoning' item: '${needed}'.`;
  return responsesError(400, message, { param: 'input' });
}

function checkCalls(items: readonly Json[]): Refusal | undefined {
  const idsOf = (list: readonly Json[], type: string) =>
    list.filter((item) => item['type'] === type).map(({ call_id: callId }) => String(callId));
  for (const [at, item] of items.entries()) {
    const callId = String(item['call_id']);
    if (item['type'] === 'function_call' && !idsOf(items.slice(at), 'function_call_output').includes(callId)) {
      return responsesError(400, `No tool output found for function call ${callId}.`, { param: 'input' });
    }
    if (item['type'] === 'function_call_output' && !idsOf(items.slice(0, at), 'function_call').includes(callId)) {
      const message = `No tool call found for function call output with call_id ${callId}.`;
      return responsesError(400, message, { param: 'input' });
    }
  }
  return undefined;
}

function countLosses(items: readonly Json[], { body }: StrictRequest, memory: Memory): undefined {
  const { phases } = responsesModel(body['model']);
  const turn = items.findLastIndex((item) => item['role'] === 'user');
  const reasoning = new Set(
    items.filter((item) => typeOf(item) === 'reasoning').map((item) => issuedItem(item, memory)?.item['id']),
  );
  for (const [at, item] of items.entries()) {
    const issued = issuedItem(item, memory);
    if (issued?.model !== body['model'] || issued === undefined) continue;
    const isCall = item['type'] === 'function_call';
    if (isCall && at > turn && issued.reasoning !== undefined && !reasoning.has(issued.reasoning)) memory.add('missingReasoning');
    if (phases && messageText(item) !== '' && record(issued.item)['phase'] !== (item['phase'] ?? undefined))
      memory.add('droppedPhase');
    const compared = isCall ? ['name', 'arguments'] : typeOf(item) === 'reasoning' ? ['summary'] : [];
    const changed = compared.some((key) => JSON.stringify(item[key]) !== JSON.stringify(issued.item[key]));
    if (changed) memory.add('changedItems');
  }
}
