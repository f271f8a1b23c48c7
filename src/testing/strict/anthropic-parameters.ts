/** Rules about everything beside the messages: output limit, thinking, effort, sampling, tools. */
import { effortOf, invalid } from './anthropic-shapes.ts';
import { type ClaudeModel, claudeModel } from './claude-models.ts';
import { firstOf, type Json, record, records } from './json-shapes.ts';
import type { Refusal, StrictRequest } from './strict-server.ts';
import { anthropicSchemaProblem } from './tool-schemas.ts';

const USE_ADAPTIVE = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.';

export function checkParameters(request: StrictRequest): Refusal | undefined {
  const { body } = request;
  const name = String(body['model']);
  const model = claudeModel(name);
  return firstOf(
    (function* () {
      yield checkMaxTokens(body, model, name);
      yield checkThinkingType(request, model);
      yield checkEffort(request, model);
      yield checkSampling(body, model);
      yield checkTools(body, model);
    })(),
  );
}

/** What the request does: `disabled` where the model does not think unless asked. */
export function thinkingType({ body }: StrictRequest): string {
  const { type } = record(body['thinking']);
  if (typeof type === 'string') return type;
  return claudeModel(String(body['model'])).thinksByDefault ? 'adaptive' : 'disabled';
}

/**
 * The bound is named: "max_tokens: 9999999 > 128000, which is the maximum allowed number of output tokens for
 * claude-opus-5".
 */
function checkMaxTokens(body: Json, { maxOutput }: ClaudeModel, name: string): Refusal | undefined {
  const limit = body['max_tokens'];
  if (limit === undefined) return invalid('max_tokens: Field required');
  if (typeof limit !== 'number' || !Number.isInteger(limit)) return invalid('max_tokens: Input should be a valid integer');
  // 0 fills the cache and answers nothing; not while streaming.
  if (limit < 0 || (limit === 0 && body['stream'] === true)) {
    return invalid('max_tokens: Input should be greater than or equal to 1');
  }
  if (limit <= maxOutput) return undefined;
  return invalid(`max_tokens: ${limit} > ${maxOutput}, which is the maximum allowed number of output tokens for ${name}`);
}

/** The texts are those of thinking-troubleshooting, whats-new-opus-5-5 and sonnet-5-5/migration-guide. */
function checkThinkingType(request: StrictRequest, model: ClaudeModel): Refusal | undefined {
  const thinking = record(request.body['thinking']);
  const { type, budget_tokens: budget } = thinking;
  if (request.body['thinking'] === undefined) return undefined;
  if (type === undefined) return invalid('thinking.type: Field required');
  if (!model.thinking.includes(String(type))) return refuseType(String(type), model);
  if (thinking['block_binding'] !== undefined && !betas(request).includes('thinking-binding-controls-2026-08-01')) {
    return invalid(`thinking.${String(type)}.block_binding: Extra inputs are not permitted`);
  }
  if (type === 'between_tools' && Object.keys(thinking).length > 1) {
    const extra = Object.keys(thinking).find((key) => key !== 'type');
    return invalid(`thinking.between_tools.${extra}: Extra inputs are not permitted`);
  }
  if (type !== 'enabled') return undefined;
  if (typeof budget !== 'number') return invalid('thinking.enabled.budget_tokens: Field required');
  if (budget < 1_024) return invalid('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024');
  if (budget < Number(request.body['max_tokens'])) return undefined;
  return invalid('`max_tokens` must be greater than `thinking.budget_tokens`.');
}

function refuseType(type: string, { thinking }: ClaudeModel): Refusal {
  if (type === 'disabled' && thinking.includes('between_tools')) {
    return invalid(
      'To turn thinking off on this model, send "thinking": {"type": "between_tools"} instead of {"type": "disabled"}. The model does not think before responding. The short updates it writes between tool calls come back as thinking blocks.',
    );
  }
  if (type === 'adaptive') return invalid('adaptive thinking is not supported on this model');
  return invalid(`"thinking.type.${type}" is not supported for this model. ${USE_ADAPTIVE}`);
}

/**
 * Two texts were seen by others who called the API: "does not support the effort parameter", "effort level
 * 'xhigh'".
 */
function checkEffort(request: StrictRequest, { efforts }: ClaudeModel): Refusal | undefined {
  const effort = effortOf(request);
  if (effort === undefined) return undefined;
  if (efforts.length === 0) return invalid('This model does not support the effort parameter.');
  if (!efforts.includes(String(effort))) {
    const known = [...efforts].sort().join(', ');
    return invalid(`This model does not support effort level '${String(effort)}'. Supported levels: ${known}.`);
  }
  const type = thinkingType(request);
  const quiet = record(request.body['thinking'])['type'] === 'disabled' || type === 'between_tools';
  if (!quiet || (effort !== 'xhigh' && effort !== 'max') || !efforts.includes('xhigh')) return undefined;
  return invalid(
    `output_config.effort '${effort}' is not supported when thinking is disabled on this model. Use effort 'high' or below, or enable thinking.`,
  );
}

/** "`temperature` is deprecated for this model.": https://github.com/RooCodeInc/Roo-Code/issues/12162 */
function checkSampling(body: Json, { sampling }: ClaudeModel): Refusal | undefined {
  const { temperature, top_p: topP } = body;
  if (typeof temperature === 'number' && (temperature < 0 || temperature > 1)) return invalid('temperature: range: 0..1');
  if (temperature !== undefined && topP !== undefined) {
    return invalid('`temperature` and `top_p` cannot both be specified for this model. Please use only one.');
  }
  const refuses = (name: string, byDefault?: number): boolean =>
    body[name] !== undefined && (sampling === 'none' || (sampling === 'default' && body[name] !== byDefault));
  if (refuses('temperature', 1)) return invalid('`temperature` is deprecated for this model.');
  if (refuses('top_p', 0.99)) return invalid('`top_p` is deprecated for this model.');
  if (refuses('top_k')) return invalid('`top_k` is deprecated for this model.');
  if (temperature === undefined || temperature === 1 || record(body['thinking'])['type'] !== 'enabled') return undefined;
  return invalid('`temperature` may only be set to 1 when thinking is enabled.');
}

/**
 * Forced tools: `tool_choice: type "tool" and "any" are not supported for this model.` (whats-new-opus-5-5).
 */
function checkTools(body: Json, model: ClaudeModel): Refusal | undefined {
  const choice = record(body['tool_choice'])['type'];
  if (choice === 'tool' || choice === 'any') {
    if (!model.forcedTool) return invalid('tool_choice: type "tool" and "any" are not supported for this model.');
    if (record(body['thinking'])['type'] === 'enabled') {
      return invalid('Thinking may not be enabled when tool_choice forces tool use.');
    }
  }
  const names = new Set<unknown>();
  for (const [index, tool] of records(body['tools']).entries()) {
    const path = `tools.${index}.custom`;
    const { name, input_schema: schema } = tool;
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(String(name))) {
      return invalid(`${path}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
    }
    if (names.has(name)) return invalid('tools: Tool names must be unique.');
    names.add(name);
    if (schema === undefined) return invalid(`${path}.input_schema: Field required`);
    if (record(schema)['type'] !== 'object') return invalid(`${path}.input_schema.type: Input should be 'object'`);
    const problem = anthropicSchemaProblem(record(schema));
    if (problem !== undefined) return invalid(`${path}.input_schema: ${problem}`);
  }
  return undefined;
}

export function betas({ headers }: StrictRequest): readonly string[] {
  const value = headers['anthropic-beta'];
  return String(value ?? '')
    .split(',')
    .map((name) => name.trim());
}
