/**
 * OpenAI Responses with `store: false` (https://platform.openai.com/docs/api-reference/responses/create).
 * Counters: `stored` (requests that let the server keep them), and those of responses-items.ts.
 */

import type { TurnUsage } from './exchange.ts';
import { firstOf, type Json, record, records } from './json-shapes.ts';
import type { Memory } from './memory.ts';
import { reasons, responsesEvents } from './responses-answer.ts';
import { checkItems } from './responses-items.ts';
import { responsesModel } from './responses-models.ts';
import { listed, reasoningOf, responsesError } from './responses-shapes.ts';
import { type Refusal, type StrictRequest, type StrictWire, sse, type Turn } from './strict-server.ts';
import { openAiSchemaProblem } from './tool-schemas.ts';

const PARAMETERS = new Set(
  (
    'access_programs background context_management conversation image include input instructions max_output_tokens max_tool_calls ' +
    'metadata model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options ' +
    'prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text tool_choice tools ' +
    'top_logprobs top_p truncation user'
  ).split(' '),
);
/** The smallest `max_output_tokens`: https://github.com/vectorize-io/hindsight/issues/58 */
const MIN_OUTPUT = 16;
const CACHE_MINIMUM = 1_024;

export const openAiResponses: StrictWire = {
  provider: 'openai',
  basePath: '/v1',
  refuse: {
    key: (given) =>
      given === undefined
        ? responsesError(
            401,
            "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
          )
        : responsesError(
            401,
            `Incorrect API key provided: ${'*'.repeat(8)}${given.slice(-4)}. You can find your API key at https://platform.openai.com/account/api-keys.`,
            { code: 'invalid_api_key' },
          ),
    model: (model, retired) =>
      responsesError(
        404,
        retired
          ? `The model \`${model}\` has been deprecated, learn more here: https://platform.openai.com/docs/deprecations`
          : `The model \`${model}\` does not exist or you do not have access to it.`,
        { code: 'model_not_found' },
      ),
    overflow: () =>
      responsesError(400, 'Your input exceeds the context window of this model. Please adjust your input and try again.', {
        param: 'input',
        code: 'context_length_exceeded',
      }),
  },
  validate: (request, memory) => {
    if (request.method !== 'POST' || request.path !== '/v1/responses') {
      return responsesError(404, `Invalid URL (${request.method} ${request.path})`);
    }
    const refusal = checkParameters(request) ?? checkTools(request.body) ?? checkItems(request, memory);
    if (refusal === undefined && request.body['store'] !== false) memory.add('stored');
    return refusal;
  },
  complete: (turn, request, memory) =>
    turn.reasoning === undefined && reasons(request) ? { ...turn, reasoning: `Next: step ${memory.nextId('', 6)}.` } : turn,
  count: countTurn,
  answer: responsesEvents,
  signOfLife: ({ body }) => {
    const response = { id: 'resp_waiting', object: 'response', status: 'in_progress', model: body['model'], output: [] };
    return sse({ type: 'response.in_progress', sequence_number: 0, response }, 'response.in_progress');
  },
};

/**
 * Prompts are cached by themselves, in the order tools, instructions, items. From gpt-5.6 on what is written
 * costs more.
 */
function countTurn(turn: Turn, request: StrictRequest, memory: Memory): TurnUsage {
  const { tools, instructions, input } = request.body;
  const spoken = reasons(request) ? turn : { ...turn, reasoning: '' };
  const usage = memory.count(spoken, request, JSON.stringify([request.body['model'], tools, instructions, input]));
  const { cached = 0 } = usage;
  const writes = responsesModel(request.body['model']).reportsWrites && usage.in >= CACHE_MINIMUM;
  return writes ? { ...usage, cacheWrite: usage.in - cached } : usage;
}

function checkParameters(request: StrictRequest): Refusal | undefined {
  const { body } = request;
  const unknown = Object.keys(body).find((name) => !PARAMETERS.has(name));
  if (unknown !== undefined) {
    return responsesError(400, `Unknown parameter: '${unknown}'.`, { param: unknown, code: 'unknown_parameter' });
  }
  if (body['input'] === undefined) {
    return responsesError(400, "Missing required parameter: 'input'.", { param: 'input', code: 'missing_required_parameter' });
  }
  if (typeof body['previous_response_id'] === 'string') {
    const message = `Previous response with id '${body['previous_response_id']}' not found.`;
    return responsesError(400, message, { param: 'previous_response_id', code: 'previous_response_not_found' });
  }
  return checkLimit(body) ?? checkEffort(request) ?? checkTemperature(request);
}

function checkLimit({ max_output_tokens: limit, model }: Json): Refusal | undefined {
  const { maxOutput } = responsesModel(model);
  if (typeof limit !== 'number' || (limit >= MIN_OUTPUT && limit <= maxOutput)) return undefined;
  const [word, sign, bound] = limit < MIN_OUTPUT ? ['below min', '>=', MIN_OUTPUT] : ['above max', '<=', maxOutput];
  const message = `Invalid 'max_output_tokens': integer ${word}imum value. Expected a value ${sign} ${bound}, but got ${limit} instead.`;
  return responsesError(400, message, { param: 'max_output_tokens', code: `integer_${word.replace(' ', '_')}_value` });
}

function checkEffort(request: StrictRequest): Refusal | undefined {
  const { effort } = reasoningOf(request);
  const { model } = request.body;
  const { efforts } = responsesModel(model);
  const [asked] = Object.keys(reasoningOf(request));
  if (asked !== undefined && efforts.length === 0) {
    const param = `reasoning.${asked}`;
    const message = `Unsupported parameter: '${param}' is not supported with this model.`;
    return responsesError(400, message, { param, code: 'unsupported_parameter' });
  }
  if (effort === undefined || effort === null || efforts.includes(String(effort))) return undefined;
  const message = `Unsupported value: '${String(effort)}' is not supported with the '${String(model)}' model. Supported values are: ${listed(efforts)}.`;
  return responsesError(400, message, { param: 'reasoning.effort', code: 'unsupported_value' });
}

/** A model that reasons takes the default only: https://github.com/BerriAI/litellm/discussions/42523 */
function checkTemperature(request: StrictRequest): Refusal | undefined {
  for (const param of ['temperature', 'top_p']) {
    const value = request.body[param];
    if (value === undefined || value === null || value === 1 || !reasons(request)) continue;
    return responsesError(400, `Unsupported parameter: '${param}' is not supported with this model.`, { param });
  }
  return undefined;
}

/** A function is strict unless it says otherwise, and then its schema must forbid and require everything. */
function checkTools(body: Json): Refusal | undefined {
  return firstOf(
    records(body['tools']).map((tool, at) => {
      const { type, name, strict, parameters } = tool;
      if (type !== 'function') return undefined;
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(String(name))) {
        const message = `Invalid 'tools[${at}].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
        return responsesError(400, message, { param: `tools[${at}].name`, code: 'invalid_value' });
      }
      const schema = record(parameters);
      const required = Array.isArray(schema['required']) ? schema['required'] : [];
      const open = Object.keys(record(schema['properties'])).filter((key) => !required.includes(key));
      const details = { param: `tools[${at}].parameters`, code: 'invalid_function_parameters' };
      const invalid = `Invalid schema for function '${String(name)}':`;
      const problem = openAiSchemaProblem(schema);
      if (problem !== undefined) return responsesError(400, `${invalid} ${problem}`, details);
      const start = `${invalid} In context=(),`;
      if (strict === false) return undefined;
      if (schema['additionalProperties'] !== false) {
        return responsesError(400, `${start} 'additionalProperties' is required to be supplied and to be false.`, details);
      }
      if (open.length === 0) return undefined;
      return responsesError(
        400,
        `${start} 'required' is required to be supplied and to be an array including every key in properties. Missing '${open[0]}'.`,
        details,
      );
    }),
  );
}
